/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COMPARE_TEXT_H
#define CTOP_COMPARE_TEXT_H

/* A comparison as text, or as a page: how the two were measured, then what differs, each change beside how large chance would make it. */

#include <ctop/compare/compare.h>
#include <ctop/format/formats.h>
#include <ctop/options/options.h>

/* What was compared, in words. */
struct compare_words {
	const char *runs;  /* lines of a header, one for each run, each with its end */
	const char *whole; /* what 100 % are */
	/* Of a page: the files, and what the report says of each above its table. */
	const char *names[NR_COMPARE_SIDES], *measured[NR_COMPARE_SIDES];
};

/* What stands above both: lines of a label and a value. */
void compare_header(const struct compare *compare, const struct compare_words *words,
		    const struct options *options, struct text *out);

/* 0 or -ENOMEM. */
int compare_text(struct compare *compare, const struct compare_words *words,
		 const struct options *options, struct text *out);
/* The stacks of both in two columns, as difffolded.pl (FlameGraph) writes them: B's weights, A's scaled to what B is divided by. 0 or -ENOMEM. */
int compare_folded(struct compare *compare, struct text *out);

/* For a browser: both shapes of the tree, and all functions. 0, -ENOMEM or what the sink said. */
int compare_page(struct compare *compare, const struct compare_words *words,
		 const struct options *options, const struct export_sink *sink);

#endif

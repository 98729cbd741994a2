/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_SAMPLE_TEXT_H
#define CTOP_FORMAT_SAMPLE_TEXT_H

/* What texts of single samples share: script.c and frames.c. */

#include <ctop/base/text.h>
#include <ctop/format/script.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>

struct sample_text {
	struct history *history;
	const struct script_sink *sink;
	struct text text; /* not handed over yet */
	int event_cols;	  /* of the longest name: all end in one column */
};

/*
 * Calls each(text, sample) once per sample that a selection of the history shows, and hands over what it adds. 0 or -errno.
 */
int sample_text_write(struct history *history, struct selection *selection,
		      const struct script_sink *sink,
		      void (*each)(struct sample_text *text, const struct history_sample *sample));

/* "comm  pid/tid  [cpu] seconds.micros:  period event: " */
void sample_text_add_head(struct sample_text *text, const struct history_sample *sample);
/* "function+0xoffset", "[unknown]"; `back` bytes are added to the offset. */
void sample_text_add_function(struct sample_text *text, const struct history_frame *frame,
			      unsigned back);
/* As perf names it: its path, or what stands for one. */
void sample_text_add_module(struct sample_text *text, const struct history_frame *frame,
			    int32_t pid);
/* As wide as perf prints it, and without the cost of a format: most of the text is addresses. */
void sample_text_add_hex(struct sample_text *text, uint64_t number, size_t cols);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_SAMPLE_TEXT_H
#define CTOP_FORMAT_SAMPLE_TEXT_H

/* What texts of single samples share: script.c and frames.c. */

#include <ctop/base/text.h>
#include <ctop/format/formats.h>

struct sample_text {
	const struct history *history;
	struct text text; /* not handed over yet */
	int event_cols;	  /* of the longest name: all end in one column */
};

/* Calls each(text, sample) once per sample (pieces_each_sample()), and hands over what it adds. 0, -ENOMEM or what the sink said. */
int sample_text_write(const struct export_request *request,
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

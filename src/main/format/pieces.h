/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_PIECES_H
#define CTOP_FORMAT_PIECES_H

/* How writers hand over what they write, in pieces of some 64 KiB, and how they get the samples: memory grows with neither. */

#include <ctop/base/text.h>
#include <ctop/format/formats.h>

/* Hands over the text, and empties it. 0, -ENOMEM if it failed, or what the sink said. */
int pieces_flush(const struct export_sink *sink, struct text *text);
/* The same, once it is a whole piece. */
int pieces_offer(const struct export_sink *sink, struct text *text);

/*
 * Calls each() once per sample that the selection shows, in the order of time. Where there were too many to be kept
 * (history_keep_samples()), reads them again: all of them, whatever the selection's filter. Of samples that were not kept one by
 * one (selection_each_sample()) the CPU is not known, and said to be 0. 0, -ENOMEM or what each() said.
 */
int pieces_each_sample(const struct export_request *request,
		       int (*each)(void *context, const struct history_sample *sample),
		       void *context);

/* From the first sample shown to the last; of a window of the interface, that. */
struct pieces_span {
	uint64_t from_ns, to_ns;
	uint64_t wall_ns; /* Unix time of its beginning; 0: not known */
};
struct pieces_span pieces_span(const struct export_request *request);

#endif

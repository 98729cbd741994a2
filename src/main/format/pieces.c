/* SPDX-License-Identifier: MIT */
#include "pieces.h"

#include <errno.h>
#include <stdlib.h>

enum { PIECE_BYTES = 1 << 16 };

int pieces_flush(const struct export_sink *sink, struct text *text)
{
	int result = text->failed ? -ENOMEM : 0;
	if (!result && text->size)
		result = sink->write(sink->context, text->bytes, text->size);
	text_clear(text);
	return result;
}

int pieces_offer(const struct export_sink *sink, struct text *text)
{
	return text->size < PIECE_BYTES && !text->failed ? 0 : pieces_flush(sink, text);
}

int pieces_each_sample(const struct export_request *request,
		       int (*each)(void *context, const struct history_sample *sample),
		       void *context)
{
	int result = 0;
	if (history_totals(request->history).not_kept) {
		history_follow_samples(request->history, each, context);
		result = request->sink->read_again(request->sink->context);
	}
	return result ? result : selection_each_sample(request->selection, each, context);
}

static uint64_t number_of(const struct history *history, const char *key)
{
	const char *value = history_info(history, key);
	return value ? strtoull(value, NULL, 10) : 0;
}

struct pieces_span pieces_span(const struct export_request *request)
{
	const struct selection_totals shown = selection_totals(request->selection);
	const struct history_totals all = history_totals(request->history);
	const uint64_t wall_ns = number_of(request->history, "start_wall_ns"),
		       start_ns = number_of(request->history, "start_ns");
	struct pieces_span span = {shown.from_ns, shown.to_ns, wall_ns};
	if (shown.to_ns == UINT64_MAX)
		span = (struct pieces_span){all.first_ns, all.last_ns, wall_ns};
	if (wall_ns && span.from_ns > start_ns)
		span.wall_ns += span.from_ns - start_ns;
	return span;
}

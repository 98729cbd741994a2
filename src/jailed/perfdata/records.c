/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * What may wait for its turn: perf ends a round each time it went through its rings once, so that two
 * rounds are what the rings of all CPUs hold. A file without rounds is ordered within this bound.
 */
enum { QUEUED_MAX = 1 << 20 };
/* By how much records of one of several files may be out of order: perf may write the rings of a few CPUs into it, in turns. */
#define PART_DISORDER_NS   UINT64_C(1000000000)
#define UNPACKED_BYTES_MAX (UINT64_C(160) << 20)

/* ---- whose a record is ---- */

/* Where a sample has its id, in words behind the header; -1: nowhere. */
static int sample_id_word(uint64_t type)
{
	static const uint64_t before =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	return type & PERF_SAMPLE_ID ? __builtin_popcountll(type & before) : -1;
}

/* The same for the trailer of another record, in words from its end. */
static int trailer_id_word(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	return type & PERF_SAMPLE_ID
		       ? 1 + __builtin_popcountll(type & (PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID))
		       : -1;
}

static uint32_t event_of(const struct perfdata *perfdata, const struct perf_event_header *header,
			 const uint8_t *bytes)
{
	const struct record_format *format = &perfdata->events[0].format;
	bool is_sample = header->type == PERF_RECORD_SAMPLE;
	if (perfdata->nr_events == 1 || (!is_sample && !format->sample_id_all))
		return 0;
	size_t body = (header->size - sizeof(*header)) / sizeof(uint64_t);
	int word = is_sample ? sample_id_word(format->sample_type)
			     : trailer_id_word(format->sample_type);
	if (word < 0)
		return 0; /* all are laid out alike: whose it is nobody knows */
	size_t at = is_sample ? sizeof(*header) + (size_t)word * sizeof(uint64_t)
			      : header->size - (size_t)word * sizeof(uint64_t);
	uint64_t id;
	uint32_t event;
	if (is_sample ? (size_t)word >= body : (size_t)word > body)
		return 0; /* too short: damage, which whoever parses it finds */
	memcpy(&id, bytes + at, sizeof(id));
	if (perfdata_find_event(perfdata, id, &event))
		return event;
	/* perf's own words about what was there before carry no id. */
	return is_sample ? PERFDATA_MAX_EVENTS : 0;
}

static uint64_t time_of(const struct perfdata *perfdata, const struct raw_record *raw,
			uint32_t event)
{
	uint64_t time_ns = 0;
	const struct record_format *format =
		&perfdata->events[event < perfdata->nr_events ? event : 0].format;
	if (record_time(raw->bytes, raw->size, format, &time_ns) || time_ns == UINT64_MAX)
		return 0;
	return time_ns;
}

/* ---- from the order of the file to that of time ---- */

static void name_task(const struct perfdata *perfdata, const struct raw_record *raw,
		      struct queued *item)
{
	item->pid = item->tid = PERFDATA_NO_TASK;
	if (item->event < perfdata->nr_events &&
	    record_task(raw->bytes, raw->size, &perfdata->events[item->event].format, &item->pid,
			&item->tid))
		item->pid = item->tid = PERFDATA_NO_TASK;
}

static int enqueue(struct perfdata *perfdata, const struct raw_record *raw, uint16_t part)
{
	struct perf_event_header header;
	memcpy(&header, raw->bytes, sizeof(header));
	if (header.type == PERFDATA_RECORD_FINISHED_ROUND) {
		if (!perfdata->nr_parts)
			order_end_round(&perfdata->order);
		return 0;
	}
	if (header.type >= PERFDATA_RECORD_FIRST_OWN)
		return 0;
	uint32_t event = event_of(perfdata, &header, raw->bytes);
	struct queued item = {
		.time_ns = time_of(perfdata, raw, event),
		.at = raw->at,
		.chunk = raw->chunk,
		.size = raw->size,
		.event = (uint16_t)event,
		.part = part,
	};
	name_task(perfdata, raw, &item);
	if (perfdata->nr_parts && item.time_ns > perfdata->parts[part].latest_ns)
		perfdata->parts[part].latest_ns = item.time_ns;
	int result = order_push(&perfdata->order, &item);
	if (!result && raw->chunk)
		raw->chunk->nr_users++;
	return result;
}

static bool is_full(const struct perfdata *perfdata)
{
	uint64_t unpacked = perfdata->stream.packed.nr_live_bytes;
	for (size_t i = 0; i < perfdata->nr_parts; i++)
		unpacked += perfdata->parts[i].stream.packed.nr_live_bytes;
	return perfdata->order.nr >= QUEUED_MAX ||
	       (perfdata->order.nr && unpacked > UNPACKED_BYTES_MAX);
}

/*
 * Of several files, the one that was read least far in time; its records are those of one CPU or a few, so that nothing
 * much older follows in any. -1: all have ended.
 */
static int next_part(struct perfdata *perfdata)
{
	int first = -1;
	for (size_t i = 0; i < perfdata->nr_parts; i++)
		if (!perfdata->parts[i].ended &&
		    (first < 0 || perfdata->parts[i].latest_ns < perfdata->parts[first].latest_ns))
			first = (int)i;
	if (first < 0)
		return first;
	uint64_t read_ns = perfdata->parts[first].latest_ns;
	perfdata->order.limit_ns = read_ns > PART_DISORDER_NS ? read_ns - PART_DISORDER_NS : 0;
	return first;
}

/* The next record of the file, or of any. As stream_next(). */
static int next_raw(struct perfdata *perfdata, struct raw_record *raw, uint16_t *part)
{
	int result = 0, from;
	*part = 0;
	if (!perfdata->nr_parts)
		return stream_next(&perfdata->stream, raw);
	while (result == 0 && (from = next_part(perfdata)) >= 0) {
		*part = (uint16_t)from;
		result = stream_next(&perfdata->parts[from].stream, raw);
		perfdata->parts[from].ended = result == 0;
	}
	return result;
}

/* Reads until a record is due. 1; 0: nothing is left; -ENOMEM. */
static int read_ahead(struct perfdata *perfdata)
{
	while (!order_has_due(&perfdata->order)) {
		if (is_full(perfdata)) {
			perfdata->nr_forced++;
			return 1;
		}
		struct raw_record raw;
		uint16_t part;
		int result = next_raw(perfdata, &raw, &part);
		if (result < 0)
			return result;
		if (result == 0) {
			perfdata->order.limit_ns = UINT64_MAX; /* the last round */
			return perfdata->order.nr > 0;
		}
		result = enqueue(perfdata, &raw, part);
		if (result)
			return result;
	}
	return 1;
}

void perfdata_want(struct perfdata *perfdata, perfdata_wish *wants, void *context)
{
	perfdata->wants = wants;
	perfdata->wants_context = context;
}

static bool is_wanted(const struct perfdata *perfdata, const struct queued *item)
{
	return !perfdata->wants || item->tid == PERFDATA_NO_TASK ||
	       perfdata->wants(perfdata->wants_context, item->tid);
}

/* While this record is looked at, the memory brings the next one. */
static void prefetch_next(struct perfdata *perfdata)
{
	const struct queued *next = perfdata->order.items;
	if (perfdata->order.nr && is_wanted(perfdata, next) && !next->chunk)
		stream_prefetch(perfdata_stream(perfdata, next->part), next->at, next->size);
}

/* The bytes of a record that becomes the one in hand. NULL: they are gone. */
static const void *fetch(struct perfdata *perfdata, const struct queued *item, bool *mapped)
{
	const struct raw_record raw = {NULL, item->size, item->at, item->chunk};
	const void *bytes = stream_fetch(perfdata_stream(perfdata, item->part), &raw,
					 perfdata->scratch, mapped);
	perfdata->in_hand_at = item->at;
	perfdata->in_hand_mapped_bytes = bytes && *mapped ? item->size : 0;
	return bytes;
}

int perfdata_next(struct perfdata *perfdata, struct perfdata_record *record)
{
	for (;;) {
		int result = read_ahead(perfdata);
		if (result <= 0)
			return result;
		const struct queued item = order_pop(&perfdata->order);
		chunk_leave(&perfdata_stream(perfdata, perfdata->in_hand_part)->packed,
			    perfdata->in_hand);
		perfdata->in_hand = item.chunk;
		perfdata->in_hand_part = item.part;
		perfdata->in_hand_mapped_bytes = 0;
		*record = (struct perfdata_record){
			.size = item.size,
			.event = item.event,
			.time_ns = item.time_ns,
			.number = perfdata->nr_taken++,
			.pid = item.pid,
			.tid = item.tid,
		};
		const bool wanted = is_wanted(perfdata, &item);
		if (wanted)
			record->bytes = fetch(perfdata, &item, &record->mapped);
		prefetch_next(perfdata);
		if (record->bytes || !wanted)
			return 1;
		/* The file was cut meanwhile; so are those that wait perhaps not. */
	}
}

bool perfdata_is_whole(struct perfdata *perfdata)
{
	struct stream *stream = perfdata_stream(perfdata, perfdata->in_hand_part);
	if (!perfdata->in_hand_mapped_bytes ||
	    stream_has_whole(stream, perfdata->in_hand_at, perfdata->in_hand_mapped_bytes))
		return true;
	stream_shrank(stream);
	return false;
}

const char *perfdata_note(struct perfdata *perfdata)
{
	const struct stream *stream = perfdata_stream(perfdata, 0);
	for (size_t i = 1; i < perfdata->nr_parts && stream->problem == STREAM_FINE; i++)
		stream = perfdata_stream(perfdata, i);
	char *note = perfdata->note;
	size_t size = sizeof(perfdata->note);
	switch (stream->problem) {
	case STREAM_FINE:
		break;
	case STREAM_CUT:
		snprintf(note, size, "is cut at byte %" PRIu64 "%s: what was before is shown",
			 stream->problem_at,
			 perfdata->unfinished ? ", for perf record was ended before it was done"
					      : "");
		return note;
	case STREAM_SHRANK:
		snprintf(note, size,
			 "was cut while it was read, at byte %" PRIu64 ": what was before is shown",
			 stream->problem_at);
		return note;
	case STREAM_DAMAGED:
		snprintf(note, size, "is damaged at byte %" PRIu64 ": what was before is shown",
			 stream->problem_at);
		return note;
	case STREAM_UNREADABLE:
		snprintf(note, size,
			 "cannot be read at byte %" PRIu64 " (%s): what was before is shown",
			 stream->problem_at, strerror(-stream->error));
		return note;
	}
	if (perfdata->unfinished)
		snprintf(note, size,
			 "was not completed by perf record: it has no build-ids and no names of "
			 "events");
	else if (perfdata->damaged_features)
		snprintf(note, size,
			 "has %" PRIu64 " damaged section%s besides its records, left out",
			 perfdata->damaged_features, perfdata->damaged_features == 1 ? "" : "s");
	return note;
}

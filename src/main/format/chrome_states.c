/* SPDX-License-Identifier: MIT */
#include "chrome_states.h"

#include <inttypes.h>

#include <ctop/history/timeline.h>

#include "chrome_calls.h"
#include "chrome_events.h"
#include "json.h"
#include "pieces.h"

struct state_slice {
	char letter;
	uint64_t from_ns, to_ns;
	uint64_t share[THREAD_UNKNOWN], nr; /* of its tiles */
};

static const char *name_of(char letter)
{
	switch (letter) {
	case '#':
	case '+':
		return "computing";
	case 'q':
		return "run queue";
	case 'l':
		return "waiting: lock";
	case 'i':
		return "waiting: I/O";
	case 'p':
		return "waiting: poll";
	case 's':
		return "waiting: sleep";
	case 'c':
		return "waiting: child";
	case 'f':
		return "waiting: page fault";
	case 'o':
		return "waiting: other";
	case '-':
		return "waiting";
	default:
		return "unknown";
	}
}

static void add_slice(const struct chrome_part *part, const struct timeline_thread *thread,
		      struct state_slice *slice, struct text *out)
{
	const double whole = slice->nr ? 2.55 * (double)slice->nr : 1;
	if (!slice->nr || !chrome_cut(part, &slice->from_ns, &slice->to_ns))
		return;
	text_addf(out,
		  ",\n{\"ph\":\"X\",\"pid\":%" PRId32 ",\"tid\":%" PRIu64 ",\"ts\":", thread->pid,
		  chrome_states_id(thread));
	chrome_add_us(slice->from_ns, out);
	text_add(out, ",\"dur\":");
	chrome_add_us(slice->to_ns - slice->from_ns, out);
	text_addf(out,
		  ",\"name\":\"%s\",\"cat\":\"state\",\"args\":{\"computing %%\":%.1f,"
		  "\"run queue %%\":%.1f,\"waiting %%\":%.1f}}",
		  name_of(slice->letter), (double)slice->share[THREAD_COMPUTES] / whole,
		  (double)slice->share[THREAD_QUEUES] / whole,
		  (double)slice->share[THREAD_WAITS] / whole);
}

static void add_name(const struct timeline_thread *thread, struct text *out)
{
	struct text name = {0}, scratch = {0};
	timeline_add_run(thread, &name);
	text_add(&name, thread->name);
	text_add(&name, ", states");
	text_addf(out,
		  ",\n{\"ph\":\"M\",\"pid\":%" PRId32 ",\"tid\":%" PRIu64
		  ",\"name\":\"thread_name\",\"args\":{\"name\":",
		  thread->pid, chrome_states_id(thread));
	json_add_name(out, &scratch, text_string(&name));
	text_add(out, "}}");
	out->failed |= name.failed || scratch.failed;
	text_release(&name);
	text_release(&scratch);
}

/* Neighbours in which it did the same most are one slice. Its first tile and its last one are no longer than its life. */
static int add_thread(const struct chrome_part *part, size_t row, struct text *out)
{
	const struct timeline *timeline = part->timeline;
	const struct timeline_thread *thread = timeline_thread(timeline, row);
	const uint64_t tile_ns = timeline_tile_ns(timeline);
	uint64_t at_ns = timeline_tiles_from_ns(timeline, row);
	struct state_slice slice = {0};
	int result = 0;
	add_name(thread, out);
	for (size_t i = 0; !result && i < timeline_nr_tiles(timeline, row); i++, at_ns += tile_ns) {
		const struct timeline_cell cell = timeline_tile(timeline, row, i);
		const uint64_t end_ns = at_ns + tile_ns;
		const char letter = timeline_letter(&cell);
		if (!slice.nr || letter != slice.letter) {
			add_slice(part, thread, &slice, out);
			slice = (struct state_slice){
				.letter = letter,
				.from_ns = at_ns > thread->began_ns ? at_ns : thread->began_ns};
		}
		slice.to_ns = end_ns < thread->until_ns ? end_ns : thread->until_ns;
		slice.nr++;
		for (int state = 0; state < THREAD_UNKNOWN; state++)
			slice.share[state] += cell.share[state];
		result = pieces_offer(part->request->sink, out);
	}
	add_slice(part, thread, &slice, out);
	return result;
}

/* ---- who ended the longest waits ---- */

static void add_flow(const struct timeline_thread *waker, const struct timeline_thread *woken,
		     uint64_t ns, size_t number, struct text *out)
{
	/* Who ends wakes others a moment later than that: an arrow begins where there is a slice. */
	enum { BEFORE_END_NS = 1000 };
	const uint64_t last_ns =
		waker->until_ns > BEFORE_END_NS ? waker->until_ns - BEFORE_END_NS : 0;
	chrome_begin_event(waker, "s", waker->has_ended && ns > last_ns ? last_ns : ns, "waking",
			   out);
	text_addf(out, "\"wakes\",\"id\":%zu}", number);
	chrome_begin_event(woken, "f", ns, "waking", out);
	text_addf(out, "\"wakes\",\"id\":%zu,\"bp\":\"e\"}", number);
}

static void add_waking(const struct chrome_part *part, const struct timeline_moment *wait,
		       size_t number, struct text *out)
{
	const struct timeline *timeline = part->timeline;
	const struct timeline_thread *woken = timeline_thread(timeline, wait->row);
	const char *kind = waker_kind(wait->waker_tid);
	const size_t row =
		kind ? SIZE_MAX
		     : timeline_row_then(timeline, woken->run, wait->waker_tid, wait->to_ns);
	const struct timeline_thread *waker =
		row == SIZE_MAX ? NULL : timeline_thread(timeline, row);
	struct text name = {0}, scratch = {0};
	if (!chrome_shows(part, woken) || !chrome_shows_at(part, wait->to_ns))
		return;
	text_addf(&name, "woken by %s", kind ? kind : "");
	if (!kind)
		text_addf(&name, "%" PRId32 "%s%s", wait->waker_tid, waker ? " " : "",
			  waker ? waker->name : "");
	chrome_begin_event(woken, "i", wait->to_ns, "waking", out);
	json_add_name(out, &scratch, text_string(&name));
	text_add(out, ",\"s\":\"t\",\"args\":{\"waited us\":");
	chrome_add_us(wait->to_ns - wait->time_ns, out);
	text_add(out, "}}");
	if (waker && waker->has_stretches && chrome_shows(part, waker))
		add_flow(waker, woken, wait->to_ns, number, out);
	out->failed |= name.failed || scratch.failed;
	text_release(&name);
	text_release(&scratch);
}

static int add_wakings(const struct chrome_part *part, struct text *out)
{
	struct timeline_moment waits[TIMELINE_WAITS];
	const size_t nr = timeline_longest_waits(part->timeline, waits);
	for (size_t i = 0; i < nr; i++)
		if (waits[i].is_woken)
			add_waking(part, &waits[i], i + 1, out);
	return pieces_offer(part->request->sink, out);
}

int chrome_add_states(const struct export_request *request, struct text *out)
{
	const struct timeline *timeline = history_timeline(request->history);
	if (!timeline)
		return 0;
	const struct chrome_part part = chrome_part_of(request, timeline);
	int result = 0;
	for (size_t i = 0; !result && i < timeline_nr_threads(timeline); i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		if (thread->has_stretches && chrome_shows(&part, thread))
			result = add_thread(&part, i, out);
	}
	if (!result)
		result = add_wakings(&part, out);
	if (!result)
		result = chrome_add_events(&part, out);
	return result ? result : chrome_add_calls(&part, out);
}

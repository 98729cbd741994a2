/* SPDX-License-Identifier: MIT */
/* What happened to threads, in their states' rows: who created them, their end, where they lost a CPU to others or came onto another. */
#include "chrome_events.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/among.h>

#include "json.h"
#include "pieces.h"

/* Arrows have numbers of their own: those of wakings come first. */
enum { FIRST_FLOW = TIMELINE_WAITS + 1 };

void chrome_add_us(uint64_t ns, struct text *out)
{
	text_addf(out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

uint64_t chrome_states_id(const struct timeline_thread *thread)
{
	return CHROME_STATES_FIRST_ID * (2 * (uint64_t)thread->run + 1) + (uint32_t)thread->tid;
}

void chrome_begin_event(const struct timeline_thread *thread, const char *phase, uint64_t ns,
			const char *category, struct text *out)
{
	text_addf(out, ",\n{\"ph\":\"%s\",\"pid\":%" PRId32 ",\"tid\":%" PRIu64 ",\"ts\":", phase,
		  thread->pid, chrome_states_id(thread));
	chrome_add_us(ns, out);
	text_addf(out, ",\"cat\":\"%s\",\"name\":", category);
}

struct chrome_part chrome_part_of(const struct export_request *request,
				  const struct timeline *timeline)
{
	const struct history_filter *filter = history_filter(request->history);
	/* As samples are filtered. */
	const uint64_t origin_ns = history_origin_ns(request->history);
	const uint64_t first_ns = origin_ns ? origin_ns : timeline_first_ns(timeline);
	return (struct chrome_part){
		.request = request,
		.timeline = timeline,
		.filter = filter,
		.from_ns = filter->from_ns ? first_ns + filter->from_ns : 0,
		.to_ns = filter->to_ns ? first_ns + filter->to_ns : UINT64_MAX,
	};
}

bool chrome_cut(const struct chrome_part *part, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = *from_ns > part->from_ns ? *from_ns : part->from_ns;
	*to_ns = *to_ns < part->to_ns ? *to_ns : part->to_ns;
	return *from_ns < *to_ns;
}

bool chrome_shows(const struct chrome_part *part, const struct timeline_thread *thread)
{
	const struct history_filter *filter = part->filter;
	return thread->until_ns >= part->from_ns && thread->began_ns <= part->to_ns &&
	       among(thread->pid, filter->pids, filter->nr_pids) &&
	       among(thread->tid, filter->tids, filter->nr_tids) &&
	       (!filter->comm || !strcmp(thread->name, filter->comm));
}

static void add_flow(const struct chrome_part *part, const struct timeline_thread *thread,
		     size_t number, struct text *out)
{
	const struct timeline *timeline = part->timeline;
	const size_t row =
		timeline_row_then(timeline, thread->run, thread->creator_tid, thread->began_ns);
	const struct timeline_thread *creator =
		row == SIZE_MAX ? NULL : timeline_thread(timeline, row);
	if (!creator || !creator->has_stretches || !chrome_shows(part, creator))
		return;
	chrome_begin_event(creator, "s", thread->began_ns, "creation", out);
	text_addf(out, "\"creates\",\"id\":%zu}", number);
	chrome_begin_event(thread, "f", thread->began_ns, "creation", out);
	text_addf(out, "\"creates\",\"id\":%zu,\"bp\":\"e\"}", number);
}

static void add_creation(const struct chrome_part *part, const struct timeline_thread *thread,
			 size_t number, struct text *out)
{
	struct text name = {0}, scratch = {0};
	text_add(&name, "created by ");
	timeline_add_creator(part->timeline, thread, &name);
	chrome_begin_event(thread, "i", thread->began_ns, "creation", out);
	json_add_name(out, &scratch, text_string(&name));
	text_addf(out,
		  ",\"s\":\"t\",\"args\":{\"creator pid\":%" PRId32 ",\"creator tid\":%" PRId32,
		  thread->creator_pid, thread->creator_tid);
	if (thread->started_ns) {
		text_add(out, ",\"first CPU after us\":");
		chrome_add_us(thread->started_ns - thread->began_ns, out);
	}
	text_add(out, "}}");
	add_flow(part, thread, number, out);
	out->failed |= name.failed || scratch.failed;
	text_release(&name);
	text_release(&scratch);
}

static void add_end(const struct timeline_thread *thread, struct text *out)
{
	chrome_begin_event(thread, "i", thread->until_ns, "end", out);
	text_addf(out,
		  "\"ended\",\"s\":\"t\",\"args\":{\"preemptions\":%" PRIu64
		  ",\"migrations\":%" PRIu64 ",\"at least\":%s}}",
		  thread->nr_preemptions, thread->nr_migrations,
		  thread->lacks_events ? "true" : "false");
}

/* Where there were too many they are several, of which the first was then. */
static void add_mark(const struct timeline_thread *thread, const struct timeline_events *mark,
		     struct text *out)
{
	chrome_begin_event(thread, "i", mark->time_ns, "scheduling", out);
	text_addf(out,
		  "\"%s\",\"s\":\"t\",\"args\":{\"preemptions\":%" PRIu64
		  ",\"migrations\":%" PRIu64,
		  !mark->nr_migrations	  ? "preempted"
		  : !mark->nr_preemptions ? "migrated"
					  : "preempted, migrated",
		  mark->nr_preemptions, mark->nr_migrations);
	if (mark->nr_migrations)
		text_addf(out, ",\"from CPU\":%" PRIu32 ",\"to CPU\":%" PRIu32, mark->from_cpu,
			  mark->to_cpu);
	text_add(out, "}}");
}

int chrome_add_events(const struct chrome_part *part, struct text *out)
{
	const struct timeline *timeline = part->timeline;
	int result = 0;
	for (size_t row = 0; !result && row < timeline_nr_threads(timeline); row++) {
		const struct timeline_thread *thread = timeline_thread(timeline, row);
		if (!thread->has_stretches || !chrome_shows(part, thread))
			continue;
		if (thread->is_created && chrome_shows_at(part, thread->began_ns))
			add_creation(part, thread, FIRST_FLOW + row, out);
		for (size_t i = 0; !result && i < timeline_nr_marks(timeline, row); i++) {
			const struct timeline_events mark = timeline_mark_at(timeline, row, i);
			if (chrome_shows_at(part, mark.time_ns))
				add_mark(thread, &mark, out);
			result = pieces_offer(part->request->sink, out);
		}
		if (thread->has_ended && chrome_shows_at(part, thread->until_ns))
			add_end(thread, out);
		if (!result)
			result = pieces_offer(part->request->sink, out);
	}
	return result;
}

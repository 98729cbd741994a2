/* SPDX-License-Identifier: MIT */
#include "long_waits.h"

#include <string.h>

#include <ctop/time_shown.h>

/* What a hostile table may make of a stack. */
enum { FRAMES_MOST = 1024 };

void long_waits_begin_epoch(struct long_waits *waits, const struct tables *tables,
			    const struct symbols *symbols)
{
	memset(waits->threads, 0, sizeof(waits->threads));
	tables_reader_init(&waits->reader, tables);
	waits->symbols = symbols;
}

static bool is_wait(const struct long_waits *waits, uint32_t event)
{
	struct event_row row;
	return tables_event(&waits->reader, event, &row) &&
	       !strcmp(tables_string(&waits->reader, row.name), WAIT_EVENT);
}

void long_waits_take(struct long_waits *waits, const struct sample *sample)
{
	struct task_row task;
	struct waiting_thread *thread = &waits->threads[sample->task.index % LONG_WAITS_THREADS];
	if (!waits->symbols)
		return;
	tables_reader_refresh(&waits->reader);
	if (!is_wait(waits, sample->event) || !tables_task(&waits->reader, sample->task, &task))
		return;
	if (thread->tid != task.tid)
		thread->decided_ns = 0;
	thread->tid = task.tid;
	thread->node = sample->node;
	thread->leaf = sample->leaf;
	thread->until_ns = sample->time_ns;
}

enum answer { NO, YES, NOT_YET };

static enum answer is_called(const struct long_waits *waits, struct frame_id frame,
			     const char *name)
{
	const struct symbol_row row = symbols_row(waits->symbols, frame);
	if (row.state == SYMBOL_PENDING)
		return NOT_YET;
	return row.state == SYMBOL_NAMED && strstr(symbols_string(waits->symbols, row.name), name)
		       ? YES
		       : NO;
}

/* Whether a function of its stack has that in its name. */
static enum answer is_at(const struct long_waits *waits, const struct waiting_thread *thread,
			 const char *name)
{
	struct node_row row;
	enum answer answer = thread->leaf.index ? is_called(waits, thread->leaf, name) : NO;
	struct node_id node = thread->node;
	for (int i = 0; answer != YES && node.index && i < FRAMES_MOST; i++, node = row.parent) {
		if (!tables_node(&waits->reader, node, &row))
			break;
		const enum answer of_one = is_called(waits, row.frame, name);
		answer = of_one != NO ? of_one : answer;
	}
	return answer;
}

/* One that records say has begun, and a sample has come since. */
static bool has_waited(const struct session *session, const struct waiting_thread *thread,
		       const struct trigger *trigger, uint64_t now_ns, uint64_t *since_ns)
{
	*since_ns = thread->tid ? session_waits_since(session, thread->tid) : 0;
	return *since_ns && *since_ns != thread->decided_ns && thread->until_ns > *since_ns &&
	       now_ns > *since_ns + trigger->for_ns;
}

bool long_waits_find(struct long_waits *waits, const struct session *session,
		     const struct trigger *trigger, uint64_t now_ns, struct session_long_wait *wait)
{
	uint64_t since_ns;
	for (size_t i = 0; waits->symbols && i < LONG_WAITS_THREADS; i++) {
		struct waiting_thread *thread = &waits->threads[i];
		if (!has_waited(session, thread, trigger, now_ns, &since_ns))
			continue;
		if (!session_wait_of(session, thread->tid, wait))
			continue;
		const bool is_kind = trigger->wait_kinds >> wait->kind & 1;
		const enum answer answer = is_kind ? is_at(waits, thread, trigger->function) : NO;
		if (answer != NOT_YET)
			thread->decided_ns = since_ns;
		if (answer == YES)
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/* What the children share with us: tables that come in epochs, and the samples in them. */
#include "session_internal.h"

#include <errno.h>

#include <ctop/base/clock.h>

/* Row 0 of the events is none. */
enum { FIRST_EVENT = 1 };
/* New frames are named in batches: waking the symbolizer for each would cost more than the names. */
#define NAMES_INTERVAL_NS (50 * NS_PER_MS)

/* ---- epochs ---- */

int session_begin_epoch(struct session *session)
{
	session->named_frames_asked = 0;
	int result = session->consumer.begin_epoch(
		session->consumer.context, &session->current->tables, &session->current->symbols);
	if (!result && session->symbolizer.channel)
		result = region_send(session->current, session->symbolizer.channel, REGION_NAMES);
	return result;
}

/* The child needs a fresh region: it goes on there at once, readers follow when they are through. */
int session_give_tables(struct session *session)
{
	session->owes_tables = session->next->epoch != 0;
	if (session->owes_tables || !session->collector.channel)
		return 0; /* until the readers have left current; or who asked has gone */
	bool first = !session->current->epoch;
	struct region *region = first ? session->current : session->next;
	int result = region_open(region, first ? 1 : session->current->epoch + 1);
	if (!result)
		result = region_send(region, session->collector.channel,
				     session_is_recording(session) ? REGION_TABLES | REGION_NAMES
								   : REGION_TABLES);
	if (!result && first)
		result = session_begin_epoch(session);
	session_forget_places(session);
	return result;
}

void session_give_regions(struct session *session, const struct session_keeper *keeper)
{
	session->keeper = *keeper;
}

int session_renew_tables(struct session *session)
{
	if (!session->current->epoch || session->next->epoch || session->phase != PHASE_RUNNING)
		return 0;
	int result = session_give_tables(session);
	/* Of a collector that has just died the successor gets tables anyway. */
	return result == -EPIPE || result == -ENOBUFS ? 0 : result;
}

struct region *session_region(struct session *session, uint32_t epoch)
{
	if (epoch && session->current->epoch == epoch)
		return session->current;
	if (epoch && session->next->epoch == epoch)
		return session->next;
	return parts_region(session->parts, epoch);
}

/* True when every frame published so far has its final name. */
bool session_names_final(struct session *session)
{
	const struct child_status *status = session->symbolizer.status;
	if (!session->symbolizer.pid)
		return true;
	tables_reader_refresh(&session->current->reader);
	if (session->looks_again_pid && !atomic_load(&status->looked_again))
		return false;
	return atomic_load(&status->named_epoch) == session->current->epoch &&
	       atomic_load(&status->named_frames) >= session->current->reader.nr[TABLE_FRAMES];
}

bool session_has_names(struct session *session)
{
	return session_names_final(session);
}

static bool has_lines(struct session *session)
{
	const struct child_status *status = session->symbolizer.status;
	return !session->symbolizer.pid ||
	       (atomic_load(&status->lined_epoch) == session->current->epoch &&
		atomic_load(&status->lined_frames) >= session->current->reader.nr[TABLE_FRAMES]);
}

/* Its lines come with its name, if at all. */
static bool is_generated(const struct tables_reader *reader, struct frame_id frame)
{
	struct frame_row row;
	struct module_row module;
	return tables_frame(reader, frame, &row) && tables_module(reader, row.module, &module) &&
	       module.kind == MODULE_ANON;
}

static void count_unlined(struct session *session)
{
	const uint32_t nr = session->current->reader.nr[TABLE_FRAMES];
	for (uint32_t i = 1; i < nr; i++)
		session->stats.unlined +=
			!symbols_has_looked_up_lines(&session->current->symbols,
						     (struct frame_id){i}) &&
			!is_generated(&session->current->reader, (struct frame_id){i});
}

bool session_awaits_lines(struct session *session)
{
	if (session->lines != SESSION_LINES_AWAITED || session_is_recording(session))
		return false;
	const uint64_t now = clock_now_ns();
	if (!session->lines_since_ns)
		session->lines_since_ns = now;
	const uint64_t waited_ns = session->lines_waited_ns + now - session->lines_since_ns;
	tables_reader_refresh(&session->current->reader);
	const bool are_there = has_lines(session);
	if (!are_there && waited_ns < LINES_PATIENCE_NS)
		return true;
	if (!are_there)
		count_unlined(session);
	session->lines_waited_ns = waited_ns;
	session->lines_since_ns = 0;
	return false;
}

bool session_awaits_code(struct session *session, uint64_t now_ns)
{
	if (!session->keeps_code || !session->symbolizer.pid ||
	    atomic_load(&session->symbolizer.status->kept_code))
		return false;
	if (!session->code_since_ns)
		session->code_since_ns = now_ns;
	return now_ns - session->code_since_ns < CODE_PATIENCE_NS;
}

void session_wake_symbolizer(struct session *session)
{
	tables_reader_refresh(&session->current->reader);
	uint64_t frames = session->current->reader.nr[TABLE_FRAMES];
	uint64_t now = clock_now_ns();
	if (frames == session->named_frames_asked || now < session->symbolizer_due_ns)
		return;
	session->symbolizer_due_ns = now + NAMES_INTERVAL_NS;
	session->named_frames_asked = frames;
	worker_signal(&session->symbolizer);
}

/* ---- samples ---- */

/* What a child says may be anything: no sum wraps around. */
static void add_weight(uint64_t *sum, uint64_t weight)
{
	*sum = weight < UINT64_MAX - *sum ? *sum + weight : UINT64_MAX;
}

static void count(struct session *session, const struct sample *samples, size_t nr)
{
	struct session_stats *stats = &session->stats;
	stats->samples += nr;
	for (size_t i = 0; i < nr; i++) {
		size_t event = (size_t)samples[i].event - FIRST_EVENT;
		if (session_places_waits(session) && event >= session->sampling.nr_events) {
			stats->waits++;
			stats->waits_unplaced += event == session->sampling.nr_events &&
						 samples[i].end == STACK_KERNEL_ONLY &&
						 !samples[i].node.index;
		} else if (event < SAMPLER_MAX_EVENTS) {
			stats->events[event].samples++;
			add_weight(&stats->events[event].sampled, samples[i].weight);
		}
		if (samples[i].end < NR_STACK_ENDS)
			stats->ends[samples[i].end]++;
		if (samples[i].end == STACK_COMPLETE && !stats->first_stack_ns)
			stats->first_stack_ns = samples[i].time_ns;
	}
}

/* One epoch's. True when that was all. *result: 0 or -errno. */
static bool drain_ring(struct session *session, struct budget *budget, int *result)
{
	size_t nr;
	*result = 0;
	while (!*result && budget_take(budget)) {
		nr = tables_read_samples(&session->current->tables, session->batch, SESSION_BATCH,
					 &session->stats.dropped_overrun);
		if (!nr)
			return true;
		*result = session->consumer.samples(session->consumer.context, session->batch, nr);
		if (!*result)
			count(session, session->batch, nr);
		if (*result == -EAGAIN) {
			session->stats.dropped_disk += nr;
			*result = 0;
		}
		if (session_is_recording(session))
			worker_signal(&session->collector); /* there is room again */
	}
	return false;
}

/* What is fetched has a time limit of its own. */
bool session_is_out_of_patience(const struct session *session)
{
	return patience_is_over(&session->names_patience, session->symbolizer.pid) &&
	       !broker_is_fetching(session->broker, NULL);
}

/* True while the epoch's names are worth waiting for. */
static bool awaits_names(struct session *session)
{
	if (session_is_recording(session) || session_names_final(session))
		return false;
	if (!session->names_patience.limit_ns)
		session->names_patience = patience_with(session->symbolizer.pid, NAMES_PATIENCE_NS);
	return !session_is_out_of_patience(session);
}

static int leave_epoch(struct session *session)
{
	struct region *old = session->current;
	session->names_patience.limit_ns = 0;
	session->left_current = false;
	session->current = session->next;
	session->next = old;
	int result = session_begin_epoch(session);
	if (session->keeper.take)
		session->keeper.take(session->keeper.context, old);
	region_close(old);
	if (!result && session->owes_tables)
		result = session_give_tables(session);
	return result == -EPIPE || result == -ENOBUFS ? 0 : result;
}

int session_drain(struct session *session)
{
	struct budget budget = budget_of(SESSION_BATCHES_A_TURN);
	int result;
	if (!session->current->epoch)
		return 0;
	if (session->parts) {
		bool more;
		result = parts_merge(session, &more);
		session->busy |= more;
		if (result)
			return result;
	}
	tables_reader_refresh(&session->current->reader);
	bool closed = session->current->reader.closed || session->left_current;
	bool drained = drain_ring(session, &budget, &result);
	session->busy |= !drained;
	if (result || !drained || !closed || !session->next->epoch || awaits_names(session) ||
	    session_awaits_lines(session))
		return result;
	session->busy = true; /* with the next epoch */
	return leave_epoch(session);
}

/* SPDX-License-Identifier: MIT */
/* Tiles of threads' time, from made-up stretches and marks. */
#include <string.h>

#include "timelines.h"

static void end_thread(int32_t tid, uint64_t ms)
{
	const struct thread_stretch stretch = {.pid = PID,
					       .tid = tid,
					       .from_ns = START_NS + ms * MS,
					       .to_ns = START_NS + ms * MS,
					       .state = THREAD_UNKNOWN,
					       .ends = true};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

static void mark(int32_t tid, uint32_t stack, enum thread_state state, uint64_t ms, uint64_t ns)
{
	const struct timeline_mark seen = {.pid = PID,
					   .tid = tid,
					   .name = "marked",
					   .time_ns = START_NS + ms * MS,
					   .length_ns = ns,
					   .stack = stack,
					   .state = state};
	CHECK_EQ(timeline_mark(timeline, &seen), 0);
}

static struct timeline_cell cell(size_t row, uint64_t from_ms, uint64_t to_ms)
{
	struct timeline_cell found;
	timeline_cells(timeline, &row, 1, START_NS + from_ms * MS, (to_ms - from_ms) * MS, NULL, 0,
		       &found, 1);
	return found;
}

/* Of 255, to a few. */
static bool is_about(unsigned share, unsigned percent)
{
	const double wanted = percent * 2.55;
	return share >= wanted - 6 && share <= wanted + 6;
}

static uint64_t sum_of(const struct timeline_thread *thread)
{
	uint64_t sum = 0;
	for (int state = 0; state < NR_THREAD_STATES; state++)
		sum += thread->ns[state];
	return sum;
}

static void states_of_a_thread_add_up_to_its_life(void)
{
	begin(BYTES);
	add(TID, THREAD_QUEUES, 0, 3);
	add(TID, THREAD_COMPUTES, 3, 50);
	add(TID, THREAD_WAITS, 50, 90);
	add(TID, THREAD_UNKNOWN, 90, 95);
	add(TID, THREAD_COMPUTES, 95, 100);
	end_thread(TID, 100);
	CHECK_EQ(timeline_nr_threads(timeline), 1);
	const struct timeline_thread *thread = timeline_thread(timeline, 0);
	CHECK_EQ(thread->ns[THREAD_QUEUES], 3 * MS);
	CHECK_EQ(thread->ns[THREAD_COMPUTES], 52 * MS);
	CHECK_EQ(thread->ns[THREAD_WAITS], 40 * MS);
	CHECK_EQ(thread->wait_ns[WAIT_LOCK], 40 * MS);
	CHECK_EQ(thread->ns[THREAD_UNKNOWN], 5 * MS);
	CHECK_EQ(sum_of(thread), thread->until_ns - thread->began_ns);
	CHECK(thread->has_ended);
	CHECK_STR(thread->name, "worker");
	end();
}

static void cells_show_what_was_done_there(void)
{
	begin(BYTES);
	add(TID, THREAD_COMPUTES, 0, 50);
	add(TID, THREAD_WAITS, 50, 100);
	CHECK(is_about(cell(0, 0, 40).share[THREAD_COMPUTES], 100));
	CHECK(is_about(cell(0, 60, 90).share[THREAD_WAITS], 100));
	CHECK_EQ(cell(0, 60, 90).wait, WAIT_LOCK);
	const struct timeline_cell both = cell(0, 0, 100);
	CHECK(is_about(both.share[THREAD_COMPUTES], 50));
	CHECK(is_about(both.share[THREAD_WAITS], 50));
	CHECK(!cell(0, 500, 600).is_alive);
	end();
}

/* 20,000 a second: each far below a tile. */
static void short_stretches_are_not_rounded_away(void)
{
	begin(BYTES);
	for (uint64_t i = 0; i < 20000; i++) {
		const uint64_t at_ns = START_NS + i * 50000;
		add_ns(TID, THREAD_COMPUTES, WAIT_UNSEEN, at_ns, at_ns + 10000);
		add_ns(TID, THREAD_WAITS, WAIT_IO, at_ns + 10000, at_ns + 50000);
	}
	CHECK_EQ(timeline_thread(timeline, 0)->ns[THREAD_COMPUTES], 200 * MS);
	CHECK(is_about(cell(0, 100, 900).share[THREAD_COMPUTES], 20));
	CHECK(is_about(cell(0, 100, 900).share[THREAD_WAITS], 80));
	CHECK_EQ(cell(0, 100, 900).wait, WAIT_IO);
	end();
}

static void the_bound_makes_tiles_longer(void)
{
	enum { SMALL = 64 << 10, SECONDS = 600 };
	begin(SMALL);
	const uint64_t tile_ns = timeline_tile_ns(timeline);
	for (uint64_t second = 0; second < SECONDS; second++)
		for (int32_t tid = TID; tid < TID + 10; tid++) {
			add(tid, THREAD_COMPUTES, second * 1000, second * 1000 + 250);
			add(tid, THREAD_WAITS, second * 1000 + 250, second * 1000 + 1000);
		}
	CHECK(timeline_nr_coarser(timeline) > 0);
	CHECK_EQ(timeline_tile_ns(timeline), tile_ns << timeline_nr_coarser(timeline));
	CHECK(timeline_bytes(timeline) <= SMALL + (8 << 10)); /* but for the index */
	for (size_t row = 0; row < 10; row++) {
		CHECK_EQ(timeline_thread(timeline, row)->ns[THREAD_COMPUTES],
			 (uint64_t)SECONDS * 250 * MS);
		CHECK(is_about(cell(row, 0, SECONDS * 1000).share[THREAD_COMPUTES], 25));
		CHECK(is_about(cell(row, 0, SECONDS * 1000).share[THREAD_WAITS], 75));
	}
	end();
}

static void ten_thousand_threads_fit_in(void)
{
	enum { NR = 10000 };
	begin(UINT64_C(16) << 20);
	for (uint64_t second = 0; second < 20; second++)
		for (int32_t tid = 1; tid <= NR; tid++) {
			add(tid, THREAD_WAITS, second * 1000, second * 1000 + 990);
			add(tid, THREAD_COMPUTES, second * 1000 + 990, second * 1000 + 1000);
		}
	CHECK_EQ(timeline_nr_threads(timeline), NR);
	CHECK(timeline_bytes(timeline) <= UINT64_C(17) << 20);
	for (size_t row = 0; row < NR; row++)
		CHECK_EQ(timeline_thread(timeline, row)->ns[THREAD_COMPUTES], 200 * MS);
	end();
}

/* Those that have ended go first, and are counted. */
static void threads_beyond_the_bound_are_forgotten(void)
{
	enum { SMALL = 64 << 10, NR = 2000 };
	begin(SMALL);
	add(TID, THREAD_COMPUTES, 0, 1);
	for (int32_t tid = 100; tid < 100 + NR; tid++) {
		add(tid, THREAD_COMPUTES, (uint64_t)tid, (uint64_t)tid + 1);
		end_thread(tid, (uint64_t)tid + 1);
	}
	CHECK(timeline_nr_forgotten(timeline) > 0);
	CHECK_EQ(timeline_nr_forgotten(timeline) + timeline_nr_threads(timeline), NR + 1);
	CHECK_EQ(timeline_thread(timeline, 0)->tid, TID);
	CHECK_EQ(timeline_thread(timeline, timeline_nr_threads(timeline) - 1)->tid, 100 + NR - 1);
	end();
}

/* A number comes again: it is another thread. */
static void a_number_that_comes_again_is_another_row(void)
{
	begin(BYTES);
	add(TID, THREAD_COMPUTES, 0, 10);
	end_thread(TID, 10);
	add(TID, THREAD_WAITS, 20, 30);
	CHECK_EQ(timeline_nr_threads(timeline), 2);
	CHECK_EQ(timeline_thread(timeline, 0)->ns[THREAD_COMPUTES], 10 * MS);
	CHECK_EQ(timeline_thread(timeline, 1)->ns[THREAD_WAITS], 10 * MS);
	/* A sample that comes late is the first one's. */
	mark(TID, 5, THREAD_COMPUTES, 5, MS);
	struct timeline_seen seen;
	CHECK(timeline_stack_at(timeline, 0, START_NS + 5 * MS, 3 * MS, &seen));
	CHECK_EQ(seen.stack, 5);
	CHECK(!timeline_stack_at(timeline, 1, START_NS + 25 * MS, 3 * MS, &seen));
	end();
}

/* What goes back, is far away or empty does no harm, and takes no more memory. */
/* Of several recordings that were merged. */
static void threads_of_other_recordings_are_others(void)
{
	begin(BYTES);
	for (uint32_t run = 1; run <= 2; run++) {
		timeline_set_run(timeline, run);
		add(TID, THREAD_COMPUTES, run * 10, 100);
	}
	timeline_set_run(timeline, 1);
	add(TID, THREAD_WAITS, 100, 130);
	CHECK_EQ(timeline_nr_threads(timeline), 2);
	CHECK_EQ(timeline_thread(timeline, 0)->ns[THREAD_WAITS], 30 * MS);
	CHECK_EQ(timeline_thread(timeline, 1)->ns[THREAD_WAITS], 0);
	CHECK_EQ(timeline_row_then(timeline, 1, TID, START_NS + 50 * MS), 0);
	CHECK_EQ(timeline_row_then(timeline, 2, TID, START_NS + 50 * MS), 1);
	CHECK_EQ(timeline_row_then(timeline, 2, TID, START_NS + 15 * MS), SIZE_MAX);
	CHECK_EQ(timeline_find_thread(timeline, PID, TID, UINT64_MAX), 0);
	size_t rows[] = {1, 0};
	CHECK(timeline_compare_rows(&rows[0], &rows[1], timeline) > 0);
	end();
}

static void steps_of_the_clock_do_no_harm(void)
{
	begin(1 << 20);
	add(TID, THREAD_COMPUTES, 0, 10);
	add_ns(TID, THREAD_COMPUTES, WAIT_UNSEEN, START_NS + 5 * MS, START_NS + 3 * MS);
	add_ns(TID, THREAD_WAITS, WAIT_UNSEEN, 1, 2);
	add_ns(TID, THREAD_WAITS, WAIT_UNSEEN, UINT64_MAX - 1, UINT64_MAX);
	add_ns(TID, THREAD_WAITS, WAIT_UNSEEN, START_NS, UINT64_C(1) << 61);
	mark(TID, UINT32_MAX, THREAD_COMPUTES, 5, MS);
	mark(TID, 1, THREAD_COMPUTES, 5, UINT64_MAX);
	CHECK(timeline_bytes(timeline) <= 2 << 20);
	CHECK_EQ(timeline_nr_threads(timeline), 1);
	CHECK(cell(0, 0, 10).is_alive);
	end();
}

static void marks_tell_where_there_are_no_stretches(void)
{
	timeline = timeline_new(BYTES);
	CHECK(timeline != NULL);
	for (uint64_t ms = 1; ms <= 100; ms++)
		mark(TID, 3, THREAD_COMPUTES, ms, MS);
	mark(TID, 4, THREAD_WAITS, 200, 100 * MS);
	const struct timeline_thread *thread = timeline_thread(timeline, 0);
	CHECK(!thread->has_stretches);
	CHECK_EQ(thread->ns[THREAD_COMPUTES], 100 * MS);
	CHECK_EQ(thread->ns[THREAD_WAITS], 100 * MS);
	CHECK(is_about(cell(0, 10, 90).share[THREAD_COMPUTES], 100));
	CHECK(is_about(cell(0, 110, 190).share[THREAD_WAITS], 100));
	struct timeline_seen seen;
	CHECK(timeline_stack_at(timeline, 0, START_NS + 150 * MS, 60 * MS, &seen));
	CHECK_EQ(seen.stack, 4);
	CHECK(seen.is_wait);
	end();
}

/* A slice has a wait that ended in it as a whole, and of its threads its own time. */
static void a_part_of_a_run_begins_with_its_threads(void)
{
	timeline = timeline_new(BYTES);
	CHECK(timeline != NULL);
	mark(TID, 1, THREAD_WAITS, 500, 400 * MS);
	mark(TID, 2, THREAD_WAITS, 700, 10 * MS);
	CHECK_EQ(timeline_begin_recorded(timeline, PID, TID, "worker", START_NS + 300 * MS), 0);
	add(TID, THREAD_WAITS, 300, 600);
	timeline_end_recorded(timeline);
	CHECK_EQ(timeline_first_ns(timeline), START_NS + 300 * MS);
	CHECK(!cell(0, 200, 298).is_alive);
	CHECK_EQ(cell(0, 302, 598).share[THREAD_WAITS], 255);
	struct timeline_seen seen;
	CHECK(timeline_stack_at(timeline, 0, START_NS + 301 * MS, MS, &seen));
	CHECK_EQ(seen.stack, 1);
	CHECK(timeline_stack_at(timeline, 0, START_NS + 700 * MS, MS, &seen));
	CHECK_EQ(seen.stack, 2);
	end();
}

static void a_sampled_stack_comes_before_a_wait(void)
{
	struct timeline_seen seen;
	begin(BYTES);
	add(TID, THREAD_WAITS, 0, 100);
	mark(TID, 9, THREAD_COMPUTES, 50, MS);
	mark(TID, 4, THREAD_WAITS, 100, 100 * MS);
	CHECK(timeline_stack_at(timeline, 0, START_NS + 50 * MS, 0, &seen));
	CHECK_EQ(seen.stack, 9);
	CHECK(!seen.is_wait);
	CHECK(timeline_stack_at(timeline, 0, START_NS + 20 * MS, 0, &seen));
	CHECK_EQ(seen.stack, 4);
	end();
}

static void moments_are_found_in_the_order_of_time(void)
{
	static const uint8_t found[8] = {[2] = 1};
	static const size_t rows[] = {0, 1};
	struct timeline_moment at = {.row = SIZE_MAX, .time_ns = START_NS}, moment;
	begin(BYTES);
	mark(TID, 1, THREAD_COMPUTES, 10, MS);
	mark(TID, 2, THREAD_COMPUTES, 300, MS);
	mark(TID + 1, 2, THREAD_COMPUTES, 100, MS);
	mark(TID + 1, 2, THREAD_COMPUTES, 300, MS);
	CHECK(timeline_find(timeline, rows, 2, found, 8, &at, 1, &moment));
	CHECK_EQ(moment.row, 1);
	CHECK(moment.time_ns <= START_NS + 100 * MS && START_NS + 100 * MS < moment.to_ns);
	at = moment;
	CHECK(timeline_find(timeline, rows, 2, found, 8, &at, 1, &moment));
	CHECK_EQ(moment.row, 0);
	at = moment;
	CHECK(timeline_find(timeline, rows, 2, found, 8, &at, 1, &moment));
	CHECK_EQ(moment.row, 1);
	at = moment;
	CHECK(!timeline_find(timeline, rows, 2, found, 8, &at, 1, &moment));
	CHECK(timeline_find(timeline, rows, 2, found, 8, &at, -1, &moment));
	CHECK_EQ(moment.row, 0);
	end();
}

static void happen(int32_t tid, enum thread_event event, uint64_t ns, uint32_t from_cpu,
		   uint32_t to_cpu)
{
	const struct thread_stretch stretch = {.pid = PID,
					       .tid = tid,
					       .from_ns = ns,
					       .to_ns = ns,
					       .state = THREAD_UNKNOWN,
					       .event = event,
					       .creator_pid = PID,
					       .creator_tid = TID,
					       .from_cpu = from_cpu,
					       .to_cpu = to_cpu};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

static void what_happened_to_a_thread_is_kept(void)
{
	struct text creator = {0};
	begin(BYTES);
	add(TID, THREAD_COMPUTES, 0, 30);
	happen(TID + 1, THREAD_CREATED, START_NS + 10 * MS, 0, 0);
	add(TID + 1, THREAD_QUEUES, 10, 12);
	add(TID + 1, THREAD_COMPUTES, 12, 20);
	happen(TID + 1, THREAD_PREEMPTED, START_NS + 20 * MS, 0, 0);
	add(TID + 1, THREAD_QUEUES, 20, 21);
	happen(TID + 1, THREAD_MIGRATED, START_NS + 21 * MS, 0, 5);
	add(TID + 1, THREAD_COMPUTES, 21, 30);
	happen(TID + 1, THREAD_MIGRATED, START_NS + 30 * MS, 5, 7);
	const struct timeline_thread *thread = timeline_thread(timeline, 1);
	CHECK(thread->is_created && thread->creator_tid == TID && !thread->lacks_events);
	CHECK_EQ(thread->began_ns, START_NS + 10 * MS);
	CHECK_EQ(thread->started_ns, START_NS + 12 * MS);
	CHECK(thread->nr_preemptions == 1 && thread->nr_migrations == 2);
	timeline_add_creator(timeline, thread, &creator);
	CHECK_STR(text_string(&creator), "8 worker");
	text_release(&creator);
	struct timeline_events here =
		timeline_events_in(timeline, 1, START_NS + 20 * MS, START_NS + 30 * MS);
	CHECK_EQ(here.time_ns, START_NS + 20 * MS);
	CHECK(here.nr_preemptions == 1 && here.nr_migrations == 1);
	CHECK(here.from_cpu == 0 && here.to_cpu == 5);
	here = timeline_events_in(timeline, 1, START_NS, START_NS + 40 * MS);
	CHECK(here.nr_migrations == 2 && here.from_cpu == 0 && here.to_cpu == 7);
	CHECK_EQ(timeline_events_in(timeline, 1, START_NS, START_NS + 20 * MS).time_ns, 0);
	CHECK_EQ(timeline_events_in(timeline, 0, 0, UINT64_MAX).time_ns, 0);
	end();
}

/* However many there are: they are told less finely, and none is missing from the sums. */
static void many_events_become_few_marks(void)
{
	enum { SMALL = 256 << 10, NR = 100000 };
	begin(SMALL);
	for (int32_t i = 0; i < NR; i++) {
		const int32_t tid = TID + i % 10;
		const uint64_t at_ns = START_NS + (uint64_t)i * MS / 2;
		add_ns(tid, THREAD_COMPUTES, WAIT_UNSEEN, at_ns, at_ns + 1000);
		happen(tid, i % 2 ? THREAD_PREEMPTED : THREAD_MIGRATED, at_ns + 1000,
		       (uint32_t)(i / 10), (uint32_t)(i / 10) + 1);
	}
	CHECK(timeline_bytes(timeline) <= SMALL);
	CHECK(timeline_events_ns(timeline) > 5 * MS);
	for (size_t row = 0; row < 10; row++) {
		const struct timeline_thread *thread = timeline_thread(timeline, row);
		const struct timeline_events all = timeline_events_in(timeline, row, 0, UINT64_MAX);
		CHECK_EQ(thread->nr_preemptions + thread->nr_migrations, NR / 10);
		CHECK_EQ(all.nr_preemptions, thread->nr_preemptions);
		CHECK_EQ(all.nr_migrations, thread->nr_migrations);
		CHECK(row % 2 || (all.from_cpu == 0 && all.to_cpu == NR / 10));
	}
	end();
}

static void wait_in(int32_t tid, const char *call, uint64_t from_ns, uint64_t to_ns)
{
	const struct thread_stretch stretch = {.pid = PID,
					       .tid = tid,
					       .from_ns = from_ns,
					       .to_ns = to_ns,
					       .state = THREAD_WAITS,
					       .wait = WAIT_IO,
					       .call = call};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

static bool is_in(size_t row, uint64_t from_ms, uint64_t to_ms, struct timeline_call *call)
{
	return timeline_call_in(timeline, row, START_NS + from_ms * MS, START_NS + to_ms * MS,
				call);
}

/* A call is known of the whole wait, however late it was looked at, and of no other. */
static void calls_of_waits_are_kept(void)
{
	struct timeline_call call;
	begin(BYTES);
	wait_in(TID, NULL, START_NS, START_NS + 10 * MS);
	wait_in(TID, "read, pipe:[1]", START_NS + 10 * MS, START_NS + 20 * MS);
	CHECK(is_in(0, 0, 1, &call));
	CHECK_EQ(call.to_ns, START_NS + 20 * MS);
	wait_in(TID, "read, pipe:[1]", START_NS + 20 * MS, START_NS + 30 * MS);
	add(TID, THREAD_COMPUTES, 30, 40);
	wait_in(TID, "", START_NS + 40 * MS, START_NS + 50 * MS);
	add(TID, THREAD_COMPUTES, 50, 60);
	wait_in(TID, "futex", START_NS + 60 * MS, START_NS + 100 * MS);
	CHECK_EQ(timeline_nr_calls(timeline, 0), 2);
	CHECK(is_in(0, 5, 6, &call));
	CHECK_STR(call.name, "read, pipe:[1]");
	CHECK(call.from_ns == START_NS && call.to_ns == START_NS + 30 * MS);
	CHECK(!is_in(0, 30, 60, &call));
	CHECK(is_in(0, 0, 100, &call)); /* the one that takes most of it */
	CHECK_STR(call.name, "futex");
	CHECK(is_in(0, 20, 65, &call));
	CHECK_STR(call.name, "read, pipe:[1]");
	CHECK(!is_in(0, 100, 200, &call));
	end();
}

/* Where there are too many the longest stay, exact; of very many things the call alone is told. */
static void many_calls_leave_the_longest(void)
{
	enum { SMALL = 256 << 10, NR = 20000, LONG_EVERY = 100 };
	struct timeline_call call;
	char name[64];
	begin(SMALL);
	for (uint64_t i = 0; i < NR; i++) {
		const uint64_t at_ns = START_NS + i * MS;
		snprintf(name, sizeof(name), "read, pipe:[%u]", (unsigned)i);
		add_ns(TID, THREAD_COMPUTES, WAIT_UNSEEN, at_ns, at_ns + 1000);
		wait_in(TID, name, at_ns + 1000,
			at_ns + (i % LONG_EVERY ? 10000 + i % 1000 : 900000));
	}
	CHECK(timeline_bytes(timeline) <= SMALL);
	CHECK(timeline_calls_ns(timeline) > 1);
	for (uint64_t i = 0; i < NR; i += LONG_EVERY) {
		CHECK(timeline_call_in(timeline, 0, START_NS + i * MS, START_NS + (i + 1) * MS,
				       &call));
		CHECK_EQ(call.to_ns - call.from_ns, 899000);
		CHECK(!strncmp(call.name, "read", 4));
	}
	CHECK_STR(call.name, "read");
	timeline_clear(timeline);
	CHECK_EQ(timeline_calls_ns(timeline), 1);
	end();
}

static void call_whole(int32_t tid, const char *name, uint64_t from_ms, uint64_t to_ms)
{
	const struct thread_stretch stretch = {.pid = PID,
					       .tid = tid,
					       .from_ns = START_NS + from_ms * MS,
					       .to_ns = START_NS + to_ms * MS,
					       .state = THREAD_UNKNOWN,
					       .event = THREAD_CALLED,
					       .call = name};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

/* A call takes the waits in it, and what looks knew of them; it adds nothing to the thread's states. */
static void whole_calls_take_their_waits(void)
{
	struct timeline_call call;
	begin(BYTES);
	add(TID, THREAD_COMPUTES, 0, 10);
	wait_in(TID, "poll, pipe:[1]", START_NS + 10 * MS, START_NS + 20 * MS);
	add(TID, THREAD_COMPUTES, 20, 21);
	wait_in(TID, "poll, pipe:[2]", START_NS + 21 * MS, START_NS + 30 * MS);
	add(TID, THREAD_COMPUTES, 30, 50);
	call_whole(TID, "poll", 9, 31);
	call_whole(TID, "read", 32, 40);
	call_whole(TID, "write", 35, 45); /* the clock says nonsense: none is in two calls */
	CHECK_EQ(timeline_nr_calls(timeline, 0), 2);
	CHECK(is_in(0, 9, 10, &call));
	CHECK(call.is_whole && call.to_ns == START_NS + 31 * MS);
	CHECK_STR(call.name, "poll, pipe:[1]");
	CHECK(is_in(0, 35, 36, &call));
	CHECK_STR(call.name, "read");
	const struct timeline_thread *thread = timeline_thread(timeline, 0);
	CHECK_EQ(thread->nr_calls, 3);
	CHECK_EQ(thread->ns[THREAD_UNKNOWN], 0);
	CHECK_EQ(thread->ns[THREAD_COMPUTES] + thread->ns[THREAD_WAITS], 50 * MS);
	end();
}

/* What is read back of a recording's tiles is rounded, its end is not. */
static void a_thread_lives_until_it_ends(void)
{
	begin(BYTES);
	add(TID, THREAD_COMPUTES, 0, 50);
	call_whole(TID, "close", 51, 52);
	CHECK_EQ(timeline_thread(timeline, 0)->until_ns, START_NS + 52 * MS);
	end_thread(TID, 53);
	CHECK_EQ(timeline_thread(timeline, 0)->until_ns, START_NS + 53 * MS);
	end();
}

static void create(int32_t pid, int32_t creator, uint64_t at_ns)
{
	const struct thread_stretch stretch = {.pid = pid,
					       .tid = pid,
					       .name = "child",
					       .from_ns = START_NS + at_ns,
					       .to_ns = START_NS + at_ns + MS,
					       .state = THREAD_COMPUTES,
					       .begins = true,
					       .event = THREAD_CREATED,
					       .creator_pid = creator,
					       .creator_tid = creator};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

static const char *cgroup_of_row(size_t row)
{
	return timeline_cgroup(timeline, timeline_thread(timeline, row)->cgroup);
}

static void processes_are_asked_about_once(void)
{
	begin(BYTES);
	CHECK_EQ(timeline_next_unasked(timeline), SIZE_MAX);
	add_ns(PID, THREAD_COMPUTES, WAIT_UNSEEN, START_NS, START_NS + MS);
	add_ns(TID, THREAD_COMPUTES, WAIT_UNSEEN, START_NS, START_NS + MS);
	CHECK_EQ(timeline_next_unasked(timeline), 0);
	timeline_set_cgroup(timeline, 0, "/a");
	CHECK_EQ(timeline_next_unasked(timeline), SIZE_MAX);
	CHECK_STR(cgroup_of_row(1), "/a");
	/* It is somewhere else; who comes right behind it is not asked about, and where its creator is. */
	create(100, PID, 20 * (uint64_t)MS);
	CHECK_EQ(timeline_next_unasked(timeline), 2);
	timeline_set_cgroup(timeline, 2, "/b");
	create(101, 100, 21 * (uint64_t)MS);
	CHECK_EQ(timeline_next_unasked(timeline), SIZE_MAX);
	CHECK_STR(cgroup_of_row(3), "/b");
	/* Nobody can say any more. */
	create(102, PID, 60 * (uint64_t)MS);
	CHECK_EQ(timeline_next_unasked(timeline), 4);
	timeline_set_cgroup(timeline, 4, NULL);
	CHECK_STR(cgroup_of_row(4), "/a");
	/* Where nothing is known of one, those that it creates one after the other are asked about no more often. */
	create(200, 300, 100 * (uint64_t)MS);
	CHECK_EQ(timeline_next_unasked(timeline), 5);
	timeline_set_cgroup(timeline, 5, NULL);
	create(201, 200, 101 * (uint64_t)MS);
	CHECK_EQ(timeline_next_unasked(timeline), SIZE_MAX);
	CHECK_STR(cgroup_of_row(6), "");
	CHECK_STR(timeline_cgroup(timeline, 0), "");
	CHECK_STR(timeline_cgroup(timeline, 2), "/b");
	CHECK_STR(timeline_cgroup(timeline, 3), "");
	end();
}

static void cgroups_are_few(void)
{
	enum { NR = 1500 };
	char path[16];
	begin(BYTES);
	add_ns(PID, THREAD_COMPUTES, WAIT_UNSEEN, START_NS, START_NS + MS);
	for (int i = 0; i < NR; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		timeline_set_cgroup(timeline, 0, path);
	}
	CHECK_STR(cgroup_of_row(0), "");
	CHECK(timeline_cgroup(timeline, 1024)[0] && !timeline_cgroup(timeline, 1025)[0]);
	CHECK(timeline_bytes(timeline) < BYTES / 8);
	end();
}

static void stacks_that_move_are_followed(void)
{
	static const uint32_t to[] = {0, 0, 7};
	struct timeline_seen seen;
	begin(BYTES);
	mark(TID, 2, THREAD_COMPUTES, 10, MS);
	timeline_move_stacks(timeline, to);
	CHECK(timeline_stack_at(timeline, 0, START_NS + 10 * MS, 0, &seen));
	CHECK_EQ(seen.stack, 7);
	timeline_clear(timeline);
	CHECK_EQ(timeline_nr_threads(timeline), 0);
	CHECK_EQ(timeline_first_ns(timeline), 0);
	end();
}

int main(void)
{
	RUN(states_of_a_thread_add_up_to_its_life);
	RUN(cells_show_what_was_done_there);
	RUN(short_stretches_are_not_rounded_away);
	RUN(the_bound_makes_tiles_longer);
	RUN(ten_thousand_threads_fit_in);
	RUN(threads_beyond_the_bound_are_forgotten);
	RUN(a_number_that_comes_again_is_another_row);
	RUN(threads_of_other_recordings_are_others);
	RUN(steps_of_the_clock_do_no_harm);
	RUN(marks_tell_where_there_are_no_stretches);
	RUN(a_part_of_a_run_begins_with_its_threads);
	RUN(a_sampled_stack_comes_before_a_wait);
	RUN(moments_are_found_in_the_order_of_time);
	RUN(what_happened_to_a_thread_is_kept);
	RUN(many_events_become_few_marks);
	RUN(calls_of_waits_are_kept);
	RUN(whole_calls_take_their_waits);
	RUN(a_thread_lives_until_it_ends);
	RUN(many_calls_leave_the_longest);
	RUN(processes_are_asked_about_once);
	RUN(cgroups_are_few);
	RUN(stacks_that_move_are_followed);
	return test_done();
}

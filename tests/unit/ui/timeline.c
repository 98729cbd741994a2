/* SPDX-License-Identifier: MIT */
/* The timeline's keys on a profile whose threads' stretches are made by hand: 29 s, and samples in each of them. */
#include <ctop/history/timeline.h>

#include "interface.h"

static const struct stack computing = {
	0, 100, STACK_COMPLETE, {"_start", "main", "serve(int)", "parse_request(char const*)"}};
static const struct stack rare = {
	1, 1, STACK_COMPLETE, {"start_thread", "worker(void*)", "rarely(int)"}};

enum { FIRST_SECOND = 1, NR_SECONDS = 29, MS = 1000000 };

static void add(int32_t tid, enum thread_state state, enum wait_kind wait, uint64_t from_ms,
		uint64_t to_ms)
{
	const uint64_t start_ns = (uint64_t)FIRST_SECOND * 1000 * MS;
	const struct thread_stretch stretch = {
		.pid = 42,
		.tid = tid,
		.name = tid == 42 ? "program" : "worker-1",
		.from_ns = start_ns + from_ms * MS,
		.to_ns = start_ns + to_ms * MS,
		.state = state,
		.wait = wait,
		.call = wait == WAIT_LOCK ? "futex, futex 0x7f0012345678" : NULL,
		.is_woken = wait == WAIT_LOCK || wait == WAIT_POLL,
		.waker_tid = wait == WAIT_LOCK ? 42 : WAKER_INTERRUPT};
	CHECK_EQ(timeline_add(history_timeline(profile.history), &stretch), 0);
}

static void begin_timeline(const struct ui_options *options)
{
	begin_profile(false);
	timeline_expect_stretches(history_timeline(profile.history));
	for (uint64_t second = 0; second < NR_SECONDS; second++) {
		const uint64_t from = second * 1000;
		add(42, THREAD_COMPUTES, WAIT_UNSEEN, from, from + 300);
		add(42, THREAD_QUEUES, WAIT_UNSEEN, from + 300, from + 400);
		add(42, THREAD_WAITS, WAIT_IO, from + 400, from + 1000);
		add_samples(&computing, FIRST_SECOND + second);
	}
	add(43, THREAD_WAITS, WAIT_LOCK, 0, 12000);
	add(43, THREAD_COMPUTES, WAIT_UNSEEN, 12000, 12100);
	add(43, THREAD_WAITS, WAIT_SLEEP, 12100, 20000);
	add(43, THREAD_COMPUTES, WAIT_UNSEEN, 20000, 20050);
	add(43, THREAD_WAITS, WAIT_POLL, 20050, 29000);
	add_samples(&rare, FIRST_SECOND + 12);
	add_samples(&rare, FIRST_SECOND + 20);
	begin_ui(options);
	CHECK_EQ(ui_resize(profile.ui, 24, 100), 0);
	ui_draw(profile.ui);
}

static void end_timeline(void)
{
	end();
}

static bool shows(const char *wanted)
{
	struct text text = {0};
	cells_text(ui_draw(profile.ui), &text);
	const bool is_there = strstr(text_string(&text), wanted) != NULL;
	if (!is_there)
		printf("# no \"%s\" in\n%s\n", wanted, text_string(&text));
	text_release(&text);
	return is_there;
}

static void states_are_characters(void)
{
	const struct ui_options options = {.ascii = true};
	begin_timeline(&options);
	press("9");
	compare("timeline-states-ascii");
	press("<Down>");
	CHECK(shows("43 worker-1"));
	CHECK(shows("llllllll"));
	CHECK(shows("pppppppp"));
	end_timeline();
}

static void the_call_under_the_cursor_is_told(void)
{
	const struct ui_options options = {0};
	begin_timeline(&options);
	press("9W");
	CHECK(shows("waits in futex, futex 0x7f0012345678: 12.0 s from 0.0 s"));
	press("W"); /* a poll, that nobody has looked at */
	CHECK(shows("(poll)"));
	CHECK(!shows("waits in"));
	end_timeline();
}

static void the_longest_waits_come_in_turn(void)
{
	const struct ui_options options = {0};
	begin_timeline(&options);
	press("9W");
	CHECK(shows("longest: 12.0 s, for: lock, from 0.0 s, woken by 42 program"));
	press("W");
	CHECK(shows("longest: 8.95 s, for: poll"));
	CHECK(shows(", woken by an interrupt"));
	press("W");
	CHECK(shows("longest: 7.90 s, for: sleep"));
	CHECK(!shows("woken by"));
	end_timeline();
}

static void moments_of_a_function_are_found(void)
{
	const struct ui_options options = {0};
	begin_timeline(&options);
	press("9/rarely<Enter>");
	CHECK(shows("at 12."));
	CHECK(shows("   rarely"));
	CHECK(shows(">     43 worker-1"));
	press("n");
	CHECK(shows("at 20."));
	press("N");
	CHECK(shows("at 12."));
	press("/xyzzy<Enter>");
	CHECK(shows("not found: xyzzy"));
	end_timeline();
}

/* Samples of a second lie at its first tenth, a ms apart. */
static void a_range_narrows_all_views(void)
{
	const struct ui_options options = {.since_start = true};
	begin_timeline(&options);
	CHECK(shows("2,902 samples"));
	press("9/rarely<Enter>n++++++[");
	CHECK(shows("] marks where the range ends"));
	press("]");
	CHECK(shows("filter: range 19.9"));
	press("1");
	CHECK(shows("filter: range 19.9"));
	CHECK(!shows("2,902 samples"));
	CHECK(shows("range 0."));
	press("<Esc>");
	CHECK(shows("2,902 samples"));
	end_timeline();
}

/* Its end marked left of its beginning: both cells are in it. */
static void a_range_that_is_marked_the_other_way_round(void)
{
	const struct ui_options options = {.since_start = true};
	begin_timeline(&options);
	press("9/rarely<Enter>n++++++[");
	press("<Left>]");
	CHECK(shows("filter: range 19.9"));
	CHECK(!shows("2,902 samples"));
	end_timeline();
}

static void the_rows_thread_alone(void)
{
	const struct ui_options options = {.since_start = true};
	begin_timeline(&options);
	press("9<Down>t");
	CHECK(shows("thread=43 worker-1"));
	CHECK(shows("[9 Timeline]"));
	CHECK(!shows(" 42 program "));
	end_timeline();
}

/* A cell of the first row or so. */
enum { ROW = 4, COL = 40 };

static void the_mouse_draws_a_range(void)
{
	const struct ui_options options = {.since_start = true};
	begin_timeline(&options);
	press("9");
	ui_draw(profile.ui);
	/* At one place it is a click. */
	ui_key(profile.ui, key_of_click(ROW, COL));
	ui_key(profile.ui, key_of_letting_go(ROW, COL));
	CHECK(!shows("filter: range"));
	ui_key(profile.ui, key_of_click(ROW, COL));
	ui_key(profile.ui, key_of_letting_go(ROW + 1, COL + 10));
	CHECK(shows("filter: range"));
	struct text forth = {0}, back = {0};
	cells_text(ui_draw(profile.ui), &forth);
	CHECK(strstr(text_string(&forth), "filter: range"));
	/* Backwards it is the same one; only the cursor is elsewhere. */
	ui_key(profile.ui, key_of_click(ROW, COL + 10));
	ui_key(profile.ui, key_of_letting_go(ROW, COL));
	cells_text(ui_draw(profile.ui), &back);
	const char *range = strstr(text_string(&forth), "filter: range");
	CHECK(strstr(text_string(&back), "filter: range") &&
	      !strncmp(range, strstr(text_string(&back), "filter: range"), 30));
	text_release(&forth);
	text_release(&back);
	press("1");
	CHECK(!shows("2,902 samples"));
	press("<Esc>");
	CHECK(shows("2,902 samples"));
	end_timeline();
}

static void a_button_that_was_pressed_elsewhere_draws_nothing(void)
{
	const struct ui_options options = {.since_start = true};
	begin_timeline(&options);
	ui_key(profile.ui, key_of_letting_go(ROW, COL));
	press("9");
	ui_draw(profile.ui);
	ui_key(profile.ui, key_of_letting_go(ROW, COL));
	/* On a thread's name, above the rows, nowhere. */
	static const int places[][2] = {{ROW, 2}, {0, 0}, {4000, 4000}};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		ui_key(profile.ui, key_of_click(places[i][0], places[i][1]));
		ui_key(profile.ui, key_of_letting_go(ROW, COL));
	}
	CHECK(!shows("filter: range"));
	/* Behind the end is the end. */
	ui_key(profile.ui, key_of_click(ROW, COL));
	ui_key(profile.ui, key_of_letting_go(4000, 4000));
	CHECK(shows("filter: range"));
	end_timeline();
}

static void zooming_keeps_the_cursor_where_it_is(void)
{
	const struct ui_options options = {0};
	begin_timeline(&options);
	press("9/rarely<Enter>");
	for (int i = 0; i < 40; i++)
		press("+");
	CHECK(shows("at 12.0"));
	CHECK(shows("a column: 1.0 us"));
	for (int i = 0; i < 80; i++)
		press("-");
	CHECK(shows("a column: "));
	for (int i = 0; i < 200; i++)
		press("<Right>");
	for (int i = 0; i < 400; i++)
		press("<Left>h");
	CHECK(shows("at "));
	end_timeline();
}

static void processes_are_rows_of_all_their_threads(void)
{
	const struct ui_options options = {0};
	begin_timeline(&options);
	press("9p");
	CHECK(shows("42 program (2)"));
	press("p");
	CHECK(shows("43 worker-1"));
	press("s");
	CHECK(shows("THREADS by computing"));
	press("s");
	CHECK(shows("THREADS by waiting"));
	end_timeline();
}

static void happen(enum thread_event event, uint64_t ms, uint32_t cpu)
{
	const uint64_t at_ns = ((uint64_t)FIRST_SECOND * 1000 + ms) * MS;
	const struct thread_stretch stretch = {.pid = 42,
					       .tid = 44,
					       .name = "created",
					       .from_ns = at_ns,
					       .to_ns = at_ns,
					       .state = THREAD_UNKNOWN,
					       .event = event,
					       .ends = event == THREAD_NO_EVENT,
					       .creator_pid = 42,
					       .creator_tid = 43,
					       .from_cpu = cpu,
					       .to_cpu = cpu + 1};
	CHECK_EQ(timeline_add(history_timeline(profile.history), &stretch), 0);
}

static void what_happened_to_a_thread_is_told(void)
{
	const struct ui_options options = {0};
	begin_timeline(&options);
	happen(THREAD_CREATED, 9000, 0);
	add(44, THREAD_QUEUES, WAIT_UNSEEN, 9000, 9002);
	add(44, THREAD_COMPUTES, WAIT_UNSEEN, 9002, 14700);
	happen(THREAD_PREEMPTED, 14700, 0);
	add(44, THREAD_QUEUES, WAIT_UNSEEN, 14700, 14701);
	happen(THREAD_MIGRATED, 14701, 3);
	add(44, THREAD_COMPUTES, WAIT_UNSEEN, 14701, 15000);
	happen(THREAD_NO_EVENT, 15000, 0);
	CHECK_EQ(ui_refresh(profile.ui, (uint64_t)(FIRST_SECOND + NR_SECONDS) * 1000 * MS), 0);
	press("9<Down><Down>");
	CHECK(shows(" (█"));
	CHECK(shows("█)"));
	CHECK(shows("created 9.0 s by 43 worker-1, started 2.0 ms later, ended 15.0 s"));
	CHECK(shows(" in all 1 preemption, 1 migration"));
	for (int i = 0; i < 34; i++)
		press("<Left>");
	CHECK(shows("here 1 preemption, 1 migration (CPU 3 -> 4); in all"));
	/* Of a process nothing is told. */
	press("p");
	CHECK(!shows("created 9.0 s"));
	end_timeline();
}

int main(void)
{
	RUN(states_are_characters);
	RUN(the_call_under_the_cursor_is_told);
	RUN(the_longest_waits_come_in_turn);
	RUN(moments_of_a_function_are_found);
	RUN(a_range_narrows_all_views);
	RUN(a_range_that_is_marked_the_other_way_round);
	RUN(the_rows_thread_alone);
	RUN(the_mouse_draws_a_range);
	RUN(a_button_that_was_pressed_elsewhere_draws_nothing);
	RUN(zooming_keeps_the_cursor_where_it_is);
	RUN(processes_are_rows_of_all_their_threads);
	RUN(what_happened_to_a_thread_is_told);
	return test_done();
}

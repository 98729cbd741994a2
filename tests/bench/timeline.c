/* SPDX-License-Identifier: MIT */
/*
 * What the timeline costs on a screen of 200 x 50: 1,000 threads for ten minutes, then keys and refreshes while more comes. Prints CPU time; there is no
 * pass or fail.
 *
 *     timeline [THREADS [SECONDS [MARKS_PER_SECOND]]]
 *
 * Marks are samples of a thread: of more than one in a tile the last one is kept, so that a higher rate makes the same tiles.
 */
#include <ctop/base/clock.h>
#include <ctop/history/timeline.h>
#include <ctop/ui/ui.h>

#include <string.h>

#include "made.h"

enum { NR_STACKS = 20000, DEPTH = 30, NR_FUNCTIONS = 3000, KEYS = 2000, REFRESHES = 100 };
#define MEMORY_BYTES (UINT64_C(128) << 20)

static struct made made;
static struct history *history;
static struct timeline *timeline;
static struct ui *ui;
static uint64_t random_state = 88172645463325252;

struct cost {
	const char *what;
	uint64_t ns[KEYS];
	size_t nr;
};

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static void print(struct cost *cost)
{
	qsort(cost->ns, cost->nr, sizeof(*cost->ns), compare);
	printf("%-40s median %7.2f ms  p99 %7.2f ms  at most %7.2f ms\n", cost->what,
	       (double)cost->ns[cost->nr / 2] / 1e6, (double)cost->ns[cost->nr * 99 / 100] / 1e6,
	       (double)cost->ns[cost->nr - 1] / 1e6);
}

static void key(struct cost *cost, int code)
{
	const uint64_t before_ns = clock_cpu_ns();
	ui_key(ui, code);
	ui_draw(ui);
	cost->ns[cost->nr++] = clock_cpu_ns() - before_ns;
}

/* ---- what is shown ---- */

static void add_stacks(void)
{
	char name[32];
	struct frame_id frames[NR_FUNCTIONS];
	for (uint64_t i = 0; i < NR_FUNCTIONS; i++) {
		frames[i] = made_frame(&made, i);
		snprintf(name, sizeof(name), "function_%u", (unsigned)i);
		must(symbols_set(made.namer, frames[i], SYMBOL_NAMED, name, NULL, 0), "name");
	}
	must(history_begin_epoch(history, &made.tables, &made.symbols), "epoch");
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		struct node_id node = {0};
		for (int depth = 0; depth < DEPTH; depth++)
			must(tables_add_node(
				     made.writer, node,
				     frames[random_next(&random_state) % (NR_FUNCTIONS - 1)],
				     FRAME_CFI, &node),
			     "node");
		tables_publish(made.writer);
		const struct sample sample = {
			.time_ns = SECOND_NS + i,
			.weight = 1000000,
			.task = made.tasks[0],
			.node = node,
			/* The last function is in one stack alone. */
			.leaf = frames[i == NR_STACKS / 2 ? NR_FUNCTIONS - 1 : i % 1000],
			.event = 1,
			.end = STACK_COMPLETE,
		};
		must(history_import(history, &sample, 1), "import");
	}
}

static void add_second(uint64_t second, int32_t nr_threads, uint64_t marks)
{
	const uint64_t start_ns = second * SECOND_NS;
	for (int32_t tid = 1; tid <= nr_threads; tid++) {
		const uint64_t busy_ns = random_next(&random_state) % SECOND_NS;
		const struct thread_stretch stretches[] = {
			{.pid = 1,
			 .tid = tid,
			 .name = "worker",
			 .from_ns = start_ns,
			 .to_ns = start_ns + busy_ns,
			 .state = THREAD_COMPUTES,
			 .wait = WAIT_UNSEEN},
			{.pid = 1,
			 .tid = tid,
			 .name = "worker",
			 .from_ns = start_ns + busy_ns,
			 .to_ns = start_ns + SECOND_NS,
			 .state = THREAD_WAITS,
			 .wait = (enum wait_kind)(tid % NR_WAIT_KINDS)},
			{.pid = 1,
			 .tid = tid,
			 .from_ns = start_ns + SECOND_NS,
			 .to_ns = start_ns + SECOND_NS,
			 .state = THREAD_UNKNOWN,
			 .event = THREAD_MIGRATED,
			 .from_cpu = (uint32_t)second,
			 .to_cpu = (uint32_t)second + 1},
		};
		for (int i = 0; i < 3; i++)
			must(timeline_add(timeline, &stretches[i]), "stretch");
		for (uint64_t i = 0; i < marks; i++) {
			const struct timeline_mark mark = {
				.pid = 1,
				.tid = tid,
				.time_ns = start_ns + i * SECOND_NS / marks,
				.stack = (uint32_t)(random_next(&random_state) % (NR_STACKS - 1)),
				.state = THREAD_COMPUTES,
			};
			must(timeline_mark(timeline, &mark), "mark");
		}
	}
}

/* ---- the host ---- */

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	(void)event;
	*facts = (struct ui_facts){.state = UI_LIVE, .event = "cpu-clock", .target = "bench"};
}

/* ---- what is measured ---- */

static void type(struct cost *cost, const char *text)
{
	for (; *text; text++)
		key(cost, *text);
	key(cost, KEY_RETURN);
}

static void press_keys(void)
{
	static const int keys[] = {KEY_ARROW_LEFT,
				   KEY_ARROW_DOWN,
				   '+',
				   KEY_ARROW_LEFT,
				   'h',
				   KEY_PAGE_DOWN,
				   '-',
				   '-',
				   'l',
				   KEY_ARROW_UP};
	static struct cost cost = {.what = "a key that moves or zooms"},
			   wait = {.what = "W, the next longest wait"},
			   find = {.what = "/ a function that is often there"},
			   next = {.what = "n, its next moment"},
			   rare = {.what = "/ one that is nearly nowhere"},
			   none = {.what = "/ one that is nowhere"},
			   process = {.what = "p, all threads as one row"};
	while (cost.nr < KEYS)
		key(&cost, keys[random_next(&random_state) % (sizeof(keys) / sizeof(*keys))]);
	for (int i = 0; i < 100; i++)
		key(&wait, 'W');
	type(&find, "/function_77");
	for (int i = 0; i < 200; i++)
		key(&next, 'n');
	type(&rare, "/function_2999");
	type(&none, "/nothing_like_it");
	for (int i = 0; i < 20; i++)
		key(&process, 'p');
	print(&cost);
	print(&wait);
	print(&find);
	print(&next);
	print(&rare);
	print(&none);
	print(&process);
}

int main(int argc, char **argv)
{
	const int32_t nr_threads = argc > 1 ? atoi(argv[1]) : 1000;
	const uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 600;
	const uint64_t marks = argc > 3 ? strtoull(argv[3], NULL, 10) : 20;
	static struct cost refresh = {.what = "a refresh, drawn"};
	const struct ui_host host = {.facts = tell_facts};
	const struct ui_options options = {.since_start = true};
	struct tables_capacity capacity = tables_capacity_default;
	capacity.nr[TABLE_NODES] = 1 << 20;
	made_open(&made, &capacity, 1);
	history = history_new();
	must(!history, "memory");
	history_set_limit(history, MEMORY_BYTES);
	history_keep_seconds(history);
	must(history_keep_timeline(history), "timeline");
	timeline = history_timeline(history);
	timeline_expect_stretches(timeline);
	add_stacks();
	uint64_t before_ns = clock_cpu_ns();
	for (uint64_t second = 1; second <= seconds; second++)
		add_second(second, nr_threads, marks);
	printf("%d threads, %u s: tiles of %.0f ms, %.1f MiB; %.0f ns a stretch, event or mark\n",
	       nr_threads, (unsigned)seconds, (double)timeline_tile_ns(timeline) / 1e6,
	       (double)timeline_bytes(timeline) / (1 << 20),
	       (double)(clock_cpu_ns() - before_ns) /
		       (double)(seconds * (uint64_t)nr_threads * (marks + 3)));
	ui = ui_new(&options, &host, history);
	must(!ui || ui_resize(ui, 50, 200), "interface");
	must(ui_refresh(ui, (seconds + 1) * SECOND_NS), "refresh");
	ui_key(ui, '9');
	ui_draw(ui);
	for (uint64_t i = 0; i < REFRESHES; i++) {
		add_second(seconds + 1 + i, nr_threads, marks);
		before_ns = clock_cpu_ns();
		must(ui_refresh(ui, (seconds + 2 + i) * SECOND_NS), "refresh");
		ui_draw(ui);
		refresh.ns[refresh.nr++] = clock_cpu_ns() - before_ns;
	}
	print(&refresh);
	press_keys();
	ui_free(ui);
	history_free(history);
	made_close(&made);
	return 0;
}

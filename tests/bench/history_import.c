/* SPDX-License-Identifier: MIT */
/*
 * What a sample costs once it is unwound: rows interned by the writer, samples imported by the
 * history, then the queries. Prints figures; there is no pass or fail.
 *
 *     history_import [SAMPLES [STACKS]]
 */
#include <errno.h>

#include <ctop/base/clock.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>

#include "made.h"

enum { DEFAULT_SAMPLES = 10000000, DEFAULT_STACKS = 20000, BATCH = 4096 };
enum { NR_FUNCTIONS = 2000, SITES = 8, DEPTH = 30, NR_TASKS = 16, SHARED_DEPTH = 12 };

struct profile {
	struct made made;
	struct sample *stacks;
	size_t nr_stacks;
};

static void report(const char *what, uint64_t start_ns, uint64_t nr, const char *unit)
{
	uint64_t spent_ns = clock_now_ns() - start_ns;
	printf("%-28s %9.1f ms  %8.1f ns/%s\n", what, (double)spent_ns / 1e6,
	       (double)spent_ns / (double)(nr ? nr : 1), unit);
}

/* One stack: its outer half is one of few, its inner half is its own. */
static void add_stack(struct profile *profile, uint64_t seed, struct sample *sample)
{
	uint64_t outer = seed % 64 + 1, inner = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	struct node_id node = {0};
	for (int i = 0; i < DEPTH; i++) {
		uint64_t *from = i < SHARED_DEPTH ? &outer : &inner;
		uint64_t site = random_next(from) % (NR_FUNCTIONS * SITES);
		must(tables_add_node(profile->made.writer, node, made_frame(&profile->made, site),
				     FRAME_CFI, &node),
		     "node");
	}
	*sample = (struct sample){
		.weight = 1,
		.task = profile->made.tasks[random_next(&inner) % NR_TASKS],
		.node = node,
		.leaf = made_frame(&profile->made, random_next(&inner) % (NR_FUNCTIONS * SITES)),
	};
}

static void add_stacks(struct profile *profile, const char *what)
{
	uint64_t start_ns = clock_now_ns();
	for (size_t i = 0; i < profile->nr_stacks; i++)
		add_stack(profile, i, &profile->stacks[i]);
	report(what, start_ns, profile->nr_stacks * DEPTH, "frame");
	tables_publish(profile->made.writer);
}

static void name_functions(struct profile *profile)
{
	char name[64];
	for (uint32_t i = 0; i < NR_FUNCTIONS * SITES; i++) {
		struct frame_id id = made_frame(&profile->made, i);
		snprintf(name, sizeof(name), "bench::function<%u>()", i / SITES);
		must(symbols_set(profile->made.namer, id, SYMBOL_NAMED, name, NULL, i % SITES),
		     "name");
	}
	tables_publish(profile->made.writer);
}

/* Few stacks take most samples, as in life. */
static void import(struct profile *profile, struct history *history, uint64_t nr, const char *what)
{
	static struct sample batch[BATCH];
	uint64_t state = 1, spent_ns = 0, done = 0;
	while (done < nr) {
		size_t wanted = nr - done < BATCH ? (size_t)(nr - done) : BATCH;
		for (size_t i = 0; i < wanted; i++) {
			uint64_t a = random_next(&state) % profile->nr_stacks;
			uint64_t b = random_next(&state) % profile->nr_stacks;
			batch[i] = profile->stacks[a * b / profile->nr_stacks];
			batch[i].time_ns = done + i;
		}
		uint64_t start_ns = clock_now_ns();
		must(history_import(history, batch, wanted), "import");
		spent_ns += clock_now_ns() - start_ns;
		done += wanted;
	}
	report(what, clock_now_ns() - spent_ns, nr, "sample");
}

static void query(struct history *history, uint64_t nr_stacks)
{
	struct selection_functions top = {0};
	uint64_t start_ns = clock_now_ns();
	struct selection *selection = selection_of_all(history);
	must(selection ? 0 : -ENOMEM, "selection");
	report("selection", start_ns, nr_stacks, "stack");
	start_ns = clock_now_ns();
	must(selection_top(selection, SELECTION_BY_SELF, 0, &top, NULL), "top");
	report("top", start_ns, nr_stacks, "stack");
	free(top.items);
	selection_free(selection);
	start_ns = clock_now_ns();
	(void)history_totals(history);
	report("totals", start_ns, nr_stacks, "stack");
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 0) : DEFAULT_SAMPLES;
	struct profile profile = {.nr_stacks = argc > 2 ? strtoull(argv[2], NULL, 0) : 0};
	if (!profile.nr_stacks)
		profile.nr_stacks = DEFAULT_STACKS;
	profile.stacks = calloc(profile.nr_stacks, sizeof(*profile.stacks));
	struct history *history = history_new();
	must(!profile.stacks || !history, "memory");
	made_open(&profile.made, &tables_capacity_default, NR_TASKS);
	printf("%llu samples, %zu stacks of %d frames\n", (unsigned long long)nr, profile.nr_stacks,
	       DEPTH);
	add_stacks(&profile, "intern frames, new");
	add_stacks(&profile, "intern frames, known");
	name_functions(&profile);
	must(history_begin_epoch(history, &profile.made.tables, &profile.made.symbols), "epoch");
	import(&profile, history, nr / 10, "import, first tenth");
	import(&profile, history, nr, "import, known stacks");
	query(history, profile.nr_stacks);
	printf("history %.1f MiB\n", (double)history_bytes(history) / (1 << 20));
	history_free(history);
	made_close(&profile.made);
	free(profile.stacks);
	return 0;
}

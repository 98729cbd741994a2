/* SPDX-License-Identifier: MIT */
/*
 * Memory of the interface through an hour of a program that makes new stacks for ever: as many samples as an hour
 * gives, nearly each on a stack of its own, imported as fast as they are taken, with a selection that follows. Prints what is
 * held every few minutes of that hour; there is no pass or fail.
 *
 *     hour [MEBIBYTES [SAMPLES_PER_SECOND [SECONDS]]]
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "made.h"

enum { DEFAULT_MEBIBYTES = 128, DEFAULT_RATE = 1000, DEFAULT_SECONDS = 3600 };
/* Two functions in every order, this deep. */
enum { DEPTH = 30, NR_CALLS = 2 };
enum { PRINT_SECONDS = 300, WINDOW_SECONDS = 10 };

struct bench {
	struct made made;
	struct frame_id calls[NR_CALLS];
	struct history *history;
	uint64_t random;
	unsigned nr_epochs;
};

static void add_call(struct bench *bench, int i)
{
	static const char *const names[NR_CALLS] = {"even", "odd"};
	bench->calls[i] = made_frame(&bench->made, 4 * (uint64_t)i);
	must(symbols_set(bench->made.namer, bench->calls[i], SYMBOL_NAMED, names[i], NULL, 4),
	     "name");
}

static void open_epoch(struct bench *bench)
{
	made_open(&bench->made, &tables_capacity_default, 1);
	for (int i = 0; i < NR_CALLS; i++)
		add_call(bench, i);
	tables_publish(bench->made.writer);
	must(history_begin_epoch(bench->history, &bench->made.tables, &bench->made.symbols),
	     "epoch");
	bench->nr_epochs++;
}

/* The nodes of a stack that nobody had before; -ENOSPC: the epoch is full. */
static int add_stack(struct bench *bench, uint64_t bits, struct node_id *node)
{
	int result = 0;
	*node = (struct node_id){0};
	for (int i = 0; !result && i < DEPTH; i++)
		result = tables_add_node(bench->made.writer, *node, bench->calls[bits >> i & 1],
					 FRAME_CFI, node);
	return result;
}

static void add_sample(struct bench *bench, uint64_t time_ns)
{
	struct node_id node;
	uint64_t bits = random_next(&bench->random);
	int result = add_stack(bench, bits, &node);
	if (result == -ENOSPC) {
		must(history_update_names(bench->history), "names");
		made_close(&bench->made);
		open_epoch(bench);
		result = add_stack(bench, bits, &node);
	}
	must(result, "stack");
	const struct sample sample = {.time_ns = time_ns,
				      .weight = 1,
				      .task = bench->made.tasks[0],
				      .node = node,
				      .leaf = bench->calls[0],
				      .event = 1};
	tables_publish(bench->made.writer);
	must(history_import(bench->history, &sample, 1), "import");
}

static double resident_mebibytes(void)
{
	char line[128];
	double kibibytes = 0;
	FILE *status = fopen("/proc/self/status", "re");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "RssAnon: %lf", &kibibytes);
	if (status)
		fclose(status);
	return kibibytes / 1024;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void print(const struct bench *bench, const struct selection *selection, unsigned second)
{
	const struct selection_totals window = selection_totals(selection);
	const struct history_totals totals = history_totals(bench->history);
	const struct history_seconds seconds = history_seconds(bench->history);
	printf("%5u s  %8" PRIu64 " samples  folded %5.1f %%, of the window %4.1f %%  history "
	       "%6.1f MiB (its seconds %5.1f, "
	       "%" PRIu64 " s of them)  process %6.1f MiB  epochs %u\n",
	       second, totals.samples, 100.0 * (double)totals.folded / (double)totals.samples,
	       100.0 * (double)window.folded / (double)window.samples,
	       (double)history_bytes(bench->history) / (1 << 20), (double)seconds.bytes / (1 << 20),
	       (seconds.end_ns - seconds.first_ns) / SECOND_NS, resident_mebibytes(),
	       bench->nr_epochs);
	fflush(stdout);
}

static void run(struct bench *bench, unsigned rate, unsigned nr_seconds)
{
	struct selection *selection = selection_new(bench->history);
	double most = 0;
	uint64_t sum_ns = 0, most_ns = 0;
	must(!selection, "selection");
	must(selection_set_seconds(selection, WINDOW_SECONDS), "window");
	for (unsigned second = 1; second <= nr_seconds; second++) {
		for (unsigned i = 0; i < rate; i++)
			add_sample(bench, second * SECOND_NS + SECOND_NS * i / rate);
		uint64_t start_ns = cpu_ns();
		must(selection_refresh(selection, second * SECOND_NS + SECOND_NS - 1), "refresh");
		uint64_t took_ns = cpu_ns() - start_ns;
		sum_ns += took_ns;
		most_ns = took_ns > most_ns ? took_ns : most_ns;
		double now = resident_mebibytes();
		most = now > most ? now : most;
		if (second % PRINT_SECONDS == 0 || second == 10 || second == 60)
			print(bench, selection, second);
	}
	printf("at most %.1f MiB; one refresh per second takes %.1f ms of CPU, at most %.1f ms\n",
	       most, (double)sum_ns / nr_seconds / 1e6, (double)most_ns / 1e6);
	selection_free(selection);
}

static unsigned argument(int argc, char **argv, int i, unsigned usual)
{
	return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
	unsigned mebibytes = argument(argc, argv, 1, DEFAULT_MEBIBYTES);
	struct bench bench = {.random = 88172645463325252u};
	bench.history = history_new();
	must(!bench.history, "history");
	history_set_limit(bench.history, (uint64_t)mebibytes << 20);
	history_keep_seconds(bench.history);
	open_epoch(&bench);
	printf("hour: bound of %u MiB\n", mebibytes);
	run(&bench, argument(argc, argv, 2, DEFAULT_RATE),
	    argument(argc, argv, 3, DEFAULT_SECONDS));
	history_free(bench.history);
	made_close(&bench.made);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A program that makes new stacks for ever, and a history that forgets: what it still shows is compared with every sample
 * that there was.
 */
#include <ctop/query/selection.h>

#include <errno.h>

#include "test.h"

/* A stack is a number: one of two functions for each of its bits, then the leaf. */
enum { DEPTH = 20, NR_STACKS = 1 << DEPTH, NR_CALLS = 2, HOT = 0xabcde };
enum { RATE = 200, HOT_EVERY = 4, SECONDS_MOST = 400, FIRST_SECOND = 1000, WINDOW = 3 };
enum { LIMIT_BYTES = 32 << 20 };
static const uint64_t SECOND_NS = 1000000000;

struct profile {
	bool uneven; /* weights differ; their mean is the same */
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct task_id task;
	struct frame_id calls[NR_CALLS], leaf;
	struct history *history;
	struct selection *selection;
	uint64_t random;

	uint32_t (*stacks)[RATE]; /* by second */
	uint32_t nr_seconds;
	uint32_t *wanted; /* by stack: samples that the window has */
};

/* ---- memory that runs out ---- */

void *__libc_calloc(size_t nr, size_t size);
static int nr_callocs_left = -1; /* < 0: no end of them */

#ifndef __SANITIZE_ADDRESS__
void *calloc(size_t nr, size_t size)
{
	if (nr_callocs_left == 0)
		return NULL;
	nr_callocs_left -= nr_callocs_left > 0;
	return __libc_calloc(nr, size);
}
#endif

/* ---- the program ---- */

static uint32_t random_stack(struct profile *profile)
{
	profile->random ^= profile->random << 13;
	profile->random ^= profile->random >> 7;
	profile->random ^= profile->random << 17;
	return (uint32_t)(profile->random % NR_STACKS);
}

static struct string_id string(struct profile *profile, const char *bytes)
{
	struct string_id id;
	CHECK_EQ(tables_add_string(profile->writer, bytes, strlen(bytes), &id), 0);
	return id;
}

static void add_frame(struct profile *profile, struct module_id module, uint64_t address,
		      const char *name, struct frame_id *frame)
{
	CHECK_EQ(tables_add_frame(profile->writer, module, address, frame), 0);
	CHECK_EQ(symbols_set(profile->namer, *frame, SYMBOL_NAMED, name, NULL, 4), 0);
}

static void open_profile(struct profile *profile)
{
	struct tables_capacity capacity = tables_capacity_default;
	struct event_row event = {0};
	struct module_id module;
	uint32_t id;
	*profile = (struct profile){.random = 88172645463325252u};
	capacity.nr[TABLE_NODES] = 1 << 21;
	CHECK_EQ(tables_map(&profile->tables, -1, &capacity, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &symbols_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->namer = symbols_writer_new(&profile->symbols);
	profile->history = history_new();
	profile->selection = selection_new(profile->history);
	profile->stacks = calloc(SECONDS_MOST, sizeof(*profile->stacks));
	profile->wanted = calloc(NR_STACKS, sizeof(*profile->wanted));
	CHECK(profile->writer && profile->namer && profile->selection && profile->stacks &&
	      profile->wanted);
	struct module_row row = {.path = string(profile, "/bin/program"), .kind = MODULE_FILE};
	CHECK_EQ(tables_add_module(profile->writer, &row, &module), 0);
	CHECK_EQ(tables_add_task(profile->writer, 1, 1, 0, string(profile, "program"),
				 &profile->task),
		 0);
	CHECK_EQ(tables_add_event(profile->writer, &event, &id), 0);
	add_frame(profile, module, 16, "even", &profile->calls[0]);
	add_frame(profile, module, 32, "odd", &profile->calls[1]);
	add_frame(profile, module, 48, "leaf", &profile->leaf);
	tables_publish(profile->writer);
	history_set_limit(profile->history, LIMIT_BYTES);
	history_keep_seconds(profile->history);
	CHECK_EQ(history_begin_epoch(profile->history, &profile->tables, &profile->symbols), 0);
}

static void close_profile(struct profile *profile)
{
	selection_free(profile->selection);
	history_free(profile->history);
	tables_writer_free(profile->writer);
	symbols_writer_free(profile->namer);
	tables_unmap(&profile->tables);
	symbols_unmap(&profile->symbols);
	free(profile->stacks);
	free(profile->wanted);
}

static uint64_t end_of(const struct profile *profile)
{
	return (FIRST_SECOND + profile->nr_seconds) * SECOND_NS - 1;
}

/* A second's samples: each fourth on the hot stack, the others on stacks that hardly come twice. */
static void run_second(struct profile *profile)
{
	uint32_t *stacks = profile->stacks[profile->nr_seconds];
	struct sample samples[RATE];
	for (uint64_t i = 0; i < RATE; i++) {
		struct node_id node = {0};
		stacks[i] = i % HOT_EVERY ? random_stack(profile) : HOT;
		for (int bit = 0; bit < DEPTH; bit++)
			CHECK_EQ(tables_add_node(profile->writer, node,
						 profile->calls[stacks[i] >> bit & 1], FRAME_CFI,
						 &node),
				 0);
		samples[i] = (struct sample){
			.time_ns = (FIRST_SECOND + profile->nr_seconds) * SECOND_NS + i,
			.weight = profile->uneven ? i % 2 ? 1 : 5 : 3,
			.task = profile->task,
			.node = node,
			.leaf = profile->leaf,
			.event = 1,
			.end = i % 2 ? STACK_COMPLETE : STACK_TRUNCATED,
		};
	}
	tables_publish(profile->writer);
	CHECK_EQ(history_import(profile->history, samples, RATE), 0);
	profile->nr_seconds++;
}

/* Takes in all that may be taken in ahead, part by part. */
static void advance(struct profile *profile)
{
	int result;
	while ((result = selection_advance(profile->selection)) > 0)
		;
	CHECK_EQ(result, 0);
}

static void run_seconds(struct profile *profile, int nr)
{
	for (int i = 0; i < nr; i++) {
		run_second(profile);
		/* The first takes in what was there at the refresh, the second what came since. */
		for (uint32_t times = profile->nr_seconds % 3; times; times--)
			advance(profile);
		CHECK_EQ(selection_refresh(profile->selection, end_of(profile)), 0);
	}
}

/* ---- what is to be seen ---- */

static bool is_function(const struct profile *profile, const struct history_frame *frame,
			const char *name)
{
	return !strcmp(history_function_name(profile->history, frame->function), name);
}

static int take_stack(void *context, const struct history_stack *stack)
{
	struct profile *profile = context;
	uint32_t bits = 0;
	CHECK_EQ(stack->nr_frames, DEPTH + 1);
	CHECK_EQ(stack->pid, 1);
	CHECK_STR(stack->comm, "program");
	for (int i = 0; i < DEPTH; i++) {
		bool odd = is_function(profile, &stack->frames[i], "odd");
		CHECK(odd || is_function(profile, &stack->frames[i], "even"));
		bits |= (uint32_t)odd << i;
	}
	CHECK(is_function(profile, &stack->frames[DEPTH], "leaf"));
	CHECK_EQ(stack->weight, 3 * stack->samples);
	CHECK(profile->wanted[bits] >= stack->samples);
	profile->wanted[bits] -= (uint32_t)stack->samples;
	return 0;
}

/* Every stack of these seconds is there, as often as it came, and no other. */
static void check_stacks(struct profile *profile, uint32_t from, uint32_t to)
{
	const struct selection_totals totals = selection_totals(profile->selection);
	memset(profile->wanted, 0, NR_STACKS * sizeof(*profile->wanted));
	for (uint32_t second = from; second < to; second++)
		for (int i = 0; i < RATE; i++)
			profile->wanted[profile->stacks[second][i]]++;
	CHECK_EQ(totals.samples, (to - from) * RATE);
	CHECK_EQ(totals.folded, 0);
	CHECK_EQ(selection_each_stack(profile->selection, take_stack, profile), 0);
	for (int i = 0; i < NR_STACKS; i++)
		CHECK_EQ(profile->wanted[i], 0);
}

static void check_totals(struct profile *profile)
{
	const struct history_totals totals = history_totals(profile->history);
	uint64_t samples = (uint64_t)profile->nr_seconds * RATE;
	CHECK_EQ(totals.samples, samples);
	CHECK_EQ(totals.weight, 3 * samples);
	CHECK_EQ(totals.ends[STACK_COMPLETE], samples / 2);
	CHECK_EQ(totals.ends[STACK_TRUNCATED], samples / 2);
	CHECK_EQ(totals.unsymbolized_frames, 0);
	CHECK(history_bytes(profile->history) <= LIMIT_BYTES);
}

static void set_seconds(struct profile *profile, uint32_t seconds)
{
	CHECK_EQ(selection_set_seconds(profile->selection, seconds), 0);
	CHECK_EQ(selection_refresh(profile->selection, end_of(profile)), 0);
}

static uint64_t nr_folded(struct profile *profile)
{
	return history_totals(profile->history).folded;
}

/* Until it has forgotten so often. */
static void run_until_forgotten(struct profile *profile, int times)
{
	uint64_t folded = nr_folded(profile);
	while (times) {
		CHECK(profile->nr_seconds < SECONDS_MOST);
		run_seconds(profile, 1);
		times -= nr_folded(profile) != folded;
		folded = nr_folded(profile);
	}
}

static struct selection_node child(struct profile *profile, uint64_t parent, const char *name)
{
	struct selection_nodes nodes = {0};
	struct selection_node found = {0};
	CHECK_EQ(selection_children(profile->selection, parent, SELECTION_BY_TOTAL, &nodes), 0);
	for (size_t i = 0; i < nodes.nr; i++)
		if (!strcmp(nodes.items[i].label ? nodes.items[i].label
						 : history_function_name(profile->history,
									 nodes.items[i].function),
			    name))
			found = nodes.items[i];
	free(nodes.items);
	CHECK(found.id);
	return found;
}

/* The hot stack's leaf in the tree. All of it is truncated: each fourth sample is an even one. */
static struct selection_node hot_leaf(struct profile *profile)
{
	struct selection_node node;
	CHECK_EQ(selection_root(profile->selection, SELECTION_TREE, (struct function_id){0}, &node),
		 0);
	node = child(profile, node.id, "[truncated]");
	for (int i = 0; i < DEPTH; i++)
		node = child(profile, node.id, HOT >> i & 1 ? "odd" : "even");
	return child(profile, node.id, "leaf");
}

/* ---- cases ---- */

static void the_window_stays_whole(void)
{
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(selection_set_seconds(profile.selection, WINDOW), 0);
	for (int i = 0; i < 12; i++) {
		run_until_forgotten(&profile, 1);
		check_totals(&profile);
		check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
		run_seconds(&profile, 1);
		check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	}
	set_seconds(&profile, WINDOW + 1);
	check_stacks(&profile, profile.nr_seconds - WINDOW - 1, profile.nr_seconds);
	close_profile(&profile);
}

static void all_since_the_start_adds_up(void)
{
	struct profile profile;
	open_profile(&profile);
	for (int i = 0; i < 6; i++) {
		run_until_forgotten(&profile, 1);
		const struct selection_totals totals = selection_totals(profile.selection);
		uint64_t samples = (uint64_t)profile.nr_seconds * RATE;
		CHECK_EQ(totals.samples, samples);
		CHECK_EQ(totals.weight, 3 * samples);
		CHECK_EQ(totals.ends[STACK_TRUNCATED], samples / 2);
		CHECK_EQ(totals.folded, nr_folded(&profile));
		/* The one that matters lost nothing. */
		CHECK(hot_leaf(&profile).cost.self >= samples / HOT_EVERY);
		CHECK(hot_leaf(&profile).cost.self < samples / HOT_EVERY + 10);
		check_totals(&profile);
	}
	/* By seconds as well, however many stacks they have left. */
	set_seconds(&profile, profile.nr_seconds);
	CHECK_EQ(selection_totals(profile.selection).samples, profile.nr_seconds * RATE);
	set_seconds(&profile, SELECTION_SINCE_START);
	CHECK_EQ(selection_totals(profile.selection).samples, profile.nr_seconds * RATE);
	close_profile(&profile);
}

/* How much samples are worth goes where they go. */
static void squares_outlive_what_is_forgotten(void)
{
	struct profile profile;
	open_profile(&profile);
	profile.uneven = true;
	for (int i = 0; i < 3; i++) {
		run_until_forgotten(&profile, 1);
		const struct selection_totals totals = selection_totals(profile.selection);
		double squares = 13 * (double)profile.nr_seconds * RATE;
		CHECK_EQ(totals.weight, 3 * (uint64_t)profile.nr_seconds * RATE);
		CHECK(history_squares(profile.history) > squares * 0.999999 &&
		      history_squares(profile.history) < squares * 1.000001);
		CHECK(totals.squares > squares * 0.999 && totals.squares < squares * 1.001);
	}
	close_profile(&profile);
}

static void rows_keep_their_identity(void)
{
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(selection_set_seconds(profile.selection, WINDOW), 0);
	run_seconds(&profile, WINDOW);
	const struct selection_node before = hot_leaf(&profile);
	struct selection_node parent;
	CHECK_EQ(selection_node(profile.selection, before.parent, &parent), 0);
	const struct selection_criterion subtree = {.what = SELECTION_SUBTREE, .id = parent.parent};
	run_until_forgotten(&profile, 2);
	const struct selection_node after = hot_leaf(&profile);
	CHECK(after.id == before.id);
	CHECK_EQ(after.function.index, before.function.index);
	/* A filter by path outlives forgetting, too. */
	CHECK_EQ(selection_set_filter(profile.selection, &subtree, 1), 0);
	run_until_forgotten(&profile, 2);
	CHECK_EQ(selection_set_filter(profile.selection, &subtree, 1), 0);
	CHECK_EQ(
		selection_root(profile.selection, SELECTION_TREE, (struct function_id){0}, &parent),
		0);
	CHECK(parent.id == subtree.id);
	CHECK(parent.cost.total >= WINDOW * RATE / HOT_EVERY);
	CHECK(selection_totals(profile.selection).samples < 2 * WINDOW * RATE / HOT_EVERY);
	CHECK_EQ(selection_totals(profile.selection).all_samples, WINDOW * RATE);
	close_profile(&profile);
}

static void processes_keep_their_stacks(void)
{
	struct profile profile;
	struct selection_nodes processes = {0};
	struct selection_node root;
	open_profile(&profile);
	CHECK_EQ(selection_set_seconds(profile.selection, WINDOW), 0);
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	for (int i = 0; i < 3; i++) {
		run_until_forgotten(&profile, 1);
		run_seconds(&profile, 1);
		CHECK_EQ(selection_root(profile.selection, SELECTION_TREE, (struct function_id){0},
					&root),
			 0);
		processes.nr = 0;
		CHECK_EQ(selection_children(profile.selection, root.id, SELECTION_BY_TOTAL,
					    &processes),
			 0);
		CHECK_EQ(processes.nr, 1);
		CHECK_EQ(processes.items[0].pid, 1);
		CHECK_STR(processes.items[0].comm, "program");
		CHECK_EQ(processes.items[0].cost.total, WINDOW * RATE);
		struct selection_node node = child(&profile, processes.items[0].id, "[truncated]");
		for (int bit = 0; bit < DEPTH; bit++)
			node = child(&profile, node.id, HOT >> bit & 1 ? "odd" : "even");
		CHECK(node.cost.total >= WINDOW * RATE / HOT_EVERY);
		check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	}
	/* And back. */
	CHECK_EQ(selection_set_by_process(profile.selection, false), 0);
	run_until_forgotten(&profile, 1);
	CHECK(hot_leaf(&profile).cost.self >= WINDOW * RATE / HOT_EVERY);
	check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	free(processes.items);
	close_profile(&profile);
}

static void a_pause_holds(void)
{
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(selection_set_seconds(profile.selection, WINDOW), 0);
	run_until_forgotten(&profile, 1);
	uint32_t paused = profile.nr_seconds;
	uint64_t end_ns = end_of(&profile), folded = nr_folded(&profile);
	for (int times = 0; times < 4; folded = nr_folded(&profile)) {
		run_second(&profile);
		CHECK_EQ(selection_refresh(profile.selection, end_ns), 0);
		times += nr_folded(&profile) != folded;
	}
	check_stacks(&profile, paused - WINDOW, paused);
	CHECK_EQ(selection_refresh(profile.selection, end_of(&profile)), 0);
	check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	close_profile(&profile);
}

static void a_restart_gives_memory_back(void)
{
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(selection_set_seconds(profile.selection, WINDOW), 0);
	uint64_t empty = history_bytes(profile.history);
	run_until_forgotten(&profile, 2);
	uint64_t folded = nr_folded(&profile);
	CHECK(history_bytes(profile.history) > LIMIT_BYTES / 4);
	CHECK_EQ(selection_restart(profile.selection), 0);
	CHECK_EQ(selection_refresh(profile.selection, end_of(&profile)), 0);
	/* What is left is how the epoch's rows are translated, 4 bytes each at most twice. */
	CHECK(history_bytes(profile.history) <
	      empty + 12 * (uint64_t)RATE * DEPTH * profile.nr_seconds);
	CHECK_EQ(selection_totals(profile.selection).all_samples, 0);
	CHECK_EQ(history_seconds(profile.history).nr, 0);
	CHECK_EQ(nr_folded(&profile), folded); /* it was not for want of room */
	check_totals(&profile);
	set_seconds(&profile, SELECTION_SINCE_START);
	CHECK_EQ(selection_totals(profile.selection).all_samples, 0);

	uint32_t from = profile.nr_seconds;
	run_seconds(&profile, WINDOW - 1);
	check_stacks(&profile, from, profile.nr_seconds);
	CHECK_EQ(hot_leaf(&profile).cost.self, (WINDOW - 1) * RATE / HOT_EVERY);
	set_seconds(&profile, WINDOW);
	check_stacks(&profile, from, profile.nr_seconds);
	run_until_forgotten(&profile, 2);
	check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	check_totals(&profile);
	close_profile(&profile);
}

/* What is held stays, and forgetting is made up for when there is memory again. */
static void without_memory_nothing_is_lost(void)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer's own calloc() always has memory");
#endif
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(selection_set_seconds(profile.selection, WINDOW), 0);
	run_until_forgotten(&profile, 1);
	for (int nr = 0; nr < 9; nr++) {
		/* Long enough to be full, where forgetting fails at the next allocation. */
		for (int i = 0; i < 20; i++) {
			run_second(&profile);
			nr_callocs_left = nr;
			int result = selection_refresh(profile.selection, end_of(&profile));
			nr_callocs_left = -1;
			CHECK(result == 0 || result == -ENOMEM);
			check_totals(&profile);
		}
		CHECK_EQ(selection_refresh(profile.selection, end_of(&profile)), 0);
		CHECK_EQ(selection_totals(profile.selection).samples, WINDOW * RATE);
		run_seconds(&profile, WINDOW + 1);
		check_totals(&profile);
		check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	}
	for (int nr = 0, result = -ENOMEM; result; nr++) {
		nr_callocs_left = nr;
		result = selection_restart(profile.selection);
		nr_callocs_left = -1;
		CHECK_EQ(selection_refresh(profile.selection, end_of(&profile)), 0);
		if (result)
			check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
		CHECK(nr < 20);
	}
	CHECK_EQ(selection_totals(profile.selection).all_samples, 0);
	check_totals(&profile);
	close_profile(&profile);
}

/* Rows are not renumbered under others that look at them. */
static void two_slices_keep_all_that_there_is(void)
{
	struct profile profile;
	open_profile(&profile);
	struct selection *other = selection_new(profile.history);
	CHECK(other);
	while (!nr_folded(&profile)) {
		CHECK(profile.nr_seconds < SECONDS_MOST);
		run_seconds(&profile, 1);
		CHECK_EQ(selection_refresh(other, end_of(&profile)), 0);
	}
	run_seconds(&profile, 10);
	/* All that came since lies below what was known: nothing of that has gone. */
	CHECK(selection_totals(other).samples <= selection_totals(profile.selection).samples);
	CHECK_EQ(hot_leaf(&profile).cost.self, (profile.nr_seconds * RATE) / HOT_EVERY);
	CHECK_EQ(selection_totals(profile.selection).samples, profile.nr_seconds * RATE);
	selection_free(other);
	run_until_forgotten(&profile, 3);
	set_seconds(&profile, WINDOW);
	check_stacks(&profile, profile.nr_seconds - WINDOW, profile.nr_seconds);
	close_profile(&profile);
}

int main(void)
{
	RUN(the_window_stays_whole);
	RUN(all_since_the_start_adds_up);
	RUN(squares_outlive_what_is_forgotten);
	RUN(rows_keep_their_identity);
	RUN(processes_keep_their_stacks);
	RUN(a_pause_holds);
	RUN(a_restart_gives_memory_back);
	RUN(without_memory_nothing_is_lost);
	RUN(two_slices_keep_all_that_there_is);
	return test_done();
}

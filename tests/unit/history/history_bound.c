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

struct world {
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

static uint32_t random_stack(struct world *world)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return (uint32_t)(world->random % NR_STACKS);
}

static struct string_id string(struct world *world, const char *bytes)
{
	struct string_id id;
	CHECK_EQ(tables_add_string(world->writer, bytes, strlen(bytes), &id), 0);
	return id;
}

static void add_frame(struct world *world, struct module_id module, uint64_t address,
		      const char *name, struct frame_id *frame)
{
	CHECK_EQ(tables_add_frame(world->writer, module, address, frame), 0);
	CHECK_EQ(symbols_set(world->namer, *frame, SYMBOL_NAMED, name, NULL, 4), 0);
}

static void open_world(struct world *world)
{
	struct tables_capacity capacity = tables_capacity_default;
	struct event_row event = {0};
	struct module_id module;
	uint32_t id;
	*world = (struct world){.random = 88172645463325252u};
	capacity.nr[TABLE_NODES] = 1 << 21;
	CHECK_EQ(tables_map(&world->tables, -1, &capacity, true), 0);
	CHECK_EQ(symbols_map(&world->symbols, -1, &symbols_capacity_default, true), 0);
	world->writer = tables_writer_new(&world->tables);
	world->namer = symbols_writer_new(&world->symbols);
	world->history = history_new();
	world->selection = selection_new(world->history);
	world->stacks = calloc(SECONDS_MOST, sizeof(*world->stacks));
	world->wanted = calloc(NR_STACKS, sizeof(*world->wanted));
	CHECK(world->writer && world->namer && world->selection && world->stacks && world->wanted);
	struct module_row row = {.path = string(world, "/bin/program"), .kind = MODULE_FILE};
	CHECK_EQ(tables_add_module(world->writer, &row, &module), 0);
	CHECK_EQ(tables_add_task(world->writer, 1, 1, 0, string(world, "program"), &world->task),
		 0);
	CHECK_EQ(tables_add_event(world->writer, &event, &id), 0);
	add_frame(world, module, 16, "even", &world->calls[0]);
	add_frame(world, module, 32, "odd", &world->calls[1]);
	add_frame(world, module, 48, "leaf", &world->leaf);
	tables_publish(world->writer);
	history_set_limit(world->history, LIMIT_BYTES);
	history_keep_seconds(world->history);
	CHECK_EQ(history_begin_epoch(world->history, &world->tables, &world->symbols), 0);
}

static void close_world(struct world *world)
{
	selection_free(world->selection);
	history_free(world->history);
	tables_writer_free(world->writer);
	symbols_writer_free(world->namer);
	tables_unmap(&world->tables);
	symbols_unmap(&world->symbols);
	free(world->stacks);
	free(world->wanted);
}

static uint64_t end_of(const struct world *world)
{
	return (FIRST_SECOND + world->nr_seconds) * SECOND_NS - 1;
}

/* A second's samples: each fourth on the hot stack, the others on stacks that hardly come twice. */
static void run_second(struct world *world)
{
	uint32_t *stacks = world->stacks[world->nr_seconds];
	struct sample samples[RATE];
	for (uint64_t i = 0; i < RATE; i++) {
		struct node_id node = {0};
		stacks[i] = i % HOT_EVERY ? random_stack(world) : HOT;
		for (int bit = 0; bit < DEPTH; bit++)
			CHECK_EQ(tables_add_node(world->writer, node,
						 world->calls[stacks[i] >> bit & 1], FRAME_CFI,
						 &node),
				 0);
		samples[i] = (struct sample){
			.time_ns = (FIRST_SECOND + world->nr_seconds) * SECOND_NS + i,
			.weight = world->uneven ? i % 2 ? 1 : 5 : 3,
			.task = world->task,
			.node = node,
			.leaf = world->leaf,
			.event = 1,
			.end = i % 2 ? STACK_COMPLETE : STACK_TRUNCATED,
		};
	}
	tables_publish(world->writer);
	CHECK_EQ(history_import(world->history, samples, RATE), 0);
	world->nr_seconds++;
}

static void run_seconds(struct world *world, int nr)
{
	for (int i = 0; i < nr; i++) {
		run_second(world);
		/* The first takes in what was there at the refresh, the second what came since. */
		for (uint32_t times = world->nr_seconds % 3; times; times--)
			CHECK_EQ(selection_advance(world->selection), 0);
		CHECK_EQ(selection_refresh(world->selection, end_of(world)), 0);
	}
}

/* ---- what is to be seen ---- */

static bool is_function(const struct world *world, const struct history_frame *frame,
			const char *name)
{
	return !strcmp(history_function_name(world->history, frame->function), name);
}

static int take_stack(void *context, const struct history_stack *stack)
{
	struct world *world = context;
	uint32_t bits = 0;
	CHECK_EQ(stack->nr_frames, DEPTH + 1);
	CHECK_EQ(stack->pid, 1);
	CHECK_STR(stack->comm, "program");
	for (int i = 0; i < DEPTH; i++) {
		bool odd = is_function(world, &stack->frames[i], "odd");
		CHECK(odd || is_function(world, &stack->frames[i], "even"));
		bits |= (uint32_t)odd << i;
	}
	CHECK(is_function(world, &stack->frames[DEPTH], "leaf"));
	CHECK_EQ(stack->weight, 3 * stack->samples);
	CHECK(world->wanted[bits] >= stack->samples);
	world->wanted[bits] -= (uint32_t)stack->samples;
	return 0;
}

/* Every stack of these seconds is there, as often as it came, and no other. */
static void check_stacks(struct world *world, uint32_t from, uint32_t to)
{
	const struct selection_totals totals = selection_totals(world->selection);
	memset(world->wanted, 0, NR_STACKS * sizeof(*world->wanted));
	for (uint32_t second = from; second < to; second++)
		for (int i = 0; i < RATE; i++)
			world->wanted[world->stacks[second][i]]++;
	CHECK_EQ(totals.samples, (to - from) * RATE);
	CHECK_EQ(totals.folded, 0);
	CHECK_EQ(selection_each_stack(world->selection, take_stack, world), 0);
	for (int i = 0; i < NR_STACKS; i++)
		CHECK_EQ(world->wanted[i], 0);
}

static void check_totals(struct world *world)
{
	const struct history_totals totals = history_totals(world->history);
	uint64_t samples = (uint64_t)world->nr_seconds * RATE;
	CHECK_EQ(totals.samples, samples);
	CHECK_EQ(totals.weight, 3 * samples);
	CHECK_EQ(totals.ends[STACK_COMPLETE], samples / 2);
	CHECK_EQ(totals.ends[STACK_TRUNCATED], samples / 2);
	CHECK_EQ(totals.unsymbolized_frames, 0);
	CHECK(history_bytes(world->history) <= LIMIT_BYTES);
}

static void set_seconds(struct world *world, uint32_t seconds)
{
	CHECK_EQ(selection_set_seconds(world->selection, seconds), 0);
	CHECK_EQ(selection_refresh(world->selection, end_of(world)), 0);
}

static uint64_t nr_folded(struct world *world)
{
	return history_totals(world->history).folded;
}

/* Until it has forgotten so often. */
static void run_until_forgotten(struct world *world, int times)
{
	uint64_t folded = nr_folded(world);
	while (times) {
		CHECK(world->nr_seconds < SECONDS_MOST);
		run_seconds(world, 1);
		times -= nr_folded(world) != folded;
		folded = nr_folded(world);
	}
}

static struct selection_node child(struct world *world, uint64_t parent, const char *name)
{
	struct selection_nodes nodes = {0};
	struct selection_node found = {0};
	CHECK_EQ(selection_children(world->selection, parent, SELECTION_BY_TOTAL, &nodes), 0);
	for (size_t i = 0; i < nodes.nr; i++)
		if (!strcmp(nodes.items[i].label ? nodes.items[i].label
						 : history_function_name(world->history,
									 nodes.items[i].function),
			    name))
			found = nodes.items[i];
	free(nodes.items);
	CHECK(found.id);
	return found;
}

/* The hot stack's leaf in the tree. All of it is truncated: each fourth sample is an even one. */
static struct selection_node hot_leaf(struct world *world)
{
	struct selection_node node;
	CHECK_EQ(selection_root(world->selection, SELECTION_TREE, (struct function_id){0}, &node),
		 0);
	node = child(world, node.id, "[truncated]");
	for (int i = 0; i < DEPTH; i++)
		node = child(world, node.id, HOT >> i & 1 ? "odd" : "even");
	return child(world, node.id, "leaf");
}

/* ---- cases ---- */

static void the_window_stays_whole(void)
{
	struct world world;
	open_world(&world);
	CHECK_EQ(selection_set_seconds(world.selection, WINDOW), 0);
	for (int i = 0; i < 12; i++) {
		run_until_forgotten(&world, 1);
		check_totals(&world);
		check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
		run_seconds(&world, 1);
		check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	}
	set_seconds(&world, WINDOW + 1);
	check_stacks(&world, world.nr_seconds - WINDOW - 1, world.nr_seconds);
	close_world(&world);
}

static void all_since_the_start_adds_up(void)
{
	struct world world;
	open_world(&world);
	for (int i = 0; i < 6; i++) {
		run_until_forgotten(&world, 1);
		const struct selection_totals totals = selection_totals(world.selection);
		uint64_t samples = (uint64_t)world.nr_seconds * RATE;
		CHECK_EQ(totals.samples, samples);
		CHECK_EQ(totals.weight, 3 * samples);
		CHECK_EQ(totals.ends[STACK_TRUNCATED], samples / 2);
		CHECK_EQ(totals.folded, nr_folded(&world));
		/* The one that matters lost nothing. */
		CHECK(hot_leaf(&world).cost.self >= samples / HOT_EVERY);
		CHECK(hot_leaf(&world).cost.self < samples / HOT_EVERY + 10);
		check_totals(&world);
	}
	/* By seconds as well, however many stacks they have left. */
	set_seconds(&world, world.nr_seconds);
	CHECK_EQ(selection_totals(world.selection).samples, world.nr_seconds * RATE);
	set_seconds(&world, SELECTION_SINCE_START);
	CHECK_EQ(selection_totals(world.selection).samples, world.nr_seconds * RATE);
	close_world(&world);
}

/* How much samples are worth goes where they go. */
static void squares_outlive_what_is_forgotten(void)
{
	struct world world;
	open_world(&world);
	world.uneven = true;
	for (int i = 0; i < 3; i++) {
		run_until_forgotten(&world, 1);
		const struct selection_totals totals = selection_totals(world.selection);
		double squares = 13 * (double)world.nr_seconds * RATE;
		CHECK_EQ(totals.weight, 3 * (uint64_t)world.nr_seconds * RATE);
		CHECK(history_squares(world.history) > squares * 0.999999 &&
		      history_squares(world.history) < squares * 1.000001);
		CHECK(totals.squares > squares * 0.999 && totals.squares < squares * 1.001);
	}
	close_world(&world);
}

static void rows_keep_their_identity(void)
{
	struct world world;
	open_world(&world);
	CHECK_EQ(selection_set_seconds(world.selection, WINDOW), 0);
	run_seconds(&world, WINDOW);
	const struct selection_node before = hot_leaf(&world);
	struct selection_node parent;
	CHECK_EQ(selection_node(world.selection, before.parent, &parent), 0);
	const struct selection_criterion subtree = {.what = SELECTION_SUBTREE, .id = parent.parent};
	run_until_forgotten(&world, 2);
	const struct selection_node after = hot_leaf(&world);
	CHECK(after.id == before.id);
	CHECK_EQ(after.function.index, before.function.index);
	/* A filter by path outlives forgetting, too. */
	CHECK_EQ(selection_set_filter(world.selection, &subtree, 1), 0);
	run_until_forgotten(&world, 2);
	CHECK_EQ(selection_set_filter(world.selection, &subtree, 1), 0);
	CHECK_EQ(selection_root(world.selection, SELECTION_TREE, (struct function_id){0}, &parent),
		 0);
	CHECK(parent.id == subtree.id);
	CHECK(parent.cost.total >= WINDOW * RATE / HOT_EVERY);
	CHECK(selection_totals(world.selection).samples < 2 * WINDOW * RATE / HOT_EVERY);
	CHECK_EQ(selection_totals(world.selection).all_samples, WINDOW * RATE);
	close_world(&world);
}

static void processes_keep_their_stacks(void)
{
	struct world world;
	struct selection_nodes processes = {0};
	struct selection_node root;
	open_world(&world);
	CHECK_EQ(selection_set_seconds(world.selection, WINDOW), 0);
	CHECK_EQ(selection_set_by_process(world.selection, true), 0);
	for (int i = 0; i < 3; i++) {
		run_until_forgotten(&world, 1);
		run_seconds(&world, 1);
		CHECK_EQ(selection_root(world.selection, SELECTION_TREE, (struct function_id){0},
					&root),
			 0);
		processes.nr = 0;
		CHECK_EQ(selection_children(world.selection, root.id, SELECTION_BY_TOTAL,
					    &processes),
			 0);
		CHECK_EQ(processes.nr, 1);
		CHECK_EQ(processes.items[0].pid, 1);
		CHECK_STR(processes.items[0].comm, "program");
		CHECK_EQ(processes.items[0].cost.total, WINDOW * RATE);
		struct selection_node node = child(&world, processes.items[0].id, "[truncated]");
		for (int bit = 0; bit < DEPTH; bit++)
			node = child(&world, node.id, HOT >> bit & 1 ? "odd" : "even");
		CHECK(node.cost.total >= WINDOW * RATE / HOT_EVERY);
		check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	}
	/* And back. */
	CHECK_EQ(selection_set_by_process(world.selection, false), 0);
	run_until_forgotten(&world, 1);
	CHECK(hot_leaf(&world).cost.self >= WINDOW * RATE / HOT_EVERY);
	check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	free(processes.items);
	close_world(&world);
}

static void a_pause_holds(void)
{
	struct world world;
	open_world(&world);
	CHECK_EQ(selection_set_seconds(world.selection, WINDOW), 0);
	run_until_forgotten(&world, 1);
	uint32_t paused = world.nr_seconds;
	uint64_t end_ns = end_of(&world), folded = nr_folded(&world);
	for (int times = 0; times < 4; folded = nr_folded(&world)) {
		run_second(&world);
		CHECK_EQ(selection_refresh(world.selection, end_ns), 0);
		times += nr_folded(&world) != folded;
	}
	check_stacks(&world, paused - WINDOW, paused);
	CHECK_EQ(selection_refresh(world.selection, end_of(&world)), 0);
	check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	close_world(&world);
}

static void a_restart_gives_memory_back(void)
{
	struct world world;
	open_world(&world);
	CHECK_EQ(selection_set_seconds(world.selection, WINDOW), 0);
	uint64_t empty = history_bytes(world.history);
	run_until_forgotten(&world, 2);
	uint64_t folded = nr_folded(&world);
	CHECK(history_bytes(world.history) > LIMIT_BYTES / 4);
	CHECK_EQ(selection_restart(world.selection), 0);
	CHECK_EQ(selection_refresh(world.selection, end_of(&world)), 0);
	/* What is left is how the epoch's rows are translated, 4 bytes each at most twice. */
	CHECK(history_bytes(world.history) <
	      empty + 12 * (uint64_t)RATE * DEPTH * world.nr_seconds);
	CHECK_EQ(selection_totals(world.selection).all_samples, 0);
	CHECK_EQ(history_seconds(world.history).nr, 0);
	CHECK_EQ(nr_folded(&world), folded); /* it was not for want of room */
	check_totals(&world);
	set_seconds(&world, SELECTION_SINCE_START);
	CHECK_EQ(selection_totals(world.selection).all_samples, 0);

	uint32_t from = world.nr_seconds;
	run_seconds(&world, WINDOW - 1);
	check_stacks(&world, from, world.nr_seconds);
	CHECK_EQ(hot_leaf(&world).cost.self, (WINDOW - 1) * RATE / HOT_EVERY);
	set_seconds(&world, WINDOW);
	check_stacks(&world, from, world.nr_seconds);
	run_until_forgotten(&world, 2);
	check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	check_totals(&world);
	close_world(&world);
}

/* What is held stays, and forgetting is made up for when there is memory again. */
static void without_memory_nothing_is_lost(void)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer's own calloc() always has memory");
#endif
	struct world world;
	open_world(&world);
	CHECK_EQ(selection_set_seconds(world.selection, WINDOW), 0);
	run_until_forgotten(&world, 1);
	for (int nr = 0; nr < 9; nr++) {
		/* Long enough to be full, where forgetting fails at the next allocation. */
		for (int i = 0; i < 20; i++) {
			run_second(&world);
			nr_callocs_left = nr;
			int result = selection_refresh(world.selection, end_of(&world));
			nr_callocs_left = -1;
			CHECK(result == 0 || result == -ENOMEM);
			check_totals(&world);
		}
		CHECK_EQ(selection_refresh(world.selection, end_of(&world)), 0);
		CHECK_EQ(selection_totals(world.selection).samples, WINDOW * RATE);
		run_seconds(&world, WINDOW + 1);
		check_totals(&world);
		check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	}
	for (int nr = 0, result = -ENOMEM; result; nr++) {
		nr_callocs_left = nr;
		result = selection_restart(world.selection);
		nr_callocs_left = -1;
		CHECK_EQ(selection_refresh(world.selection, end_of(&world)), 0);
		if (result)
			check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
		CHECK(nr < 20);
	}
	CHECK_EQ(selection_totals(world.selection).all_samples, 0);
	check_totals(&world);
	close_world(&world);
}

/* Rows are not renumbered under others that look at them. */
static void two_slices_keep_all_that_there_is(void)
{
	struct world world;
	open_world(&world);
	struct selection *other = selection_new(world.history);
	CHECK(other);
	while (!nr_folded(&world)) {
		CHECK(world.nr_seconds < SECONDS_MOST);
		run_seconds(&world, 1);
		CHECK_EQ(selection_refresh(other, end_of(&world)), 0);
	}
	run_seconds(&world, 10);
	/* All that came since lies below what was known: nothing of that has gone. */
	CHECK(selection_totals(other).samples <= selection_totals(world.selection).samples);
	CHECK_EQ(hot_leaf(&world).cost.self, (world.nr_seconds * RATE) / HOT_EVERY);
	CHECK_EQ(selection_totals(world.selection).samples, world.nr_seconds * RATE);
	selection_free(other);
	run_until_forgotten(&world, 3);
	set_seconds(&world, WINDOW);
	check_stacks(&world, world.nr_seconds - WINDOW, world.nr_seconds);
	close_world(&world);
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

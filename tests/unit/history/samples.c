/* SPDX-License-Identifier: MIT */
#include <ctop/history/slices.h>
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include "test.h"

enum { MOST = 1 << 17 };

/* Two events, two threads, a program and the kernel; samples at the times a test wants. */
struct profile {
	struct tables tables;
	struct tables_writer *writer;
	struct history *history;
	struct task_id tasks[2];
	struct frame_id leaves[2]; /* in the program, in the kernel */
	struct node_id callers;
	uint32_t events[2];
};

static struct string_id string_of(struct profile *profile, const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(profile->writer, string, strlen(string), &id), 0);
	return id;
}

static struct frame_id frame_in(struct profile *profile, enum module_kind kind, const char *path)
{
	const struct module_row row = {.kind = kind, .path = string_of(profile, path)};
	struct module_id module = {0};
	struct frame_id frame = {0};
	CHECK_EQ(tables_add_module(profile->writer, &row, &module), 0);
	CHECK_EQ(tables_add_frame(profile->writer, module, 0x1000, &frame), 0);
	return frame;
}

/* The rows of an epoch; the second event has a name that nothing is sampled under in most tests. */
static void begin_epoch(struct profile *profile)
{
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	CHECK(profile->writer != NULL);
	static const char *const names[] = {"cpu-clock", "page-faults"};
	for (int i = 0; i < 2; i++) {
		const struct event_row row = {.name = string_of(profile, names[i]),
					      .asked = string_of(profile, names[i])};
		CHECK_EQ(tables_add_event(profile->writer, &row, &profile->events[i]), 0);
		CHECK_EQ(tables_add_task(profile->writer, 10, 10 + i, 0,
					 string_of(profile, i ? "two" : "one"), &profile->tasks[i]),
			 0);
	}
	profile->leaves[0] = frame_in(profile, MODULE_FILE, "/bin/program");
	profile->leaves[1] = frame_in(profile, MODULE_KERNEL, "[kernel]");
	CHECK_EQ(tables_add_node(profile->writer, (struct node_id){0}, profile->leaves[0],
				 FRAME_CFI, &profile->callers),
		 0);
	tables_publish(profile->writer);
	CHECK_EQ(history_begin_epoch(profile->history, &profile->tables, NULL), 0);
}

static void end_epoch(struct profile *profile)
{
	tables_writer_free(profile->writer);
	profile->writer = NULL;
}

static void add(struct profile *profile, uint64_t time_ns, int which, int event)
{
	const struct sample sample = {
		.time_ns = time_ns,
		.weight = time_ns * 3,
		.task = profile->tasks[which],
		.node = profile->callers,
		.leaf = profile->leaves[which],
		.cpu = (uint16_t)(which + 4),
		.event = (uint8_t)profile->events[event],
		.end = STACK_COMPLETE,
	};
	CHECK_EQ(history_import(profile->history, &sample, 1), 0);
}

struct seen {
	const struct history *history;
	uint64_t times[4096];
	size_t nr, stop_at;
};

static int look(void *context, const struct history_sample *sample)
{
	struct seen *seen = context;
	const struct history_stack *stack = &sample->stack;
	int which = stack->tid - 10;
	CHECK(which == 0 || which == 1);
	CHECK_EQ(stack->pid, 10);
	CHECK_EQ(sample->cpu, (uint32_t)which + 4);
	CHECK_STR(stack->comm, which ? "two" : "one");
	CHECK_EQ(stack->samples, 1);
	CHECK_EQ(stack->weight, sample->time_ns * 3);
	CHECK_EQ(stack->nr_frames, 2);
	CHECK_EQ(stack->frames[0].address, 0x1000);
	CHECK_EQ(history_function_kernel(seen->history, stack->frames[1].function), which == 1);
	CHECK_EQ(stack->frames[1].method, which ? FRAME_KERNEL : FRAME_LEAF);
	if (seen->stop_at && seen->nr == seen->stop_at)
		return 7;
	CHECK(seen->nr < 4096);
	seen->times[seen->nr++] = sample->time_ns;
	return 0;
}

struct times {
	uint64_t last, nr, nr_backwards, stop_at;
};

static int count_time(void *context, const struct history_sample *sample)
{
	struct times *times = context;
	times->nr_backwards += sample->time_ns < times->last;
	times->last = sample->time_ns;
	times->nr += sample->stack.samples;
	return times->stop_at && times->nr == times->stop_at ? -EPIPE : 0;
}

static void begin(struct profile *profile)
{
	*profile = (struct profile){.history = history_new()};
	CHECK(profile->history != NULL);
	history_keep_samples(profile->history, MOST);
	begin_epoch(profile);
}

static void end(struct profile *profile)
{
	history_free(profile->history);
	end_epoch(profile);
	tables_unmap(&profile->tables);
}

static void one_by_one_in_the_order_of_time(void)
{
	struct profile profile;
	begin(&profile);
	/* In order, equal, late, the very first last. */
	static const uint64_t times[] = {50, 60, 60, 55, 90, 70, 10};
	enum { NR = sizeof(times) / sizeof(times[0]) };
	for (int i = 0; i < NR; i++)
		add(&profile, times[i], i % 2, 0);
	static const uint64_t expected[] = {10, 50, 55, 60, 60, 70, 90};
	struct seen seen = {.history = profile.history};
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, look, &seen), 0);
	CHECK_EQ(seen.nr, NR);
	for (int i = 0; i < NR; i++)
		CHECK_EQ(seen.times[i], expected[i]);

	/* A selection holds its beginning and not its end; selections side by side hold all. */
	seen.nr = 0;
	CHECK_EQ(history_each_sample(profile.history, 55, 70, look, &seen), 0);
	CHECK_EQ(seen.nr, 3);
	CHECK_EQ(history_each_sample(profile.history, 0, 55, look, &seen), 0);
	CHECK_EQ(history_each_sample(profile.history, 70, UINT64_MAX, look, &seen), 0);
	CHECK_EQ(seen.nr, NR);
	seen.nr = 0;
	CHECK_EQ(history_each_sample(profile.history, 91, UINT64_MAX, look, &seen), 0);
	CHECK_EQ(history_each_sample(profile.history, 60, 60, look, &seen), 0);
	CHECK_EQ(history_each_sample(profile.history, 70, 50, look, &seen), 0);
	CHECK_EQ(seen.nr, 0);

	seen = (struct seen){.history = profile.history, .stop_at = 2};
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, look, &seen), 7);
	CHECK_EQ(seen.nr, 2);
	end(&profile);
}

/* A source without any order: each later sample is earlier than all before it. */
static void backwards(void)
{
	enum { NR = 3000 };
	struct profile profile;
	begin(&profile);
	for (int i = 0; i < NR; i++)
		add(&profile, (uint64_t)(NR - i), i % 2, 0);
	struct seen *seen = calloc(1, sizeof(*seen));
	CHECK(seen != NULL);
	seen->history = profile.history;
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, look, seen), 0);
	CHECK_EQ(seen->nr, NR);
	for (uint64_t i = 0; i < NR; i++)
		CHECK_EQ(seen->times[i], i + 1);
	/* More may come after the first look. */
	add(&profile, 1, 0, 0);
	seen->nr = 0;
	CHECK_EQ(history_each_sample(profile.history, 1, 3, look, seen), 0);
	CHECK_EQ(seen->nr, 3);
	free(seen);
	end(&profile);
}

static void only_what_passes_the_filter_is_kept(void)
{
	struct profile profile;
	begin(&profile);
	const struct history_filter filter = {.user_only = true, .first_event = true};
	history_set_filter(profile.history, &filter);
	add(&profile, 5, 0, 1); /* the other event, which is sampled first */
	for (int i = 0; i < 10; i++)
		add(&profile, 10 + (uint64_t)i, i % 2, 0);
	struct seen seen = {.history = profile.history};
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, look, &seen), 0);
	CHECK_EQ(seen.nr, 5);
	CHECK_EQ(history_totals(profile.history).samples, 5);

	/* What was asked first is first, whoever was sampled first; what did not pass can be named. */
	CHECK_EQ(history_nr_events(profile.history), 2);
	CHECK_STR(history_event_name(profile.history, 0), "cpu-clock");
	CHECK_EQ(history_event_samples(profile.history, 0), 10);
	CHECK_EQ(history_event_samples(profile.history, 1), 1);
	const char *names[4];
	CHECK_EQ(history_names(profile.history, HISTORY_MODULES, names, 4), 2);
	CHECK_STR(names[0], "/bin/program");
	CHECK_STR(names[1], "[kernel]");
	CHECK_EQ(history_names(profile.history, HISTORY_COMMS, names, 1), 1);
	CHECK_STR(names[0], "one");
	CHECK_EQ(history_names(profile.history, HISTORY_COMMS, names, 4), 2);
	end(&profile);
}

static void a_selection_shows_those_that_pass(void)
{
	const struct selection_criterion thread = {.what = SELECTION_THREAD, .number = 11};
	struct profile profile;
	begin(&profile);
	for (uint64_t i = 0; i < 10; i++)
		add(&profile, 50 - i, i % 2, 0);
	struct selection *selection = selection_of_all(profile.history);
	CHECK(selection);
	add(&profile, 100, 1, 1); /* a new stack, after the refresh */
	struct seen seen = {.history = profile.history};
	CHECK_EQ(selection_each_sample(selection, look, &seen), 0);
	CHECK_EQ(seen.nr, 10);
	for (uint64_t i = 0; i < seen.nr; i++)
		CHECK_EQ(seen.times[i], 41 + i);
	CHECK_EQ(selection_set_filter(selection, &thread, 1), 0);
	CHECK_EQ(selection_refresh(selection, UINT64_MAX), 0);
	seen.nr = 0;
	CHECK_EQ(selection_each_sample(selection, look, &seen), 0);
	CHECK_EQ(seen.nr, 6);
	for (uint64_t i = 0; i < 5; i++)
		CHECK_EQ(seen.times[i], 41 + 2 * i);
	CHECK_EQ(seen.times[5], 100);

	/* From a reset on. */
	CHECK_EQ(selection_reset(selection), 0);
	add(&profile, 101, 0, 0);
	add(&profile, 102, 1, 0);
	CHECK_EQ(selection_refresh(selection, UINT64_MAX), 0);
	seen.nr = 0;
	CHECK_EQ(selection_each_sample(selection, look, &seen), 0);
	CHECK_EQ(seen.nr, 1);
	CHECK_EQ(seen.times[0], 102);
	CHECK_EQ(selection_totals(selection).samples, 1);
	selection_free(selection);
	end(&profile);
}

static void samples_outlive_their_epoch(void)
{
	struct profile profile;
	begin(&profile);
	add(&profile, 1, 0, 0);
	add(&profile, 2, 1, 0);
	struct tables first = profile.tables;
	end_epoch(&profile);
	begin_epoch(&profile);
	tables_unmap(&first);
	add(&profile, 3, 0, 0);
	struct seen seen = {.history = profile.history};
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, look, &seen), 0);
	CHECK_EQ(seen.nr, 3);
	end(&profile);
}

static void not_asked_for_costs_nothing(void)
{
	struct profile profile;
	uint64_t bytes[2];
	enum { NR = 100000 };
	for (int kept = 0; kept < 2; kept++) {
		profile = (struct profile){.history = history_new()};
		if (kept)
			history_keep_samples(profile.history, MOST);
		begin_epoch(&profile);
		add(&profile, 1, 0, 0);
		add(&profile, 2, 0, 0); /* which weighs something else */
		uint64_t before = history_bytes(profile.history);
		for (uint64_t i = 3; i <= NR; i++)
			add(&profile, i, 0, 0);
		bytes[kept] = history_bytes(profile.history) - before;
		struct seen seen = {.history = profile.history, .stop_at = 1};
		CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, look, &seen),
			 kept ? 7 : 0);
		CHECK_EQ(seen.nr, kept);
		end(&profile);
	}
	CHECK_EQ(bytes[0], 0);
	CHECK(bytes[1] > 0 && bytes[1] <= NR * 40);
}

/* Of more than are wanted none stays; at a second reading they come again, in order, and are not counted twice. */
static void too_many_are_read_again(void)
{
	enum { NR = 3 * MOST / 2, LATE = 1000 };
	struct profile profile;
	struct times seen = {0};
	begin(&profile);
	for (uint64_t i = 0; i <= NR; i++)
		add(&profile, i ^ 1, 0, 0);
	struct history_totals totals = history_totals(profile.history);
	CHECK_EQ(totals.not_kept, NR + 1);
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, count_time, &seen), 0);
	CHECK_EQ(seen.nr, 0);
	uint64_t bytes = history_bytes(profile.history);
	CHECK(bytes < MOST * 24);
	history_follow_samples(profile.history, count_time, &seen);
	for (uint64_t i = 0; i <= NR; i++)
		add(&profile, i >= LATE && i % LATE == 0 ? i - LATE : i ^ 1, 0, 0);
	CHECK(seen.nr >= MOST / 2 && seen.nr <= NR + 1 - MOST / 2);
	CHECK(history_bytes(profile.history) <= bytes + MOST * 24 + 4096);
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, count_time, &seen), 0);
	CHECK_EQ(seen.nr, NR + 1);
	CHECK_EQ(seen.nr_backwards, 0);
	totals = history_totals(profile.history);
	CHECK_EQ(totals.samples, NR + 1);
	end(&profile);
}

static void who_follows_may_stop(void)
{
	struct profile profile;
	struct times seen = {.stop_at = 1};
	struct sample sample = {.event = 1, .task = {1}};
	begin(&profile);
	history_follow_samples(profile.history, count_time, &seen);
	int result = 0;
	for (size_t i = 0; !result && i <= MOST; i++)
		result = history_import(profile.history, &sample, 1);
	CHECK_EQ(result, -EPIPE);
	CHECK_EQ(seen.nr, 1);
	end(&profile);
}

struct in_slices {
	uint64_t samples[8], weight;
};

static int add_cell(void *context, const struct slice_cell *cell)
{
	struct in_slices *sums = context;
	CHECK(cell->stack < 8);
	sums->samples[cell->stack] += cell->samples;
	sums->weight += cell->weight;
	return 0;
}

/* More than there is room for, some of them late: all are there, by the rows of their stacks, and no single one. */
static void in_slices_of_time(void)
{
	enum { NR = 3 * MOST / 2, LATE = 1000 };
	struct profile profile = {.history = history_new()};
	struct slices slices;
	struct in_slices sums = {0};
	struct times seen = {0};
	uint64_t weight = 0;
	CHECK(profile.history != NULL && !history_keeps_slices(profile.history));
	history_keep_slices(profile.history, MOST);
	begin_epoch(&profile);
	for (uint64_t i = 0; i < NR; i++) {
		const uint64_t ms = i >= LATE && i % LATE == 0 ? i - LATE : i;
		weight += (ms << 20) * 3;
		add(&profile, ms << 20, i % 4 == 0, 0);
	}
	CHECK(history_keeps_slices(profile.history));
	CHECK_EQ(history_totals(profile.history).not_kept, 0);
	CHECK_EQ(history_take_slices(profile.history, &slices), 0);
	CHECK(!history_keeps_slices(profile.history));
	CHECK_EQ(slices_each(&slices, add_cell, &sums), 0);
	CHECK_EQ(sums.samples[0] + sums.samples[1], NR);
	CHECK_EQ(sums.weight, weight);
	/* The first sample was of the second thread. */
	CHECK_EQ(sums.samples[0], NR / 4);
	/* Those that came late are where they belong: the first slice has as many as the second. */
	CHECK(slices.sizes.nr > 2000);
	CHECK_EQ(slices.sizes.items[0], slices.sizes.items[1]);
	CHECK_EQ(history_each_sample(profile.history, 0, UINT64_MAX, count_time, &seen), 0);
	CHECK_EQ(seen.nr, 0);
	slices_release(&slices);
	end(&profile);
}

struct steps {
	uint32_t nr;
	int fails_at;
};

static int number_step(void *context, const struct history_frame *frames, size_t nr,
		       uint32_t *number)
{
	struct steps *steps = context;
	CHECK_EQ(nr, 1);
	CHECK_EQ(frames[0].address, 0x1000);
	*number = *number * 10 + ++steps->nr;
	return steps->fails_at == (int)steps->nr ? -EPIPE : 0;
}

/* Two stacks with one caller in common, which is asked about once, and one that has none. */
static void step_by_step(void)
{
	struct profile profile;
	struct steps steps = {0};
	struct history_walk walk = {.step = number_step, .context = &steps, .root = 7};
	uint32_t number = 0;
	begin(&profile);
	add(&profile, 1, 0, 0);
	add(&profile, 2, 1, 0);
	profile.callers = (struct node_id){0};
	add(&profile, 3, 1, 0);
	CHECK_EQ(history_walk(profile.history, &walk, 0, &number), 0);
	CHECK_EQ(number, 712);
	CHECK_EQ(history_walk(profile.history, &walk, 1, &number), 0);
	CHECK_EQ(number, 713);
	CHECK_EQ(history_walk(profile.history, &walk, 2, &number), 0);
	CHECK_EQ(number, 74);
	CHECK_EQ(history_walk(profile.history, &walk, 0, &number), 0);
	CHECK_EQ(number, 715);
	CHECK_EQ(history_stack_facts(profile.history, 1).tid, 11);
	CHECK_EQ(history_stack_facts(profile.history, 1).nr_frames, 0);
	steps.fails_at = 6;
	CHECK_EQ(history_walk(profile.history, &walk, 0, &number), -EPIPE);
	history_walk_release(&walk);
	end(&profile);
}

int main(void)
{
	RUN(one_by_one_in_the_order_of_time);
	RUN(backwards);
	RUN(only_what_passes_the_filter_is_kept);
	RUN(a_selection_shows_those_that_pass);
	RUN(samples_outlive_their_epoch);
	RUN(too_many_are_read_again);
	RUN(who_follows_may_stop);
	RUN(not_asked_for_costs_nothing);
	RUN(in_slices_of_time);
	RUN(step_by_step);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What a history does not let in, and what it holds: wrong ids, facts, memory that stays within its limit. */
#include "hand_made.h"

static void ids_that_make_no_sense_are_counted(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	const struct sample good = {
		.task = profile.one, .leaf = {1}, .event = (uint8_t)profile.event};
	struct sample bad[8];
	for (size_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].task.index = UINT32_MAX;
	bad[1].node.index = UINT32_MAX;
	bad[2].leaf.index = UINT32_MAX;
	bad[3].event = 200;
	bad[4].end = NR_STACK_ENDS;
	bad[5].reason = NR_STACK_REASONS;
	bad[6].leaf.index = 8; /* the first that is not there */
	bad[7].leaf.index = 0; /* callers of nothing */
	bad[7].node.index = 1;
	CHECK_EQ(history_update_names(history), 0);
	uint64_t before = history_bytes(history);
	CHECK_EQ(history_import(history, bad, 8), 0);
	CHECK_EQ(history_totals(history).bad_samples, 8);
	CHECK_EQ(history_totals(history).samples, 13);
	CHECK_EQ(history_bytes(history), before);
	CHECK_EQ(history_import(history, &good, 1), 0);
	CHECK_EQ(history_totals(history).samples, 14);
	history_free(history);
	close_profile(&profile);
}

/* Ten times the samples on the same stacks take the same memory. */
static void memory_grows_with_stacks_only(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	fill(&profile, history); /* the second epoch's rows are found by an index */
	CHECK_EQ(history_update_names(history), 0);
	uint64_t before = history_bytes(history);
	for (int i = 0; i < 10; i++)
		fill(&profile, history);
	CHECK_EQ(history_totals(history).samples, 12 * 13);
	CHECK_EQ(history_bytes(history), before);
	history_free(history);
	close_profile(&profile);
}

static void the_last_fact_holds(void)
{
	struct history *history = history_new();
	CHECK(!history_info(history, "key"));
	CHECK_EQ(history_set_info(history, "key", "1"), 0);
	CHECK_EQ(history_set_info(history, "key", "2"), 0);
	CHECK_STR(history_info(history, "key"), "2");
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(tables_add_info(profile.writer, "key", "3"), 0);
	CHECK_EQ(tables_add_info(profile.writer, "key", "4"), 0);
	tables_publish(profile.writer);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, NULL), 0);
	CHECK_EQ(history_import(history, NULL, 0), 0);
	CHECK_STR(history_info(history, "key"), "4");
	/* The last word of an epoch is heard when it ends. */
	CHECK_EQ(tables_add_info(profile.writer, "key", "5"), 0);
	tables_publish(profile.writer);
	struct profile next;
	open_profile(&next);
	CHECK_EQ(history_begin_epoch(history, &next.tables, NULL), 0);
	CHECK_STR(history_info(history, "key"), "5");
	history_free(history);
	close_profile(&profile);
	close_profile(&next);
}

static void facts_without_a_sample_are_read(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	CHECK_EQ(tables_add_info(profile.writer, "target", "idle"), 0);
	tables_publish(profile.writer);
	CHECK_EQ(history_update_names(history), 0);
	CHECK_STR(history_info(history, "target"), "idle");
	history_free(history);
	close_profile(&profile);
}

/* A program that renames itself, and maps new files, for ever. */
static void names_without_an_end_are_folded_too(void)
{
	enum { EPOCHS = 4, EACH = 3000 };
	const uint64_t limit_bytes = 1 << 20;
	struct history *history = history_new();
	uint64_t full_bytes = 0;
	history_set_limit(history, limit_bytes);
	static struct profile profiles[EPOCHS];
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		struct profile *profile = &profiles[epoch];
		open_profile(profile);
		CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
		for (int i = 0; i < EACH; i++) {
			char name[300];
			int at = snprintf(name, sizeof(name), "/%d/%d/", epoch, i);
			memset(name + at, 'x', sizeof(name) - 1 - (size_t)at);
			name[sizeof(name) - 1] = '\0';
			/* One address in all of them: a file that is not known is not taken for another. */
			struct module_id file = module(profile, MODULE_FILE, name);
			add(history, profile, task(profile, 1, name), (struct node_id){0},
			    frame(profile, file, 0x1000, NULL), STACK_COMPLETE, 1);
		}
		if (epoch == 1)
			full_bytes = history_bytes(history);
	}
	/* What the last epochs have is its translations, which are the next epoch's again. */
	CHECK(full_bytes > limit_bytes / 2);
	CHECK(history_bytes(history) < full_bytes + 1024);
	const struct history_totals totals = history_totals(history);
	CHECK_EQ(totals.samples, (uint64_t)EPOCHS * EACH);
	CHECK_EQ(totals.bad_samples, 0);
	CHECK(totals.folded > EPOCHS * EACH / 2 && totals.folded < EPOCHS * EACH);
	history_free(history);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		close_profile(&profiles[epoch]);
}

/* New stacks without an end: memory stays within the bound, totals stay true, and it is said what was folded. */
static void a_full_history_folds(void)
{
	enum { EPOCHS = 3, DEEP = 5000, DEPTH = 40 };
	const uint64_t limit_bytes = 1 << 20;
	struct history *history = history_new();
	uint64_t samples = 0, state = 1;
	history_set_limit(history, limit_bytes);
	static struct profile profiles[EPOCHS];
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		struct profile *profile = &profiles[epoch];
		open_profile(profile);
		struct frame_id in_main = frame(profile, profile->program, 0x100, "main");
		struct frame_id known = frame(profile, profile->program, 0x300, "known");
		struct node_id below_main = node(profile, (struct node_id){0}, in_main);
		CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
		for (int i = 0; i < DEEP; i++) {
			struct node_id callers = below_main;
			struct frame_id leaf = known;
			for (int depth = 0; depth < DEPTH; depth++) {
				state = state * 6364136223846793005u + 1442695040888963407u;
				leaf = frame(profile, profile->program, 0x1000 + (state >> 50),
					     NULL);
				callers = node(profile, callers, leaf);
			}
			char comm[16];
			snprintf(comm, sizeof(comm), "thread %d", i % 50);
			add(history, profile, task(profile, 100 + i, comm), callers, leaf,
			    STACK_COMPLETE, 1);
			add(history, profile, profile->one, below_main, known, STACK_COMPLETE, 1);
			samples += 2;
		}
		CHECK(history_bytes(history) < limit_bytes * 5 / 4 + 4u * DEEP * DEPTH);
	}
	const struct history_totals totals = history_totals(history);
	CHECK_EQ(totals.samples, samples);
	CHECK_EQ(totals.ends[STACK_COMPLETE], samples);
	CHECK_EQ(totals.bad_samples, 0);
	CHECK(totals.folded > samples / 4 && totals.folded < samples / 2 + 1);

	const struct selection_functions top = top_of(history);
	uint64_t self = 0;
	for (size_t i = 0; i < top.nr; i++)
		self += top.items[i].cost.self;
	CHECK_EQ(self, samples);
	CHECK_COST("known", samples / 2, samples / 2);
	CHECK_COST("main", 0, samples);
	CHECK_COST("[folded]", totals.folded, totals.folded);
	free(top.items);
	history_free(history);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		close_profile(&profiles[epoch]);
}

int main(void)
{
	RUN(ids_that_make_no_sense_are_counted);
	RUN(memory_grows_with_stacks_only);
	RUN(the_last_fact_holds);
	RUN(facts_without_a_sample_are_read);
	RUN(a_full_history_folds);
	RUN(names_without_an_end_are_folded_too);
	return test_done();
}

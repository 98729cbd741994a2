/* SPDX-License-Identifier: MIT */
/* Modules of one path, and processes of one pid. */
#include "hand_made.h"

enum { ROOT = MODULE_OWNED_BY_ROOT, USER = 1 + 1000 };

static struct module_id file(struct profile *profile, uint64_t inode, uint32_t owner_plus_1,
			     const char *build_id)
{
	struct module_row row = {
		.kind = MODULE_FILE,
		.identity = {.inode = inode, .owner_plus_1 = owner_plus_1},
	};
	struct module_id id;
	module_identity_set_build_id(&row.identity, build_id, strlen(build_id));
	CHECK_EQ(tables_add_string(profile->writer, "/srv/app", 8, &row.path), 0);
	CHECK_EQ(tables_add_module(profile->writer, &row, &id), 0);
	return id;
}

static void sample_in(struct history *history, const struct profile *profile, struct task_id of,
		      struct frame_id leaf)
{
	add(history, profile, of, (struct node_id){0}, leaf, STACK_COMPLETE, 1);
}

static struct history *begin(struct profile *profile)
{
	struct history *history = history_new();
	CHECK(history);
	open_profile(profile);
	CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
	return history;
}

/* The module that a function is shown with; NULL: there is no such function, or several. */
static const char *module_of(struct history *history, const char *name)
{
	const struct selection_functions top = top_of(history);
	size_t found = 0;
	const char *path = NULL;
	for (size_t i = 0; i < top.nr; i++)
		if (!strcmp(history_function_name(history, top.items[i].id), name)) {
			path = history_function_module(history, top.items[i].id);
			found++;
		}
	free(top.items);
	return found == 1 ? path : NULL;
}

static void builds_at_one_path_are_told_apart(void)
{
	struct profile profile;
	struct history *history = begin(&profile);
	sample_in(history, &profile, profile.one,
		  frame(&profile, file(&profile, 7, USER, "oldold"), 0x1000, "of_old"));
	CHECK_STR(module_of(history, "of_old"), "/srv/app");
	sample_in(history, &profile, profile.one,
		  frame(&profile, file(&profile, 8, USER, "newnew"), 0x1000, "of_new"));
	CHECK_STR(module_of(history, "of_old"), "/srv/app (6f6c646f)");
	CHECK_STR(module_of(history, "of_new"), "/srv/app (6e65776e)");
	/* A build-id that is copied tells nothing, nor is there one at all. */
	sample_in(history, &profile, profile.one,
		  frame(&profile, file(&profile, 9, USER, "newnew"), 0x1000, "of_copy"));
	sample_in(history, &profile, profile.one,
		  frame(&profile, file(&profile, 10, USER, ""), 0x1000, "of_none"));
	CHECK_STR(module_of(history, "of_new"), "/srv/app (6e65776e)");
	CHECK_STR(module_of(history, "of_copy"), "/srv/app (inode 9)");
	CHECK_STR(module_of(history, "of_none"), "/srv/app (inode 10)");
	history_free(history);
	close_profile(&profile);
}

static void what_is_learnt_late_is_the_same_module(void)
{
	struct profile profile;
	struct history *history = begin(&profile);
	struct frame_id early = frame(&profile, file(&profile, 7, 0, ""), 0x1000, "early");
	struct frame_id late = frame(&profile, file(&profile, 7, ROOT, "build"), 0x2000, "late");
	struct frame_id copy = frame(&profile, file(&profile, 8, ROOT, "build"), 0x3000, "copy");
	sample_in(history, &profile, profile.one, early);
	sample_in(history, &profile, profile.one, late);
	sample_in(history, &profile, profile.one, copy); /* root's: in another container */
	CHECK_STR(module_of(history, "early"), "/srv/app");
	CHECK_STR(module_of(history, "late"), "/srv/app");
	CHECK_STR(module_of(history, "copy"), "/srv/app");
	history_free(history);
	close_profile(&profile);
}

/* A sample of a stack whose caller and leaf are in the module, at the same addresses each time. */
static void sample_below(struct history *history, struct profile *profile, struct module_id module)
{
	struct node_id node;
	CHECK_EQ(tables_add_node(profile->writer, (struct node_id){0},
				 frame(profile, module, 0x1000, "caller"), FRAME_CFI, &node),
		 0);
	add(history, profile, profile->one, node, frame(profile, module, 0x2000, "callee"),
	    STACK_COMPLETE, 1);
}

static int take_stack(void *context, const struct history_stack *stack)
{
	uint64_t *samples = context;
	*samples = stack->samples;
	return 0;
}

static void rows_of_one_module_have_the_same_stacks(void)
{
	struct profile profile;
	struct history *history = begin(&profile);
	const struct module_id first = file(&profile, 7, ROOT, "build"),
			       second = file(&profile, 8, ROOT, "build");
	sample_below(history, &profile, first);
	sample_below(history, &profile, second);
	sample_below(history, &profile, first);
	uint64_t samples = 0;
	struct selection *selection = selection_of_all(history);
	CHECK(selection);
	CHECK_EQ(selection_each_stack(selection, take_stack, &samples), 0);
	CHECK_EQ(samples, 3);
	selection_free(selection);
	history_free(history);
	close_profile(&profile);
}

static uint64_t samples_of_module(const char *wanted)
{
	const struct history_filter filter = {.module = wanted};
	struct profile profile;
	struct history *history = begin(&profile);
	history_set_filter(history, &filter);
	sample_in(history, &profile, profile.one,
		  frame(&profile, file(&profile, 7, USER, "oldold"), 0x1000, "of_old"));
	sample_in(history, &profile, profile.one,
		  frame(&profile, file(&profile, 8, USER, "newnew"), 0x1000, "of_new"));
	uint64_t samples = history_totals(history).samples;
	history_free(history);
	close_profile(&profile);
	return samples;
}

static void filters_take_a_path_or_one_of_its_files(void)
{
	CHECK_EQ(samples_of_module("/srv/app"), 2);
	CHECK_EQ(samples_of_module("app"), 2);
	CHECK_EQ(samples_of_module("app (6f6c646f)"), 1); /* before there was another */
	CHECK_EQ(samples_of_module("/srv/app (6e65776e)"), 1);
	CHECK_EQ(samples_of_module("app (00000000)"), 0);
	CHECK_EQ(samples_of_module("(6e65776e)"), 0);
}

static void many_files_of_one_path_are_bounded(void)
{
	struct profile profile;
	struct history *history = begin(&profile);
	for (uint64_t i = 1; i <= 1000; i++)
		sample_in(history, &profile, profile.one,
			  frame(&profile, file(&profile, i, USER, ""), 0x1000, "same"));
	const struct selection_functions top = top_of(history);
	free(top.items);
	CHECK_EQ(top.nr, 256);
	history_free(history);
	close_profile(&profile);
}

static struct task_id life(struct profile *profile, uint64_t started_ns)
{
	struct string_id comm;
	struct task_id id;
	CHECK_EQ(tables_add_string(profile->writer, "same", 4, &comm), 0);
	CHECK_EQ(tables_add_task(profile->writer, 99, 99, started_ns, comm, &id), 0);
	return id;
}

static int count_stack(void *context, const struct history_stack *stack)
{
	*(size_t *)context += stack->pid == 99;
	return 0;
}

static void a_pid_used_again_is_another_process(void)
{
	const uint64_t second_ns = 1000000000;
	struct profile profile;
	struct history *history = begin(&profile);
	struct frame_id leaf = frame(&profile, profile.program, 0x1000, "leaf");
	sample_in(history, &profile, life(&profile, second_ns), leaf);
	sample_in(history, &profile, life(&profile, second_ns + 1), leaf); /* /proc's word for it */
	sample_in(history, &profile, life(&profile, 9 * second_ns), leaf);
	size_t nr = 0;
	struct selection *selection = selection_of_all(history);
	CHECK(selection);
	CHECK_EQ(selection_each_stack(selection, count_stack, &nr), 0);
	CHECK_EQ(nr, 2);
	selection_free(selection);
	history_free(history);
	close_profile(&profile);
}

int main(void)
{
	RUN(builds_at_one_path_are_told_apart);
	RUN(what_is_learnt_late_is_the_same_module);
	RUN(rows_of_one_module_have_the_same_stacks);
	RUN(filters_take_a_path_or_one_of_its_files);
	RUN(many_files_of_one_path_are_bounded);
	RUN(a_pid_used_again_is_another_process);
	return test_done();
}

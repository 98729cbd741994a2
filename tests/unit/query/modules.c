/* SPDX-License-Identifier: MIT */
/* Modules: what is spent in them and below them, and where their names come from. */
#include "history/hand_made.h"

static struct selection_modules modules_of(struct history *history)
{
	struct selection_modules modules = {0};
	struct selection *selection = selection_new(history);
	CHECK_EQ(selection_refresh(selection, UINT64_MAX), 0);
	CHECK_EQ(selection_modules(selection, &modules), 0);
	selection_free(selection);
	return modules;
}

static void shares(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	struct selection_modules modules = modules_of(history);
	CHECK_EQ(modules.nr, 2);
	CHECK_STR(history_module(history, modules.items[0].module).path, "/bin/program");
	CHECK_EQ(modules.items[0].self_weight, 100);
	CHECK_EQ(modules.items[0].total_weight,
		 130); /* each stack once, however often it is in it */
	CHECK_EQ(modules.items[0].unnamed_weight, 10);
	CHECK_STR(history_module(history, modules.items[1].module).path, "[kernel]");
	CHECK_EQ(modules.items[1].self_weight, 30);
	CHECK_EQ(modules.items[1].total_weight, 30);
	free(modules.items);
	history_free(history);
	close_profile(&profile);
}

/* program > library > program > library, and a frame of no module. */
static void called_in_turns(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	struct module_id library = module(&profile, MODULE_FILE, "/lib/library.so");
	struct node_id at = {0};
	for (uint64_t i = 0; i < 3; i++)
		at = node(&profile, at,
			  frame(&profile, i % 2 ? library : profile.program, 0x100 + i, "f"));
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	add(history, &profile, profile.one, at, frame(&profile, library, 0x200, "g"),
	    STACK_COMPLETE, 2);
	add(history, &profile, profile.one, at, frame(&profile, (struct module_id){0}, 0x300, NULL),
	    STACK_COMPLETE, 1);
	struct selection_modules modules = modules_of(history);
	CHECK_EQ(modules.nr, 3);
	CHECK_STR(history_module(history, modules.items[0].module).label, "/lib/library.so");
	CHECK_EQ(modules.items[0].self_weight, 20);
	CHECK_EQ(modules.items[0].total_weight, 30);
	CHECK_STR(history_module(history, modules.items[1].module).label, "[unknown]");
	CHECK_EQ(modules.items[1].total_weight, 10);
	CHECK_EQ(modules.items[2].self_weight, 0);
	CHECK_EQ(modules.items[2].total_weight, 30);
	free(modules.items);
	history_free(history);
	close_profile(&profile);
}

/* A stack through more modules than there are bits, and back through the first. */
static void a_hundred_in_one_stack(void)
{
	enum { NR_MODULES = 100 };
	struct profile profile;
	struct history *history = history_new();
	struct module_id all[NR_MODULES];
	struct node_id at = {0};
	char path[32];
	open_profile(&profile);
	for (uint32_t i = 0; i < NR_MODULES; i++) {
		snprintf(path, sizeof(path), "/lib/lib%u.so", i);
		all[i] = module(&profile, MODULE_FILE, path);
		at = node(&profile, at, frame(&profile, all[i], 0x100, "f"));
	}
	for (uint32_t i = 0; i < NR_MODULES; i += 7)
		at = node(&profile, at, frame(&profile, all[i], 0x200, "g"));
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	add(history, &profile, profile.one, at, frame(&profile, all[3], 0x300, "h"), STACK_COMPLETE,
	    2);
	struct selection_modules modules = modules_of(history);
	CHECK_EQ(modules.nr, NR_MODULES);
	for (size_t i = 0; i < modules.nr; i++)
		CHECK_EQ(modules.items[i].total_weight, 20);
	CHECK_EQ(modules.items[0].self_weight, 20);
	CHECK_STR(history_module(history, modules.items[0].module).path, "/lib/lib3.so");
	free(modules.items);
	history_free(history);
	close_profile(&profile);
}

static void sources_come_late_and_from_any_epoch(void)
{
	struct profile profile, next;
	struct history *history = history_new();
	const struct module_names stripped = {NAMES_FROM_DYNSYM, NAMES_MISSING_DEBUG_FILE};
	open_profile(&profile);
	fill(&profile, history);
	const uint32_t program = 2; /* behind the rows that are always there */
	CHECK_STR(history_module(history, program).path, "/bin/program");
	CHECK_EQ(history_module(history, program).names.from, NAMES_FROM_UNKNOWN);
	symbols_set_module(profile.namer, profile.program, &stripped);
	CHECK_EQ(history_update_names(history), 0);
	CHECK_EQ(history_module(history, program).names.from, NAMES_FROM_DYNSYM);
	CHECK_EQ(history_module(history, program).names.missing, NAMES_MISSING_DEBUG_FILE);
	/* Nothing is known in the next epoch yet: what was, holds. */
	open_profile(&next);
	fill(&next, history);
	CHECK_EQ(history_update_names(history), 0);
	CHECK_EQ(history_module(history, program).names.from, NAMES_FROM_DYNSYM);
	history_free(history);
	close_profile(&profile);
	close_profile(&next);
}

int main(void)
{
	RUN(shares);
	RUN(called_in_turns);
	RUN(a_hundred_in_one_stack);
	RUN(sources_come_late_and_from_any_epoch);
	return test_done();
}

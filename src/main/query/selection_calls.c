/* SPDX-License-Identifier: MIT */
/*
 * System calls. Stacks do not say which call it was, but by what the kernel's entry called: "__x64_sys_writev", or what the compiler has
 * made one with it, "do_writev".
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

#include "selection_internal.h"

/* Of one key. */
enum role { NO_ENTRY, ENTRY, NO_CALL };

static bool begins_with(const char *name, const char *beginning)
{
	return !strncmp(name, beginning, strlen(beginning));
}

/* What calls a system call's function; what is called there all the same, before and behind it. */
static enum role role_of(const struct selection *selection, uint32_t key)
{
	static const char *const entries[] = {
		"entry_SYSCALL_64",   "do_syscall_64",
		"x64_sys_call",	      "entry_SYSENTER_compat",
		"entry_INT80_compat", "do_int80",
		"do_fast_syscall_32", "__do_fast_syscall_32",
		"ia32_sys_call",      "el0t_64_sync",
		"el0t_32_sync",	      "el0_svc",
		"do_el0_svc",	      "invoke_syscall",
		"__invoke_syscall",
	};
	if (key < NR_LABELS || !history_function_kernel(selection->history, function_of_key(key)))
		return NO_CALL;
	const char *name = selection_key_name(selection, key);
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		if (begins_with(name, entries[i]))
			return ENTRY;
	return strstr(name, "user_mode") || strstr(name, "syscall_trace") ||
			       begins_with(name, "irqentry") || begins_with(name, "asm_")
		       ? NO_CALL
		       : NO_ENTRY;
}

/* The nearest functions of the program, from the entry upwards. */
static void find_callers(const struct selection *selection, uint32_t path,
			 struct selection_call *call)
{
	call->nr_callers = 0;
	for (; path && call->nr_callers < SELECTION_CALLERS_MAX;
	     path = selection->paths.items[path].parent) {
		const uint32_t key = selection->paths.items[path].key;
		if (key < NR_LABELS ||
		    history_function_kernel(selection->history, function_of_key(key)))
			continue;
		call->callers[call->nr_callers++] = function_of_key(key);
	}
}

static int compare(const void *a, const void *b)
{
	const struct selection_call *left = a, *right = b;
	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	return (left->function.index > right->function.index) -
	       (left->function.index < right->function.index);
}

struct finder {
	const struct selection *selection;
	uint8_t *roles; /* by key */
	uint32_t *rows; /* by key: 1 and more */
	uint64_t *most; /* by row: what the heaviest path has */
};

static int add(struct finder *finder, uint32_t at, struct selection_calls *calls)
{
	const struct path *path = &finder->selection->paths.items[at];
	uint32_t *row = &finder->rows[path->key];
	if (!path->weight || finder->roles[path->key] != NO_ENTRY ||
	    finder->roles[finder->selection->paths.items[path->parent].key] != ENTRY)
		return 0;
	if (!*row) {
		if (vec_reserve(calls, calls->nr + 1))
			return -ENOMEM;
		calls->items[calls->nr++] =
			(struct selection_call){.function = function_of_key(path->key)};
		*row = (uint32_t)calls->nr;
	}
	struct selection_call *call = &calls->items[*row - 1];
	call->weight += path->weight;
	if (path->weight > finder->most[*row - 1]) {
		finder->most[*row - 1] = path->weight;
		find_callers(finder->selection, path->parent, call);
	}
	return 0;
}

static const char *name_of(const struct selection *selection, const struct selection_call *call)
{
	return selection_call_name(history_function_name(selection->history, call->function));
}

/* The row of that name among those indexed; UINT32_MAX: there is none. */
static uint32_t find_name(const struct selection *selection, const struct index *names,
			  const struct selection_calls *calls, const char *name)
{
	struct index_probe probe = index_find(names, hash_bytes(name, strlen(name)));
	uint32_t row;
	while (index_next(names, &probe, &row))
		if (!strcmp(name_of(selection, &calls->items[row]), name))
			return row;
	return UINT32_MAX;
}

/* One call may be entered by two functions, where the compiler has split one. The heavier one stays. 0 or -ENOMEM. */
static int join(const struct selection *selection, struct selection_calls *calls)
{
	struct index names = {0};
	uint32_t nr = 0;
	int result = index_reserve_rows(&names, calls->nr);
	for (size_t i = 0; !result && i < calls->nr; i++) {
		const char *name = name_of(selection, &calls->items[i]);
		const uint32_t same = find_name(selection, &names, calls, name);
		if (same != UINT32_MAX) {
			calls->items[same].weight += calls->items[i].weight;
			continue;
		}
		index_add(&names, hash_bytes(name, strlen(name)), nr);
		calls->items[nr++] = calls->items[i];
	}
	calls->nr = nr;
	index_release(&names);
	return result;
}

int selection_calls(const struct selection *selection, struct selection_calls *calls)
{
	const size_t nr_keys = selection->keys.nr;
	struct finder finder = {
		.selection = selection,
		.roles = calloc(nr_keys + 1, sizeof(*finder.roles)),
		.rows = calloc(nr_keys + 1, sizeof(*finder.rows)),
		.most = calloc(nr_keys + 1, sizeof(*finder.most)),
	};
	int result = finder.roles && finder.rows && finder.most ? 0 : -ENOMEM;
	calls->nr = 0;
	for (uint32_t key = 0; !result && key < nr_keys; key++)
		finder.roles[key] = (uint8_t)role_of(selection, key);
	for (uint32_t at = 1; !result && at < selection->paths.nr; at++)
		result = add(&finder, at, calls);
	if (!result && calls->nr) {
		qsort(calls->items, calls->nr, sizeof(*calls->items), compare);
		result = join(selection, calls);
		qsort(calls->items, calls->nr, sizeof(*calls->items), compare);
	}
	free(finder.roles);
	free(finder.rows);
	free(finder.most);
	return result;
}

const char *selection_call_name(const char *function)
{
	static const char *const beginnings[] = {
		"__x64_sys_",
		"__arm64_sys_",
		"__ia32_sys_",
		"__x64_compat_sys_",
		"__arm64_compat_sys_",
		"__ia32_compat_sys_",
		"__se_sys_",
		"__do_sys_",
		"__sys_",
		"ksys_",
		"do_sys_",
		"do_",
		"vfs_",
	};
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (begins_with(function, beginnings[i]) && function[strlen(beginnings[i])])
			return function + strlen(beginnings[i]);
	return function;
}

/* SPDX-License-Identifier: MIT */
/* Of each process: how much of its code is in no file, has names, and has callers. */
#include <ctop/history/generated.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

enum { PROCESSES_MOST = 256 };

struct finder {
	const struct history *history;
	uint32_t *classes; /* of modules */
	uint32_t *marks;   /* of frames */
	struct history_generated *processes;
	size_t nr, last;
};

static struct history_generated *process_of(struct finder *finder, int32_t pid, uint64_t started_ns)
{
	if (finder->nr && finder->processes[finder->last].pid == pid)
		return &finder->processes[finder->last];
	for (finder->last = 0; finder->last < finder->nr; finder->last++)
		if (finder->processes[finder->last].pid == pid)
			return &finder->processes[finder->last];
	if (finder->nr == PROCESSES_MOST)
		return NULL;
	finder->processes[finder->nr++] =
		(struct history_generated){.pid = pid, .started_ns = started_ns};
	return &finder->processes[finder->last];
}

/* What the frames of a stack are. */
struct stack_kinds {
	uint32_t classes, marks;
	bool generated, unnamed;
};

static void look_at(const struct finder *finder, uint32_t id, struct stack_kinds *kinds)
{
	const struct named_frame *frame = &finder->history->frames.items[id];
	kinds->classes |= finder->classes[frame->module];
	kinds->marks |= finder->marks[id];
	if (finder->history->modules.items[frame->module].kind != MODULE_ANON)
		return;
	kinds->generated = true;
	kinds->unnamed |= !frame->name;
}

static void add_stack(struct finder *finder, const struct counted_stack *stack)
{
	const struct history *history = finder->history;
	struct history_generated *process =
		process_of(finder, history->tasks.items[stack->task].pid,
			   history->tasks.items[stack->task].started_ns);
	struct stack_kinds kinds = {0};
	if (!process)
		return;
	if (stack->leaf)
		look_at(finder, stack->leaf, &kinds);
	for (uint32_t node = stack->node; node; node = history->nodes.items[node].parent)
		look_at(finder, history->nodes.items[node].frame, &kinds);
	const bool cut = stack->end == STACK_TRUNCATED || stack->end == STACK_BROKEN;
	process->samples += stack->samples;
	process->generated += kinds.generated ? stack->samples : 0;
	process->unnamed += kinds.unnamed ? stack->samples : 0;
	process->cut += kinds.generated && cut ? stack->samples : 0;
	process->marked += kinds.marks ? stack->samples : 0;
	process->classes |= kinds.classes;
	process->marks |= kinds.marks;
}

/* Of a process of which only code without a file was sampled: its program's name is all that is known. */
static void guess_classes(struct finder *finder, int (*class_of)(const char *path))
{
	for (size_t i = 0; i < finder->nr; i++) {
		struct history_generated *process = &finder->processes[i];
		const char *name = process->classes
					   ? NULL
					   : history_process_name(finder->history, process->pid,
								  process->started_ns);
		const int class = name ? class_of(name) : -1;
		process->classes |= class >= 0 ? UINT32_C(1) << class : 0;
	}
}

static void find_marks(struct finder *finder, const char *const *marks, size_t nr_marks)
{
	for (size_t i = 0; i < finder->history->frames.nr; i++) {
		const char *name = finder->history->frames.items[i].name;
		for (size_t m = 0; name && m < nr_marks; m++)
			if (marks[m] && !strcmp(name, marks[m]))
				finder->marks[i] |= UINT32_C(1) << m;
	}
}

static int compare(const void *a, const void *b)
{
	const struct history_generated *left = a, *right = b;
	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

int history_generated(struct history *history, int (*class_of)(const char *path),
		      const char *const *marks, size_t nr_marks, struct history_generated **out,
		      size_t *nr)
{
	int result = history_update_names(history);
	struct finder finder = {
		.history = history,
		.classes = calloc(history->modules.nr + 1, sizeof(uint32_t)),
		.marks = calloc(history->frames.nr + 1, sizeof(uint32_t)),
		.processes = calloc(PROCESSES_MOST, sizeof(struct history_generated)),
	};
	if (!result && (!finder.classes || !finder.marks || !finder.processes))
		result = -ENOMEM;
	for (size_t i = 0; !result && i < history->modules.nr; i++) {
		const char *path = history->modules.items[i].path;
		const int class = path ? class_of(path) : -1;
		finder.classes[i] = class >= 0 ? UINT32_C(1) << class : 0;
	}
	if (!result)
		find_marks(&finder, marks, nr_marks);
	for (size_t i = 0; !result && i < history->stacks.nr; i++)
		if (history_counts_event(history, history->stacks.items[i].event))
			add_stack(&finder, &history->stacks.items[i]);
	guess_classes(&finder, class_of);
	free(finder.classes);
	free(finder.marks);
	if (result) {
		free(finder.processes);
		return result;
	}
	qsort(finder.processes, finder.nr, sizeof(*finder.processes), compare);
	*out = finder.processes;
	*nr = finder.nr;
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/report/runtime_notes.h>

#include <stdio.h>
#include <stdlib.h>

#include <ctop/history/generated.h>
#include <ctop/report/label_line.h>
#include <ctop/system/runtimes.h>

/* From so many samples of a process on, if they are such a share of all, and from such shares of them, in percent. */
enum {
	SAMPLES_LEAST = 20,
	PROCESS_FROM = 5,
	UNNAMED_FROM = 5,
	CUT_FROM = 10,
	INTERPRETED_FROM = 20
};

struct note_list {
	struct runtime_note *notes;
	size_t nr;
};

static uint64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * part / whole : 0;
}

static void add(struct note_list *list, const struct runtime *runtime,
		const struct history_generated *process, const char *what, uint64_t samples,
		const struct text *remedy)
{
	if (list->nr == RUNTIME_NOTES_MAX || !remedy->size)
		return;
	struct runtime_note *note = &list->notes[list->nr++];
	snprintf(note->finding, sizeof(note->finding), "%s[%d]: %s", runtime->name, process->pid,
		 what);
	snprintf(note->remedy, sizeof(note->remedy), "%s", text_string(remedy));
	note->percent = (unsigned)percent(samples, process->samples);
}

/* What a process runs on: a bit each of those that its samples show. 0 where only samples of code without a file came. */
static uint32_t runtimes_of(const struct history_generated *process, int known)
{
	if (process->classes || known < 0)
		return process->classes;
	return UINT32_C(1) << known;
}

static void add_names(struct note_list *list, const struct runtime *runtime,
		      const struct history_generated *process, const char *what, uint64_t samples)
{
	struct text remedy = {0};
	runtime_add_names_remedy(runtime, process->pid, &remedy);
	add(list, runtime, process, what, samples, &remedy);
	text_release(&remedy);
}

static void add_stacks(struct note_list *list, const struct runtime *runtime,
		       const struct history_generated *process)
{
	struct text remedy = {0};
	runtime_add_stacks_remedy(runtime, &remedy);
	add(list, runtime, process, "no callers", process->cut, &remedy);
	text_release(&remedy);
}

static void look_at(struct note_list *list, const struct history_generated *process, int known)
{
	const uint32_t classes = runtimes_of(process, known);
	for (int i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *runtime = &runtimes[i];
		if (!(classes >> i & 1))
			continue;
		if (runtime->interpreter) {
			if (process->marks >> i & 1 && !process->generated &&
			    percent(process->marked, process->samples) >= INTERPRETED_FROM)
				add_names(list, runtime, process, "its functions are not seen",
					  process->marked);
			continue;
		}
		if (percent(process->unnamed, process->samples) >= UNNAMED_FROM)
			add_names(list, runtime, process, "no names", process->unnamed);
		if (percent(process->cut, process->samples) >= CUT_FROM)
			add_stacks(list, runtime, process);
	}
}

size_t runtime_notes(struct history *history, int32_t pid,
		     struct runtime_note notes[RUNTIME_NOTES_MAX])
{
	const int runtime = pid ? runtime_of_process(pid) : -1;
	const char *marks[NR_RUNTIMES];
	struct history_generated *processes = NULL;
	struct note_list list = {.notes = notes};
	size_t nr = 0;
	uint64_t all = 0;
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		marks[i] = runtimes[i].interpreter;
	if (history_generated(history, runtime_of_file, marks, NR_RUNTIMES, &processes, &nr))
		return 0;
	for (size_t i = 0; i < nr; i++)
		all += processes[i].samples;
	for (size_t i = 0; i < nr && processes[i].samples >= SAMPLES_LEAST &&
			   percent(processes[i].samples, all) >= PROCESS_FROM;
	     i++)
		look_at(&list, &processes[i], runtime);
	free(processes);
	return list.nr;
}

void runtime_notes_add(struct history *history, int32_t pid, uint32_t columns, struct text *out)
{
	struct runtime_note notes[RUNTIME_NOTES_MAX];
	const size_t nr = runtime_notes(history, pid, notes);
	struct text line = {0};
	for (size_t i = 0; i < nr; i++) {
		text_clear(&line);
		text_addf(&line, "%s (%u%% of its samples)", notes[i].finding, notes[i].percent);
		label_line_add(out, "runtime", text_string(&line), columns);
		label_line_add(out, "", notes[i].remedy, 0);
	}
	text_release(&line);
}

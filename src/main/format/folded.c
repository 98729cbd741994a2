/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <ctop/format/folded_name.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/index.h>
#include <ctop/base/task_id.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>

#include "pieces.h"

/*
 * Folded stacks, as stackcollapse-perf.pl (FlameGraph) writes them: one line per distinct stack,
 * "comm;root;...;leaf N", sorted bytewise. The comm's spaces become _; ';' in a name becomes ':';
 * a frame without a name is [module] or [unknown]; arguments are cut from '(' on, except
 * "(anonymous namespace)" and Go's ".(*T)."; control bytes are escaped. What was inlined has _[i] behind its name, as
 * stackcollapse-perf.pl --inline and flamegraph.pl have it. Of lines and addresses the place stands first; modules that call
 * themselves are one frame; threads and processes are told apart as by stackcollapse-perf.pl --tid and --pid. N is what the stack's samples stand
 * for: events, or nanoseconds of a clock.
 */

/* One stack, and what it counts for. */
struct line {
	size_t first; /* of its names; the comm's is in front */
	uint64_t count;
	uint32_t nr;
};

/* Where a name stands in the text of all names, as it is written. */
struct name {
	size_t at, size; /* size 0: not yet */
};

struct folding {
	const struct history *history;
	bool count_samples;
	enum grouping by;
	struct text names_text;
	struct {
		struct name *items; /* by function */
		size_t nr, capacity;
	} names;
	struct {
		struct comm {
			const char *comm; /* the history's: the same for all that have it */
			int32_t pid, tid; /* -1: any */
			struct name name;
		} * items;
		size_t nr, capacity;
	} comms;
	struct index comms_index;
	struct {
		uint32_t *items; /* of all lines: a comm, then functions */
		size_t nr, capacity;
	} used;
	struct {
		struct line *items;
		size_t nr, capacity;
	} lines;
};

/* True for the signs of operator(), operator<, operator-> and their like: they open and close nothing. */
static bool is_operator(const char *name, const char *at)
{
	static const char word[] = "operator";
	size_t back = 0;
	while (back < 3 && at > name + back && strchr("<>=-()", at[-1 - (ptrdiff_t)back]))
		back++;
	const char *signs = at - back;
	return strchr("<>()", *at) && signs - name >= (ptrdiff_t)strlen(word) &&
	       strncmp(signs - strlen(word), word, strlen(word)) == 0 &&
	       (*signs != '(' || back < 2);
}

/*
 * The name without its arguments, as stackcollapse-perf.pl cuts it: at the first '(' that
 * begins neither "(anonymous namespace)" nor, in Go, a receiver as in "pkg.(*T).method".
 */
static size_t without_arguments(const char *name)
{
	size_t depth = 0; /* of template arguments: a function's type may stand in them */
	for (const char *at = name; *at; at++) {
		if (is_operator(name, at))
			continue;
		depth += *at == '<';
		depth -= *at == '>' && depth > 0;
		if (*at != '(' || depth)
			continue;
		bool anonymous = strncmp(at, "(anonymous namespace)", 21) == 0;
		bool receiver = at > name && at[-1] == '.';
		if (!anonymous && !receiver)
			return at > name ? (size_t)(at - name) : strlen(name);
	}
	return strlen(name);
}

/* A frame's name; ';' parts frames and a line end ends the stack, so neither may stand in it. */
static void add_name(struct text *text, const char *name, size_t size)
{
	char *copy = strndup(name, size);
	if (!copy) {
		text->failed = true;
		return;
	}
	for (char *at = copy; *at; at++)
		if (*at == ';')
			*at = ':';
	text_add_safe(text, copy);
	free(copy);
}

void folded_add_name(struct text *text, const char *name, bool named)
{
	static const char mark[] = " (inlined)";
	const size_t whole = strlen(name), marked = sizeof(mark) - 1;
	const bool is_inlined = whole > marked && !strcmp(name + whole - marked, mark);
	size_t size = named ? without_arguments(name) : whole;
	while (is_inlined && size && name[size - 1] == ' ')
		size--;
	add_name(text, name, size);
	if (is_inlined)
		text_add(text, "_[i]");
}

static void add_comm(struct text *text, const char *comm)
{
	char *copy = strdup(comm[0] ? comm : "[unknown]");
	if (!copy) {
		text->failed = true;
		return;
	}
	for (char *at = copy; *at; at++) {
		if (*at == ' ')
			*at = '_';
		else if (*at == ';')
			*at = ':';
	}
	text_add_safe(text, copy);
	free(copy);
}

/* Where it is, as it is, and the function's own name. */
static void add_function(struct folding *folding, struct function_id function)
{
	const char *name = history_function_marked_name(folding->history, function);
	const size_t place_bytes = history_function_place_bytes(folding->history, function);
	add_name(&folding->names_text, name, place_bytes);
	folded_add_name(&folding->names_text, name + place_bytes,
			history_function_named(folding->history, function));
}

/* A function's name is made once, however many stacks have it. 0 or -ENOMEM. */
static int make_name(struct folding *folding, struct function_id function)
{
	if (vec_reserve(&folding->names, (size_t)function.index + 1))
		return -ENOMEM;
	for (; folding->names.nr <= function.index; folding->names.nr++)
		folding->names.items[folding->names.nr] = (struct name){0};
	struct name *name = &folding->names.items[function.index];
	if (name->size)
		return 0;
	name->at = folding->names_text.size;
	add_function(folding, function);
	name->size = folding->names_text.size - name->at;
	return folding->names_text.failed ? -ENOMEM : 0;
}

/* The number of a stack's thread's name. 0 or -ENOMEM. */
static int find_comm(struct folding *folding, const struct history_stack *stack, uint32_t *number)
{
	const bool has_tid = folding->by == GROUPING_THREAD,
		   has_pid = has_tid || folding->by == GROUPING_PROCESS;
	struct comm comm = {stack->comm, has_pid ? stack->pid : -1, has_tid ? stack->tid : -1,
			    .name.at = folding->names_text.size};
	const uint64_t hash =
		hash_two((uintptr_t)comm.comm, (uint64_t)comm.pid << 32 | (uint32_t)comm.tid);
	struct index_probe probe = index_find(&folding->comms_index, hash);
	while (index_next(&folding->comms_index, &probe, number)) {
		const struct comm *known = &folding->comms.items[*number];
		if (known->comm == comm.comm && known->pid == comm.pid && known->tid == comm.tid)
			return 0;
	}
	if (vec_reserve(&folding->comms, folding->comms.nr + 1) ||
	    index_reserve(&folding->comms_index))
		return -ENOMEM;
	add_comm(&folding->names_text, comm.comm);
	if (has_pid)
		text_addf(&folding->names_text, "-%" PRId32, comm.pid);
	if (has_tid) {
		text_add(&folding->names_text, "/");
		task_id_add(&folding->names_text, comm.tid);
	}
	comm.name.size = folding->names_text.size - comm.name.at;
	*number = (uint32_t)folding->comms.nr;
	folding->comms.items[folding->comms.nr++] = comm;
	index_add(&folding->comms_index, hash, *number);
	return folding->names_text.failed ? -ENOMEM : 0;
}

static int fold(void *context, const struct history_stack *stack)
{
	struct folding *folding = context;
	if (vec_reserve(&folding->used, folding->used.nr + 1 + stack->nr_frames) ||
	    vec_reserve(&folding->lines, folding->lines.nr + 1))
		return -ENOMEM;
	struct line line = {
		.first = folding->used.nr,
		.count = folding->count_samples ? stack->samples : stack->weight,
		.nr = 1,
	};
	uint32_t *used = folding->used.items + line.first;
	int result = find_comm(folding, stack, &used[0]);
	for (size_t i = 0; !result && i < stack->nr_frames; i++) {
		used[line.nr++] = stack->frames[i].function.index;
		result = make_name(folding, stack->frames[i].function);
	}
	folding->used.nr += line.nr;
	folding->lines.items[folding->lines.nr++] = line;
	return result;
}

/* ---- lines, in the order of their bytes ---- */

static struct name name_at(const struct folding *folding, const struct line *line, uint32_t i)
{
	const uint32_t number = folding->used.items[line->first + i];
	return i ? folding->names.items[number] : folding->comms.items[number].name;
}

/* What follows a name in its line. */
static unsigned char sign_behind(const struct line *line, uint32_t i)
{
	return i + 1 < line->nr ? ';' : '\0';
}

/* Of two different names of one place, as bytes; 0: equal, and so is what follows. */
static int compare_names(const struct folding *folding, const struct line *a, const struct line *b,
			 uint32_t i)
{
	const struct name left = name_at(folding, a, i), right = name_at(folding, b, i);
	const char *text = text_string(&folding->names_text);
	const size_t size = left.size < right.size ? left.size : right.size;
	int order = memcmp(text + left.at, text + right.at, size);
	if (order)
		return order;
	const unsigned char next = left.size > size ? (unsigned char)text[left.at + size]
						    : sign_behind(a, i),
			    other = right.size > size ? (unsigned char)text[right.at + size]
						      : sign_behind(b, i);
	return (next > other) - (next < other);
}

static int compare(const void *left, const void *right, void *context)
{
	const struct folding *folding = context;
	const struct line *a = left, *b = right;
	const uint32_t nr = a->nr < b->nr ? a->nr : b->nr;
	for (uint32_t i = 0; i < nr; i++) {
		const bool is_same =
			folding->used.items[a->first + i] == folding->used.items[b->first + i] &&
			sign_behind(a, i) == sign_behind(b, i);
		const int order = is_same ? 0 : compare_names(folding, a, b, i);
		if (order)
			return order;
	}
	return (a->nr > b->nr) - (a->nr < b->nr);
}

static void add_line(const struct folding *folding, const struct line *line, uint64_t count,
		     struct text *out)
{
	for (uint32_t i = 0; i < line->nr; i++) {
		const struct name name = name_at(folding, line, i);
		text_add(out, i ? ";" : "");
		text_add_bytes(out, text_string(&folding->names_text) + name.at, name.size);
	}
	text_addf(out, " %llu\n", (unsigned long long)count);
}

/* Lines of equal text (other addresses of the same functions, other threads of one comm) are one. */
static int write_lines(struct folding *folding, const struct export_sink *sink)
{
	const struct line *lines = folding->lines.items;
	struct text out = {0};
	int result = 0;
	for (size_t i = 0; !result && i < folding->lines.nr;) {
		uint64_t count = 0;
		size_t j = i;
		for (; j < folding->lines.nr && !compare(&lines[j], &lines[i], folding); j++)
			count += lines[j].count;
		add_line(folding, &lines[i], count, &out);
		result = pieces_offer(sink, &out);
		i = j;
	}
	if (!result)
		result = pieces_flush(sink, &out);
	text_release(&out);
	return result;
}

static void release(struct folding *folding)
{
	free(folding->lines.items);
	free(folding->used.items);
	free(folding->comms.items);
	index_release(&folding->comms_index);
	text_release(&folding->names_text);
	free(folding->names.items);
}

int folded_write(const struct export_request *request)
{
	struct folding folding = {.history = request->history,
				  .count_samples = request->count_samples,
				  .by = request->grouping};
	int result = selection_each_stack(request->selection, fold, &folding);
	if (!result && folding.lines.nr)
		qsort_r(folding.lines.items, folding.lines.nr, sizeof(struct line), compare,
			&folding);
	if (!result)
		result = write_lines(&folding, request->sink);
	release(&folding);
	return result;
}

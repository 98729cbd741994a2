/* SPDX-License-Identifier: MIT */
#include <ctop/format/folded.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* One stack as text, and what it counts for. */
struct line {
	char *stack;
	uint64_t count;
};

/* Where the name of a function stands in the text of all names, as it is written. */
struct name {
	size_t at, size; /* size 0: not yet */
};

struct folding {
	struct history *history;
	enum folded_count count;
	struct text text; /* of the stack in hand */
	struct text names_text;
	struct {
		struct name *items; /* by function */
		size_t nr, capacity;
	} names;
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

/* Each name is cut and made safe once, however many stacks have it. NULL: out of memory. */
static const struct name *name_of(struct folding *folding, struct function_id function)
{
	size_t nr = (size_t)function.index + 1;
	if (vec_reserve(&folding->names, nr))
		return NULL;
	if (nr > folding->names.nr) {
		memset(folding->names.items + folding->names.nr, 0,
		       (nr - folding->names.nr) * sizeof(struct name));
		folding->names.nr = nr;
	}
	struct name *name = &folding->names.items[function.index];
	if (name->size)
		return name;
	const char *whole = history_function_name(folding->history, function);
	bool named = history_function_named(folding->history, function);
	name->at = folding->names_text.size;
	add_name(&folding->names_text, whole, named ? without_arguments(whole) : strlen(whole));
	name->size = folding->names_text.size - name->at;
	return folding->names_text.failed ? NULL : name;
}

static int fold(void *context, const struct history_stack *stack)
{
	struct folding *folding = context;
	struct text *text = &folding->text;
	text_clear(text);
	add_comm(text, stack->comm);
	for (size_t i = 0; i < stack->nr_frames; i++) {
		const struct name *name = name_of(folding, stack->frames[i].function);
		if (!name)
			return -ENOMEM;
		text_add(text, ";");
		text_add_bytes(text, text_string(&folding->names_text) + name->at, name->size);
	}
	if (text->failed || vec_reserve(&folding->lines, folding->lines.nr + 1))
		return -ENOMEM;
	char *copy = strdup(text_string(text));
	if (!copy)
		return -ENOMEM;
	uint64_t count = folding->count == FOLDED_SAMPLES ? stack->samples : stack->weight;
	folding->lines.items[folding->lines.nr++] = (struct line){copy, count};
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->stack, ((const struct line *)b)->stack);
}

/* Lines of equal text (other addresses of the same functions, other threads of one comm) are one. */
static void write_lines(const struct folding *folding, struct text *out)
{
	const struct line *lines = folding->lines.items;
	for (size_t i = 0; i < folding->lines.nr;) {
		uint64_t count = 0;
		size_t j = i;
		for (; j < folding->lines.nr && !strcmp(lines[j].stack, lines[i].stack); j++)
			count += lines[j].count;
		text_addf(out, "%s %llu\n", lines[i].stack, (unsigned long long)count);
		i = j;
	}
}

/* Writes what was folded, unless that failed, and lets go of it. */
static int finish(struct folding *folding, int result, struct text *out)
{
	if (!result && folding->lines.nr) {
		qsort(folding->lines.items, folding->lines.nr, sizeof(struct line), compare);
		write_lines(folding, out);
	}
	for (size_t i = 0; i < folding->lines.nr; i++)
		free(folding->lines.items[i].stack);
	free(folding->lines.items);
	text_release(&folding->text);
	text_release(&folding->names_text);
	free(folding->names.items);
	return !result && out->failed ? -ENOMEM : result;
}

int folded_write(struct history *history, struct selection *selection, enum folded_count count,
		 struct text *out)
{
	struct folding folding = {.history = history, .count = count};
	return finish(&folding, selection_each_stack(selection, fold, &folding), out);
}

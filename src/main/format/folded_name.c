/* SPDX-License-Identifier: MIT */
#include <ctop/format/folded_name.h>

#include <stdlib.h>
#include <string.h>

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

void folded_add_place(struct text *text, const char *name, size_t size)
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
	folded_add_place(text, name, size);
	if (is_inlined)
		text_add(text, "_[i]");
}

/* SPDX-License-Identifier: MIT */
/* A name in few columns: what is the same in many rows goes first, what tells them apart last. */
#include <ctop/base/function_name.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "…"

/* The first place from which at most so many columns follow. */
static const char *tail(const char *safe, size_t cols)
{
	size_t left = text_cols(safe);
	while (left > cols) {
		size_t wide = 1, size = text_fit(safe, wide);
		if (!size)
			size = text_fit(safe, ++wide);
		if (!size)
			break;
		safe += size;
		left -= wide;
	}
	return safe;
}

void name_add_elided(struct text *out, const char *safe, size_t cols)
{
	if (text_cols(safe) <= cols) {
		text_add(out, safe);
		return;
	}
	if (!cols)
		return;
	const size_t behind = (cols - 1) / 2;
	text_add_bytes(out, safe, text_fit(safe, cols - 1 - behind));
	text_add(out, ELLIPSIS);
	text_add(out, tail(safe, behind));
}

/* ---- scopes ---- */

/* Go's packages are paths; of a script, the path is where its function stands, and comes behind that. */
static bool has_path_in_front(const char *safe)
{
	return strchr(safe, '/') && !strchr(safe, ' ') && !strstr(safe, ":/");
}

/* Bytes of what parts two scopes; 0: nothing does. */
static size_t separator_size(const char *at, bool path)
{
	return at[0] == ':' && at[1] == ':' ? 2 : path && at[0] == '/';
}

/*
 * The separator before the longest end of the name that has room behind an ellipsis; the last one of all if none has. NULL:
 * there is none outside of brackets.
 */
static const char *scope_to_leave(const char *safe, size_t cols)
{
	const bool path = has_path_in_front(safe);
	const char *const fits = tail(safe, cols - 1);
	const char *last = NULL;
	int depth = 0;
	for (const char *at = safe; *at; at++) {
		if (strchr("<([{", *at)) {
			depth++;
		} else if (strchr(">)]}", *at)) {
			depth -= depth > 0; /* operator-> */
		} else if (!depth && separator_size(at, path)) {
			last = at;
			if (at >= fits)
				return at;
			at += separator_size(at, path) - 1;
		}
	}
	return last;
}

/* <alloc::vec::Vec<…> as core::iter::FromIterator<…>>: as <Vec<…> as FromIterator<…>>. */
static void leave_paths_of_qualifier(struct text *name)
{
	char *from = name->bytes, *to = name->bytes;
	for (int depth = 0; *from; from++) {
		depth += (*from == '<') - (*from == '>');
		if (depth && separator_size(from, false)) {
			while (to > name->bytes && !strchr("< &*([,", to[-1]))
				to--;
			from++;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	name->size = (size_t)(to - name->bytes);
}

/* A function's own name, marked where scopes before it were left out. Short arguments are the last to go. */
static void add_function(struct text *out, const char *name, bool scoped, size_t cols)
{
	const char *arguments = strchr(name, '<');
	struct text bare = {0};
	if (text_cols(name) > cols && arguments > name && !strstr(name, "operator"))
		text_add_bytes(&bare, name, (size_t)(arguments - name));
	else
		text_add(&bare, name);
	bool marked = scoped && text_cols(text_string(&bare)) < cols;
	text_add(out, marked ? ELLIPSIS : "");
	name_add_elided(out, text_string(&bare), cols - marked);
	text_release(&bare);
}

static void add_without_scopes(struct text *out, const char *safe, size_t cols)
{
	const char *scope = scope_to_leave(safe, cols);
	if (!scope) {
		add_function(out, safe, false, cols);
	} else if (text_cols(scope) < cols) {
		text_add(out, ELLIPSIS);
		text_add(out, scope);
	} else {
		add_function(out, scope + separator_size(scope, true), true, cols);
	}
}

/* ---- the whole name ---- */

/* The name at a level, safe; short of memory it stays as it is. */
static void add_level(struct text *out, const char *name, enum name_level level)
{
	const size_t room = strlen(name) + 1;
	char *shortened = level == NAME_FULL ? NULL : malloc(room);
	if (shortened)
		name_shorten(name, level, shortened, room);
	text_add_safe(out, shortened ? shortened : name);
	free(shortened);
}

/* What stands for a function's own template arguments. */
static void leave_arguments(struct text *name)
{
	static const char arguments[] = "<" ELLIPSIS ">";
	const size_t behind = sizeof(arguments) - 1;
	if (name->size <= behind || strcmp(name->bytes + name->size - behind, arguments) != 0)
		return;
	name->size -= behind;
	name->bytes[name->size] = '\0';
}

/* What a compiler made of it: "f [clone .constprop.0]". */
static void leave_clone(struct text *name)
{
	char *clone = strstr(name->bytes, " [clone ");
	if (!clone)
		return;
	*clone = '\0';
	name->size = (size_t)(clone - name->bytes);
}

void name_add_fit(struct text *out, const char *name, enum name_level level, size_t cols)
{
	struct text fit = {0};
	for (;; level++) {
		text_clear(&fit);
		add_level(&fit, name, level);
		if (!cols || text_cols(text_string(&fit)) <= cols)
			break;
		leave_clone(&fit);
		if (level == NAME_COLLAPSED)
			break;
	}
	if (cols && fit.size && fit.bytes[0] == '<' && text_cols(fit.bytes) > cols)
		leave_paths_of_qualifier(&fit);
	if (cols && text_cols(text_string(&fit)) > cols)
		leave_arguments(&fit);
	if (!cols || text_cols(text_string(&fit)) <= cols)
		text_add(out, text_string(&fit));
	else
		add_without_scopes(out, text_string(&fit), cols);
	out->failed |= fit.failed;
	text_release(&fit);
}

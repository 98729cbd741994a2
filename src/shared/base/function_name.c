/* SPDX-License-Identifier: MIT */
/*
 * A name is walked once at its outermost level; what stands in brackets is a group, taken over, replaced or left out
 * as a whole. Where brackets do not match, or something is nothing that these languages write, the name stays.
 */
#include <ctop/base/function_name.h>

#include <stdbool.h>
#include <string.h>

enum { NESTING_MOST = 200 };
/* Arguments like <false> and <12> say more than that there are some. */
enum { SHORT_BYTES = 8 };

struct output {
	char *bytes;
	size_t room, size;
	char left_out; /* the first byte that there was no room for */
};

struct walk {
	const char *name;
	size_t end;
	enum name_level level;
	bool only_groups; /* inside of a group: there are no parameters, only template arguments */
	struct output *output; /* NULL: just looking */
	size_t name_start;     /* behind the type returned */
	bool has_parameters;
};

static void put(struct output *output, const char *bytes, size_t size)
{
	if (!output)
		return;
	for (size_t i = 0; i < size; i++, output->size++)
		if (output->size + 1 < output->room)
			output->bytes[output->size] = bytes[i];
		else if (output->size + 1 == output->room)
			output->left_out = bytes[i];
}

/* ---- characters and words ---- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (c & 0x80);
}

static bool starts(const struct walk *walk, size_t at, const char *text)
{
	size_t size = strlen(text);
	return walk->end - at >= size && memcmp(walk->name + at, text, size) == 0;
}

/* The word, and maybe a space, right before a place is this one. */
static bool follows_word(const struct walk *walk, size_t at, const char *word)
{
	size_t size = strlen(word);
	if (at && walk->name[at - 1] == ' ')
		at--;
	return at >= size && memcmp(walk->name + at - size, word, size) == 0 &&
	       (at == size || !is_name_char(walk->name[at - size - 1]));
}

/*
 * Bytes of an operator's name at a place, "operator" included; 0: there is none. The type that a conversion goes to
 * is no part of it.
 */
static size_t operator_size(const struct walk *walk, size_t at)
{
	static const char *const words[] = {" new[]", " delete[]", " new", " delete", " co_await"};
	static const char *const signs[] = {
		"()", "[]", "<=>", "<<=",   ">>=",  "->*", "<<", ">>", "<=", ">=", "->",
		"==", "!=", "&&",  "||",    "++",   "--",  "+=", "-=", "*=", "/=", "%=",
		"&=", "|=", "^=",  "\"\" ", "\"\"", "<",   ">",	 "+",  "-",  "*",  "/",
		"%",  "&",  "|",   "^",	    "~",    "!",   "=",	 ",",
	};
	const size_t size = sizeof("operator") - 1;
	if (walk->name[at] != 'o' || (at && is_name_char(walk->name[at - 1])) ||
	    !starts(walk, at, "operator"))
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (starts(walk, at + size, words[i]))
			return size + strlen(words[i]);
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (starts(walk, at + size, signs[i]))
			return size + strlen(signs[i]);
	return 0;
}

static bool is_opening(char c)
{
	return c == '(' || c == '[' || c == '{' || c == '<';
}

static bool is_closing(char c)
{
	return c == ')' || c == ']' || c == '}' || c == '>';
}

static char closing(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

/* A closing bracket: an < still open inside of round brackets was a comparison. False: it closes nothing. */
static bool close_bracket(const char *open, size_t *nr, char c)
{
	if (c == '>') {
		*nr -= open[*nr - 1] == '<';
		return true;
	}
	while (*nr > 1 && open[*nr - 1] == '<')
		--*nr;
	if (closing(open[*nr - 1]) != c)
		return false;
	--*nr;
	return true;
}

/* The place behind the group that opens at one. 0: it does not close. */
static size_t group_end(const struct walk *walk, size_t at)
{
	char open[NESTING_MOST];
	size_t nr = 0;
	while (at < walk->end) {
		char c = walk->name[at];
		size_t size = operator_size(walk, at);
		if (!size && starts(walk, at, "->"))
			size = 2;
		if (size) {
			at += size;
			continue;
		}
		if (is_opening(c)) {
			if (nr == NESTING_MOST)
				return 0;
			open[nr++] = c;
		} else if (is_closing(c) && !close_bracket(open, &nr, c)) {
			return 0;
		}
		at++;
		if (!nr)
			return at;
	}
	return 0;
}

/* ---- groups ---- */

static bool walk_name(struct walk *walk, size_t at);

/* Takes a group over, with the template arguments in it collapsed. */
static bool put_inside(const struct walk *walk, size_t at, size_t end)
{
	struct walk inside = *walk;
	inside.name += at + 1;
	inside.end = end - at - 2;
	inside.only_groups = true;
	put(walk->output, walk->name + at, 1);
	if (!walk_name(&inside, 0))
		return false;
	put(walk->output, walk->name + end - 1, 1);
	return true;
}

static bool has(const struct walk *walk, size_t at, size_t end, const char *text)
{
	return memmem(walk->name + at, end - at, text, strlen(text)) != NULL;
}

/* <T as Trait>, <impl Trait for T>: part of the name. */
static bool is_qualifier(const struct walk *walk, size_t at, size_t end)
{
	return has(walk, at, end, " as ") || starts(walk, at + 1, "impl ") ||
	       (at == 0 && !walk->only_groups && has(walk, at, end, "::"));
}

static bool is_template(const struct walk *walk, size_t at, size_t end)
{
	if (at == 0)
		return false;
	char before = walk->name[at - 1];
	if (at > 1 && before == ':' && walk->name[at - 2] == ':') /* f::<T>, not Class::<init> */
		return strcspn(walk->name + at + 1, ":<,&[( ") < end - at - 2;
	return is_name_char(before) || before == ']' || before == ')' || before == '}';
}

static bool put_angles(const struct walk *walk, size_t at, size_t end)
{
	if (walk->level == NAME_COLLAPSED && is_qualifier(walk, at, end))
		return put_inside(walk, at, end);
	if (walk->level == NAME_COLLAPSED && is_template(walk, at, end) && end - at > SHORT_BYTES)
		put(walk->output, "<…>", 5);
	else
		put(walk->output, walk->name + at, end - at);
	return true;
}

/* Go writes its type arguments like this; what follows no name is a slice, "[abi:...]" and "[clone ...]" are no arguments. */
static void put_squares(const struct walk *walk, size_t at, size_t end)
{
	bool arguments = at && is_name_char(walk->name[at - 1]) && !starts(walk, at, "[abi:");
	if (walk->level == NAME_COLLAPSED && arguments && end - at > SHORT_BYTES)
		put(walk->output, "[…]", 5);
	else
		put(walk->output, walk->name + at, end - at);
}

/* {lambda(int)#1} without its parameters. */
static void put_braces(const struct walk *walk, size_t at, size_t end)
{
	size_t open = at + sizeof("{lambda") - 1;
	if (starts(walk, at, "{lambda(")) {
		size_t after = group_end(walk, open);
		if (after && after < end) {
			put(walk->output, walk->name + at, open - at);
			put(walk->output, walk->name + after, end - after);
			return;
		}
	}
	put(walk->output, walk->name + at, end - at);
}

/* What belongs to parameters behind them: const, &, noexcept. */
static size_t skip_qualifiers(const struct walk *walk, size_t at)
{
	static const char *const words[] = {" const", " volatile", " noexcept", " &", "&"};
	const size_t nr = sizeof(words) / sizeof(*words);
	for (size_t i = 0; i < nr;) {
		size_t size = strlen(words[i]);
		bool whole = at + size == walk->end ||
			     (at + size < walk->end && !is_name_char(walk->name[at + size]));
		if (whole && starts(walk, at, words[i])) {
			at += size;
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

/* Parameters are left out; "(anonymous namespace)", Go's receivers and the like are names. *at moves on. */
static bool put_rounds(struct walk *walk, size_t *at, size_t end)
{
	char before = *at ? walk->name[*at - 1] : ':';
	if (before == '.') {
		size_t from = *at;
		*at = end;
		return put_inside(walk, from, end);
	}
	if (walk->only_groups || before == ':' || before == '/' ||
	    follows_word(walk, *at, "decltype") || starts(walk, *at, "(anonymous")) {
		put(walk->output, walk->name + *at, end - *at);
		*at = end;
		return true;
	}
	if (before == ' ') /* int (*f())(int), or nothing of ours */
		return false;
	walk->has_parameters = true;
	*at = skip_qualifiers(walk, end);
	return true;
}

/* The type of a conversion operator goes up to its empty parameters. False: there are none. */
static bool put_conversion(struct walk *walk, size_t *at)
{
	size_t to = *at;
	while (to < walk->end && !starts(walk, to, "()")) {
		to = is_opening(walk->name[to]) ? group_end(walk, to) : to + 1;
		if (!to)
			return false;
	}
	if (to >= walk->end)
		return false;
	struct walk type = *walk;
	type.name += *at;
	type.end = to - *at;
	type.only_groups = true;
	*at = to;
	return walk_name(&type, 0);
}

/* Whatever stands in brackets at *at. */
static bool put_group(struct walk *walk, size_t *at)
{
	size_t from = *at, end = group_end(walk, from);
	if (!end)
		return false;
	if (walk->name[from] == '(')
		return put_rounds(walk, at, end);
	*at = end;
	if (walk->name[from] == '<')
		return put_angles(walk, from, end);
	if (walk->name[from] == '[')
		put_squares(walk, from, end);
	else
		put_braces(walk, from, end);
	return true;
}

static bool put_operator(struct walk *walk, size_t *at, size_t size)
{
	put(walk->output, walk->name + *at, size);
	*at += size;
	bool spaced = starts(walk, *at, " <"); /* operator<< <char> */
	if (!spaced && !starts(walk, *at, "<"))
		return true;
	size_t end = group_end(walk, *at + spaced);
	if (!end)
		return false;
	if (walk->level == NAME_COLLAPSED && end - *at > SHORT_BYTES)
		put(walk->output, "<…>", 5);
	else
		put(walk->output, walk->name + *at, end - *at);
	*at = end;
	return true;
}

/* False: not to be shortened. */
static bool walk_name(struct walk *walk, size_t at)
{
	const size_t first = at;
	while (at < walk->end) {
		char c = walk->name[at];
		size_t size = operator_size(walk, at);
		if (size) {
			if (!put_operator(walk, &at, size))
				return false;
		} else if (!walk->only_groups && starts(walk, at, "operator ") &&
			   (at == first || !is_name_char(walk->name[at - 1]))) {
			size = sizeof("operator ") - 1;
			put(walk->output, walk->name + at, size);
			at += size;
			if (!put_conversion(walk, &at))
				return false;
			/* Its parameters follow, and nothing names them but where they are. */
			walk->has_parameters = true;
			at = skip_qualifiers(walk, at + 2);
		} else if (is_opening(c)) {
			if (!put_group(walk, &at))
				return false;
		} else if (is_closing(c) && c != '>') {
			return false;
		} else {
			if (c == ' ' && !walk->has_parameters)
				walk->name_start = at + 1;
			put(walk->output, walk->name + at, 1);
			at++;
		}
	}
	return true;
}

/* ---- the whole name ---- */

/* Rust's ::h and 16 digits at the end say nothing to a reader. */
static size_t without_hash(const char *name, size_t size)
{
	const size_t hash = sizeof("::h") - 1 + 16;
	if (size <= hash || memcmp(name + size - hash, "::h", 3) != 0)
		return size;
	for (size_t i = size - 16; i < size; i++)
		if (!strchr("0123456789abcdef", name[i]))
			return size;
	return size - hash;
}

/* Behind the type returned, which only names with parameters have; "vtable for", "thunk to" are none. */
static size_t name_start(const struct walk *walk)
{
	if (!walk->has_parameters || follows_word(walk, walk->name_start, "for") ||
	    follows_word(walk, walk->name_start, "to"))
		return 0;
	return walk->name_start;
}

static size_t finish(struct output *output)
{
	if (!output->room)
		return output->size;
	size_t end = output->size;
	if (end >= output->room) {
		end = output->room - 1;
		char next = output->left_out;
		/* In the middle of a character: back to where it starts. */
		for (int i = 0; i < 3 && end && (next & 0xc0) == 0x80; i++)
			next = output->bytes[--end];
	}
	output->bytes[end] = '\0';
	return output->size;
}

size_t name_shorten(const char *name, enum name_level level, char *out, size_t room)
{
	struct output output = {.bytes = out, .room = room};
	struct walk walk = {.name = name, .end = strlen(name), .level = level};
	bool objective_c = (name[0] == '-' || name[0] == '+') && name[1] == '[';
	if (level != NAME_FULL && !objective_c) {
		walk.end = without_hash(name, walk.end);
		if (walk_name(&walk, 0)) {
			size_t start = name_start(&walk);
			struct walk again = {.name = name + start,
					     .end = walk.end - start,
					     .level = level,
					     .output = &output};
			if (walk_name(&again, 0))
				return finish(&output);
			output.size = 0;
		}
	}
	put(&output, name, strlen(name));
	return finish(&output);
}

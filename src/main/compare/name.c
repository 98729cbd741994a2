/* SPDX-License-Identifier: MIT */
#include <ctop/compare/name.h>

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	RUST_HASH_DIGITS = 16,
	ARGUMENT_BYTES_MOST = 512 /* longer ones stay: names are untrusted, and their commas many */
};

static bool begins(const char *at, size_t size, const char *with)
{
	const size_t length = strlen(with);
	return size >= length && memcmp(at, with, length) == 0;
}

static size_t hex_digits(const char *at, size_t size)
{
	size_t nr = 0;
	while (nr < size && isxdigit((unsigned char)at[nr]))
		nr++;
	return nr;
}

/* ---- the end of a name ---- */

/* ".cold", ".part.12", ".constprop.0": the size that is left without it, or size. */
static size_t without_clone(const char *name, size_t size)
{
	static const char *const suffixes[] = {".constprop", ".isra",	  ".part",	 ".cold",
					       ".llvm",	     ".lto_priv", ".localalias", ".clone"};
	size_t end = size;
	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	/* The number is optional, its dot goes with it. */
	if (end < size && end && name[end - 1] == '.')
		end--;
	else
		end = size;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const size_t length = strlen(suffixes[i]);
		if (end > length && memcmp(name + end - length, suffixes[i], length) == 0)
			return end - length;
	}
	return size;
}

/* " [clone .constprop.0]", as demanglers write it. */
static size_t without_marked_clone(const char *name, size_t size)
{
	static const char mark[] = " [clone ";
	if (!size || name[size - 1] != ']')
		return size;
	for (size_t at = size; at-- > 1;)
		if (begins(name + at, size - at, mark))
			return at;
	return size;
}

/* "::h0123456789abcdef" */
static size_t without_hash(const char *name, size_t size)
{
	enum { SIZE = RUST_HASH_DIGITS + 3 };
	const char *hash = name + size - SIZE;
	return size > SIZE && begins(hash, SIZE, "::h") &&
			       hex_digits(hash + 3, RUST_HASH_DIGITS) == RUST_HASH_DIGITS
		       ? size - SIZE
		       : size;
}

static size_t without_suffixes(const char *name)
{
	size_t size = strlen(name), before;
	do {
		before = size;
		size = without_clone(name, size);
		size = without_marked_clone(name, size);
		size = without_hash(name, size);
	} while (size < before);
	return size;
}

/* ---- inside it ---- */

/* From an argument's first byte to the ',' or '>' behind it; 0: they are far, or its brackets do not match. */
static size_t argument_size(const char *at, size_t size)
{
	size_t depth = 0;
	for (size_t i = 0; i < size && i < ARGUMENT_BYTES_MOST; i++) {
		if (strchr("<([{", at[i])) {
			depth++;
		} else if (strchr(">)]}", at[i])) {
			if (!depth)
				return at[i] == '>' ? i : 0;
			depth--;
		} else if (at[i] == ',' && !depth) {
			return i;
		}
	}
	return 0;
}

/* Behind a comma: how many bytes of a default argument follow; 0: it is another. */
static size_t default_argument(const char *at, size_t size)
{
	static const char *const defaults[] = {"std::allocator<", "std::char_traits<",
					       "std::less<",	  "std::hash<",
					       "std::equal_to<",  "std::default_delete<"};
	const size_t blank = size && *at == ' ';
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		if (!begins(at + blank, size - blank, defaults[i]))
			continue;
		const size_t argument = argument_size(at + blank, size - blank);
		return argument ? blank + argument : 0;
	}
	return 0;
}

/* "[0123456789abcdef]" behind a crate's name. */
static size_t crate_hash(const char *at, size_t size)
{
	const size_t digits = size ? hex_digits(at + 1, size - 1) : 0;
	return size && *at == '[' && digits >= 8 && digits <= RUST_HASH_DIGITS &&
			       digits + 1 < size && at[digits + 1] == ']'
		       ? digits + 2
		       : 0;
}

/* How many bytes at a place of the name differ by build. */
static size_t passing_bytes(const char *name, size_t at, size_t size)
{
	static const char *const versions[] = {"__1::", "__cxx11::"};
	const char *here = name + at;
	size_t nr = 0;
	if (*here == ',') {
		nr = default_argument(here + 1, size - at - 1);
		return nr ? nr + 1 : 0;
	}
	if (*here == ' ') /* "> >", as it was written once */
		return at && name[at - 1] == '>' && at + 1 < size && here[1] == '>';
	if (*here == '[' && at)
		return crate_hash(here, size - at);
	for (size_t i = 0; *here == '_' && !nr && i < sizeof(versions) / sizeof(*versions); i++)
		if (at >= 2 && name[at - 1] == ':' && begins(here, size - at, versions[i]))
			nr = strlen(versions[i]);
	return nr;
}

void name_add_stable(struct text *out, const char *name)
{
	const size_t size = without_suffixes(name);
	size_t from = 0;
	for (size_t at = 0; at < size;) {
		const size_t passing = passing_bytes(name, at, size);
		if (passing) {
			text_add_bytes(out, name + from, at - from);
			from = at + passing;
		}
		at += passing ? passing : 1;
	}
	text_add_bytes(out, name + from, size - from);
}

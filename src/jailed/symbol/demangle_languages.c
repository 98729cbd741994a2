/* SPDX-License-Identifier: MIT */
#include "demangle_languages.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/*
 * The demanglers of D and Ada return what they have allocated, and end the process where there is no memory. A hundred bytes of D can
 * stand for gigabytes. So the two functions by which libiberty allocates are ours: what is beyond the limit ends the demangler
 * by a jump. What it had is lost then, so after some such names no more of D is demangled. They are called without any
 * context of ours: what they allocate from is an object with static storage.
 */
enum { MANGLED_MAX = 4096, BYTES_MAX = 1 << 20, LOST_MAX = 16 };

static struct {
	bool in_use;
	size_t left;
	jmp_buf none_left;
	int lost;
} memory;

void *xmalloc(size_t size);
void *xrealloc(void *old, size_t size);

static void *checked(void *bytes)
{
	if (bytes)
		return bytes;
	if (memory.in_use)
		longjmp(memory.none_left, 1);
	abort(); /* nobody else calls libiberty's functions that allocate */
}

static bool take(size_t size)
{
	if (size > memory.left)
		return false;
	memory.left -= size;
	return true;
}

void *xmalloc(size_t size)
{
	return checked(take(size) ? malloc(size ? size : 1) : NULL);
}

/* The old bytes count on: it is asked for twice as many each time. */
void *xrealloc(void *old, size_t size)
{
	return checked(take(size) ? realloc(old, size ? size : 1) : NULL);
}

/* To be freed; NULL: it is none of that language's names, or has no end. */
static char *demangled(char *(*function)(const char *name, int options), const char *name)
{
	char *volatile result = NULL;
	if (memory.lost >= LOST_MAX)
		return NULL;
	memory.in_use = true;
	memory.left = BYTES_MAX;
	if (!setjmp(memory.none_left))
		result = function(name, DMGL_PARAMS | DMGL_ANSI);
	else
		memory.lost++;
	memory.in_use = false;
	return result;
}

/* What does not fit ends in "...". */
static bool show(const char *name, const char *suffix, char *out, size_t out_bytes)
{
	const int used = *suffix ? snprintf(out, out_bytes, "%s [clone %s]", name, suffix)
				 : snprintf(out, out_bytes, "%s", name);
	if (used >= 0 && (size_t)used >= out_bytes)
		memcpy(out + out_bytes - 4, "...", 4);
	return used > 0;
}

bool demangle_d(const char *name, char *out, size_t out_bytes)
{
	char base[MANGLED_MAX + 1];
	const size_t size = strcspn(name, ".");
	if (strncmp(name, "_D", 2) != 0 || size > MANGLED_MAX || out_bytes < 16)
		return false;
	memcpy(base, name, size);
	base[size] = '\0';
	char *found = demangled(dlang_demangle, base);
	const bool done = found && show(found, name + size, out, out_bytes);
	free(found);
	return done;
}

bool demangle_ada(const char *name, char *out, size_t out_bytes)
{
	if (strlen(name) > MANGLED_MAX || out_bytes < 16)
		return false;
	char *found = demangled(ada_demangle, name);
	/* What it does not know comes in angle brackets. */
	const bool done = found && found[0] != '<' && show(found, "", out, out_bytes);
	free(found);
	return done;
}

static int hex_digit(char letter)
{
	const char *digits = "0123456789abcdef", *at = letter ? strchr(digits, letter) : NULL;
	return at ? (int)(at - digits) : -1;
}

/*
 * OCaml's compiler writes camlModule__Inner__name_123: modules and a name, each with two underscores before it (a dot since
 * 5.1), what is no letter as $ and two digits, and a number that tells functions of one name apart.
 */
bool demangle_ocaml(const char *name, char *out, size_t out_bytes)
{
	static const char prefix[] = "caml";
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 ||
	    !isupper((unsigned char)name[sizeof(prefix) - 1]) || out_bytes < 16)
		return false;
	size_t used = 0;
	for (const char *at = name + sizeof(prefix) - 1; *at;) {
		if (used + 4 >= out_bytes) {
			memcpy(out + used, "...", 4);
			return true;
		}
		const int high = at[0] == '$' ? hex_digit(at[1]) : -1;
		const int low = high >= 0 ? hex_digit(at[2]) : -1;
		if (low >= 0 && high * 16 + low) {
			out[used++] = (char)(high * 16 + low);
			at += 3;
		} else if (at[0] == '_' && at[1] == '_' && at[2]) {
			out[used++] = '.';
			at += 2;
		} else {
			out[used++] = *at++;
		}
	}
	out[used] = '\0';
	return true;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/demangle.h>

#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <libiberty/demangle.h>

#include "demangle_languages.h"

/*
 * Names come from untrusted files, and a hundred bytes can stand for
 * gigabytes (substitutions double at each step) or for thousands of nested calls.
 * So the input is bounded, and the output is taken piece by piece: what the
 * caller's buffer does not hold is dropped, and when that becomes much, the
 * demangler is left with a jump. C++'s holds nothing at that point, Rust's at most a
 * decoded identifier of some KiB, lost for such names only.
 *
 * The longest C++ names seen in large template libraries have 2,000 bytes.
 * libiberty's own limit on the input (1,024 bytes) would refuse those, so it is
 * lifted; 4,096 bytes of the deepest nesting need less than 1 MiB of stack.
 * Rust's demangler keeps its limit, which is one on the depth only.
 */
enum { MANGLED_MAX = 4096, DROPPED_MAX = 64 << 10 };
enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP };

struct output {
	char *at;
	size_t left; /* without the NUL */
	size_t dropped;
	jmp_buf enough;
};

static void take(const char *piece, size_t size, void *context)
{
	struct output *output = context;
	size_t taken = size < output->left ? size : output->left;
	if (taken)
		memcpy(output->at, piece, taken);
	output->at += taken;
	output->left -= taken;
	output->dropped += size - taken;
	if (output->dropped > DROPPED_MAX)
		longjmp(output->enough, 1);
}

typedef int demangle_function(const char *name, int options, demangle_callbackref callback,
			      void *context);

/* True when the name was one of this demangler's; what did not fit ends in "...". */
static bool run(demangle_function *function, const char *name, int options, struct output *output)
{
	if (!setjmp(output->enough) && !function(name, options, take, output))
		return false;
	if (output->dropped)
		memcpy(output->at - 3, "...", 3);
	*output->at = '\0';
	return true;
}

/*
 * Copies the name without ".llvm.NUMBER", which clang adds to what it exports
 * from one unit to another: it says nothing, and differs from build to build.
 */
static void copy_without_llvm(const char *name, char *copy)
{
	static const char mark[] = ".llvm.";
	const char *cut = strstr(name, mark);
	const char *rest = cut ? cut + strlen(mark) : NULL;
	while (rest && isdigit((unsigned char)*rest))
		rest++;
	if (!rest || (*rest && *rest != '.')) {
		strcpy(copy, name);
		return;
	}
	memcpy(copy, name, (size_t)(cut - name));
	strcpy(copy + (cut - name), rest);
}

/* ".cold" and the like behind a Rust name; its demangler passes over them in
 * silence. "" when none. */
static const char *rust_suffix(const char *name)
{
	static const char digits[] = "0123456789abcdef";
	if (name[1] == 'R') {
		const char *dot = strchr(name, '.');
		return dot ? dot : "";
	}
	/* A legacy name ends in a hash, "17h" and 16 digits, and "E". */
	for (const char *at = strstr(name, "17h"); at; at = strstr(at + 1, "17h"))
		if (strspn(at + 3, digits) == 16 && at[19] == 'E')
			return at + 20;
	return "";
}

static bool demangle_rust(const char *name, char *out, size_t out_bytes)
{
	struct output output = {.at = out, .left = out_bytes - 1};
	if (!run(rust_demangle_callback, name, OPTIONS, &output))
		return false;
	const char *suffix = rust_suffix(name);
	size_t used = strlen(out);
	/* In the words that C++'s demangler has for it. */
	if (*suffix)
		snprintf(out + used, out_bytes - used, " [clone %s]", suffix);
	return true;
}

static bool demangle_cplus(const char *name, char *out, size_t out_bytes)
{
	struct output output = {.at = out, .left = out_bytes - 1};
	return run(cplus_demangle_v3_callback, name, OPTIONS | DMGL_NO_RECURSE_LIMIT, &output);
}

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
	       strncmp(name, "_GLOBAL_", 8) == 0;
}

bool demangle(const char *name, char *out, size_t out_bytes)
{
	char copy[MANGLED_MAX + 1];
	if (out_bytes >= 16 &&
	    (demangle_d(name, out, out_bytes) || demangle_ocaml(name, out, out_bytes)))
		return true;
	if (out_bytes < 16 || !is_mangled(name) || strnlen(name, sizeof(copy)) == sizeof(copy))
		return false;
	copy_without_llvm(name, copy);
	/* Rust first: its legacy names are C++ names with a hash at the end. */
	return demangle_rust(copy, out, out_bytes) || demangle_cplus(copy, out, out_bytes);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/symbolizer.h>

#include <libiberty/demangle.h>
#include <string.h>

/*
 * Names come from files that strangers wrote, and some short ones expand to
 * gigabytes: what goes in and what comes out is bounded. The demanglers hand out their
 * text piece by piece, so nothing beyond the bound is ever stored.
 */
enum { MANGLED_MAX = 8192 };

struct bounded {
	char *at;
	size_t left; /* room for the NUL kept apart */
};

static void take(const char *piece, size_t size, void *context)
{
	struct bounded *out = context;
	if (size > out->left)
		size = out->left;
	memcpy(out->at, piece, size);
	out->at += size;
	out->left -= size;
}

bool demangle(const char *name, char *out, size_t out_bytes)
{
	struct bounded bounded = {out, out_bytes - 1};
	/* Return types, which only templates have, would hide where names begin. */
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;
	if (strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return false;
	/* Rust first: its legacy names are C++ names with a hash at the end. */
	bool done = rust_demangle_callback(name, options, take, &bounded);
	if (!done && name[0] == '_' && name[1] == 'Z') {
		bounded = (struct bounded){out, out_bytes - 1};
		done = cplus_demangle_v3_callback(name, options, take, &bounded);
	}
	*bounded.at = '\0';
	return done;
}

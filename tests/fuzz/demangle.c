/* SPDX-License-Identifier: MIT */
/* A symbol's name to every demangler: a byte that says how much room the answer has, then the name. */
#include <ctop/symbol/demangle.h>

#include "fuzz.h"
#include "jailed/symbol/demangle_languages.h"

/* What a name that has no end had is lost, within a bound. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:xmalloc\nleak:xrealloc\n";
}

typedef bool demangler(const char *name, char *out, size_t out_bytes);

static void check_demangler(demangler *function, const char *name, size_t room)
{
	/* On the heap, where a sanitizer sees both ends. */
	char *out = malloc(room), *again = malloc(room);
	REQUIRE(out && again);
	const bool done = function(name, out, room);
	REQUIRE(function(name, again, room) == done);
	if (done)
		REQUIRE(memchr(out, '\0', room) && strcmp(out, again) == 0);
	free(out);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	const size_t room = 16 + 16 * (size_t)input_u8(&input);
	char *name = malloc(input.left + 1);
	REQUIRE(name != NULL);
	memcpy(name, input.at, input.left);
	name[input.left] = '\0';
	check_demangler(demangle, name, room);
	check_demangler(demangle_d, name, room);
	check_demangler(demangle_ada, name, room);
	check_demangler(demangle_ocaml, name, room);
	free(name);
	return 0;
}

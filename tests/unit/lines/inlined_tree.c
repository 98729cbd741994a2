/* SPDX-License-Identifier: MIT */
/* What is told of a whole function is what is found address by address: in this program. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/elf/object.h>
#include <ctop/elf/section.h>

#include "jailed/lines/inlined_tree.h"
#include <ctop/lines/source_lines.h>
#include "test.h"

enum { ADDRESSES_MAX = 1 << 17, STEP = 3 };

#define INLINE static inline __attribute__((always_inline))

INLINE int innermost(int number)
{
	return number * number / 3;
}

INLINE int middle(int number)
{
	return number & 1 ? innermost(number + 1) : innermost(number) - 7;
}

/* So that there is something of that kind however the rest is compiled. */
__attribute__((noinline)) int with_inlined(int number)
{
	for (int i = 0; i < number; i++)
		number += middle(number) ^ middle(i);
	return number;
}

static bool is_same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Returns how many were inlined there. */
static size_t compare_at(struct source_lines *lines, uint64_t address, uint64_t id)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_call call;
	const size_t nr = source_lines_find(lines, address, frames, SOURCE_FRAMES_MAX);
	size_t at = 0;
	for (; id && at + 1 < nr; id = call.outer, at++) {
		CHECK(source_lines_call(lines, id, &call));
		CHECK(is_same(call.function, frames[at].function));
		CHECK(is_same(call.file, frames[at + 1].file));
		CHECK_EQ(call.line, frames[at + 1].line);
	}
	CHECK(!id && at + 1 == nr);
	return at;
}

static void every_address_of_this_program(void)
{
	struct error error;
	struct object *object = object_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &error);
	CHECK(object != NULL);
	struct source_lines *lines = source_lines_new(object_elf(object), NULL);
	Elf64_Shdr text;
	size_t nr_inlined = 0, deepest = 0, nr = 0;
	CHECK(lines != NULL && elf_section_named(object_elf(object), ".text", &text));
	struct source_inlined inlined = {0};
	bool is_known = false;
	for (uint64_t at = text.sh_addr; at < text.sh_addr + text.sh_size && nr < ADDRESSES_MAX;
	     at += STEP) {
		if (at >= inlined.end) {
			is_known = source_lines_inlined(lines, at, &inlined);
			CHECK(!inlined.is_too_much && (!is_known || inlined.end > at));
		}
		if (!is_known) {
			inlined.end = at + 1;
			continue;
		}
		const size_t deep = compare_at(lines, at, inlined.call);
		nr_inlined += deep > 0;
		deepest = deep > deepest ? deep : deepest;
		nr++;
	}
	CHECK(nr > 1000 && nr_inlined > 0 && deepest >= 2);
	CHECK(with_inlined(3) != 0);
	source_lines_free(lines);
	object_free(object);
}

int main(void)
{
	RUN(every_address_of_this_program);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/*
 * What -gsplit-dwarf has put into a file of its own: the size of a program, the program, and then a .dwo file or a package, for each of its
 * units. Whatever both say, a unit's parts lie in their sections, and a unit is given once.
 */
#include <string.h>

#include <ctop/elf/object.h>

#include "fuzz.h"
#include <ctop/lines/source_lines.h>
#include "jailed/lines/split_file.h"

enum { FRAMES = 8 };

static const uint64_t ids[] = {0x1122334455667788, 0x1122334455667789, 0, UINT64_MAX};
enum { NR_IDS = sizeof(ids) / sizeof(ids[0]) };

static void check_part(Elf *elf, const char *name, struct section_bytes part)
{
	const struct section_bytes whole = split_bytes_of(elf, name);
	REQUIRE(part.size <= whole.size);
	REQUIRE(!part.size ||
		(part.at >= whole.at && part.at - whole.at <= (ptrdiff_t)(whole.size - part.size)));
}

static void check_parts(Elf *elf)
{
	static const char *const names[NR_SPLIT_SECTIONS] = {
		".debug_info.dwo",	  ".debug_abbrev.dwo",	 ".debug_str.dwo",
		".debug_str_offsets.dwo", ".debug_rnglists.dwo",
	};
	for (size_t i = 0; i < NR_IDS; i++) {
		struct section_bytes parts[NR_SPLIT_SECTIONS];
		if (!split_file_find(elf, ids[i], parts))
			continue;
		for (int part = 0; part < NR_SPLIT_SECTIONS; part++)
			check_part(elf, names[part], parts[part]);
	}
}

static void look_up(struct source_lines *lines, uint64_t address)
{
	struct source_frame frames[FRAMES];
	const size_t nr = source_lines_find(lines, address, frames, FRAMES);
	REQUIRE(nr <= FRAMES);
	for (size_t i = 0; i < nr; i++)
		REQUIRE(frames[i].function && frames[i].file &&
			strlen(frames[i].function) < SIZE_MAX);
}

/* Up to where it is said to be so; calls are in others, which end. */
static void look_up_call(struct source_lines *lines, uint64_t address)
{
	struct source_inlined inlined;
	struct source_call call;
	if (!source_lines_inlined(lines, address, &inlined))
		return;
	REQUIRE(inlined.end > address);
	int depth = 0;
	for (uint64_t id = inlined.call; id && source_lines_call(lines, id, &call); id = call.outer)
		REQUIRE(call.function && call.file && ++depth < SOURCE_FRAMES_MAX);
}

static void check_lines(Elf *program, Elf *split)
{
	static const uint64_t addresses[] = {0,	     0xfff,  0x1000, 0x1003, 0x1008,
					     0x1010, 0x1020, 0x103f, 0x1040, UINT64_MAX};
	struct source_lines *lines = source_lines_new(program, NULL);
	for (size_t i = 0; lines && i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		look_up(lines, addresses[i]);
		const uint64_t id = source_lines_split_id(lines, addresses[i]);
		const bool is_given = source_lines_give_split(lines, addresses[i], split);
		REQUIRE(id || !is_given);
		if (is_given)
			REQUIRE(!source_lines_give_split(lines, addresses[i], split));
		else
			source_lines_give_split(lines, addresses[i], NULL);
		REQUIRE(!source_lines_split_id(lines, addresses[i]));
		look_up(lines, addresses[i]);
		look_up_call(lines, addresses[i]);
	}
	source_lines_free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	struct error error;
	const int open_before = fuzz_open_descriptors();
	size_t program_bytes = input_u32(&input);
	const uint8_t *first = input_bytes(&input, &program_bytes);
	struct object *program = object_open(fuzz_file(first, program_bytes), &error);
	struct object *split = object_open(fuzz_file(input.at, input.left), &error);
	if (split)
		check_parts(object_elf(split));
	if (program && split)
		check_lines(object_elf(program), object_elf(split));
	object_free(split);
	object_free(program);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}

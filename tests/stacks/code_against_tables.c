/* SPDX-License-Identifier: MIT */
/*
 * Rules that are read from code beside those of the tables, instruction by instruction: the file's own unwind table is
 * the oracle. FILE...: these files; without, the C library.
 */
#include <ctop/elf/eh_scan.h>
#include <ctop/elf/object.h>

#include <fcntl.h>
#include <unistd.h>

#include <ctop/cfi/cfi.h>
#include <ctop/machine/instruction.h>
#include "test.h"

enum { FUNCTIONS_A_LOOK = 64, PRINTED_MAX = 5 }; /* libc alone has 300,000 instructions */

static struct {
	const char *path;
	struct cfi *cfi;
	struct code_reader *reader;
	size_t equal, other_register, missing, wrong;
} t;

static const char *path_of_libc(void)
{
	static char path[512];
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so") && sscanf(line, "%*s %*s %*s %*s %*s %511s", path) == 1)
			break;
	if (maps)
		fclose(maps);
	return path[0] ? path : NULL;
}

/*
 * Where both say that a register was saved it is at the same place. Tables may say so later, or still, where it has its
 * value anyway.
 */
static bool agree(const struct rule *table, const struct code_rule *code)
{
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		const struct code_location *saved = &code->saved[i];
		const int slot = table->saved[i];
		if (slot != 0 && saved->known && saved->reg == UNWIND_PC &&
		    saved->offset != -slot * MACHINE_ADDRESS_BYTES)
			return false;
	}
	return table->offset == code->offset;
}

static void compare(uint64_t address, bool after_call)
{
	struct rule table;
	struct code_rule code;
	cfi_rule(t.cfi, address, &table);
	if (table.kind != RULE_OFFSET)
		return;
	if (cfi_code_rule(t.cfi, t.reader, address, after_call, &code) != CODE_RULE ||
	    (code.guessed && code.ways == CODE_FROM_START)) {
		t.missing++;
	} else if (code.in_memory || code.cfa_register != table.cfa_register) {
		t.other_register++;
	} else if (agree(&table, &code)) {
		t.equal++;
	} else if (t.wrong++ < PRINTED_MAX) {
		printf("# %s: %llx: CFA %d, by its table %d\n", t.path, (unsigned long long)address,
		       code.offset, table.offset);
	}
}

static void compare_function(const struct object *object, const struct fde_entry *function)
{
	struct object_code code;
	struct instruction instruction;
	if (!object_code(object, function->start, &code))
		return;
	for (uint64_t at = function->start; at < function->end; at += instruction.length) {
		const uint64_t from = at - code.start;
		if (!instruction_read(code.bytes + from, code.size - from, &instruction))
			return;
		const bool is_call = instruction.kind == INSTRUCTION_CALL ||
				     instruction.kind == INSTRUCTION_CALL_INDIRECT;
		/* Nobody is in what fills gaps, and tables leave out what is so there. */
		if (instruction.kind != INSTRUCTION_NOP)
			compare(is_call ? at + instruction.length - 1 : at, is_call);
	}
}

static void every_instruction(void)
{
	struct error error;
	struct eh_sections sections;
	struct fde_list list = {.nr = 0};
	CHECK(t.path != NULL);
	struct object *object = object_open(open(t.path, O_RDONLY | O_CLOEXEC), &error);
	CHECK(object && eh_sections_find(object_elf(object), &sections));
	CHECK_EQ(fde_list_scan(&list, object_elf(object), &sections), 0);
	t.cfi = cfi_new(object);
	t.reader = code_reader_new();
	CHECK(t.cfi && t.reader);
	*code_reader_allowance(t.reader) = UINT64_MAX;
	t.equal = t.other_register = t.missing = t.wrong = 0;
	for (size_t i = 0; i < list.nr; i += FUNCTIONS_A_LOOK)
		compare_function(object, &list.items[i]);
	const size_t all = t.equal + t.other_register + t.missing + t.wrong;
	printf("# %s: %zu instructions, %zu with the same rule, %zu by another register, %zu "
	       "without a rule, "
	       "%zu wrong\n",
	       t.path, all, t.equal, t.other_register, t.missing, t.wrong);
	fde_list_release(&list);
	cfi_free(t.cfi);
	code_reader_free(t.reader);
	object_free(object);
	CHECK(all > 1000);
	/* Assembly is among it whose tables do not mention what it pushes. */
	CHECK(t.wrong * 200 <= all);
	CHECK(t.missing * 20 <= all);
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		t.path = path_of_libc();
		test_run("the_c_library", every_instruction);
	}
	for (int i = 1; i < argc; i++) {
		t.path = argv[i];
		test_run(argv[i], every_instruction);
	}
	return test_done();
}

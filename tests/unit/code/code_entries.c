/* SPDX-License-Identifier: MIT */
/* What start files bring into every module has rules without the module's code being read: this program's own. */
#include "jailed/code/code_entries.h"
#include "jailed/code/code_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <ctop/elf/object.h>

#include <ctop/code/code_rules.h>
#include <ctop/machine/instruction.h>
#include "test.h"

/* The linker's. */
extern const char __executable_start[];
extern void (*const __fini_array_start[])(void) __attribute__((visibility("hidden")));

static uint64_t elf_address_of_last(void)
{
	return (uint64_t)(uintptr_t)__fini_array_start[0] - (uint64_t)(uintptr_t)__executable_start;
}

static struct object *open_self(void)
{
	struct error error;
	struct object *object = object_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &error);
	CHECK(object);
	return object;
}

/* The last byte of the function's first call. */
static uint64_t end_of_call(const struct object *object, uint64_t start)
{
	enum { BYTES = 64 };
	struct object_code code;
	CHECK(object_code(object, start, &code));
	for (uint64_t at = start - code.start; at < start - code.start + BYTES;) {
		struct instruction instruction;
		CHECK(instruction_read(code.bytes + at, code.size - at, &instruction));
		at += instruction.length;
		if (instruction.kind == INSTRUCTION_CALL)
			return code.start + at - 1;
	}
	return 0;
}

static void the_file_says_where_they_are(void)
{
	struct object *object = open_self();
	struct code_entries entries;
	struct code_function function;
	const uint64_t last = elf_address_of_last();
	code_entries_read(&entries, object);
	CHECK(entries.nr >= 3); /* musl's have an empty .init */
	CHECK(code_entries_find(&entries, last + 5, &function));
	CHECK_EQ(function.start, last);
	CHECK(function.end > last + 5);
	CHECK(!code_entries_find(&entries, last - 1, &function));
	object_free(object);
}

/* In the same segment: for such a one all of it is read. */
static uint64_t without_symbol(const struct object *object, uint64_t elf_address)
{
	struct object_code code;
	struct code_symbols symbols = {0};
	struct code_entries entries;
	struct code_function function;
	uint64_t steps = 0, at = 0;
	CHECK(object_code(object, elf_address, &code));
	code_symbols_read(&symbols, object, &steps);
	code_entries_read(&entries, object);
	while (at < code.size && (code_symbols_find(&symbols, code.start + at, &function) ||
				  code_entries_find(&entries, code.start + at, &function)))
		at++;
	CHECK(at < code.size);
	code_symbols_release(&symbols);
	return code.start + at;
}

static void a_rule_costs_little(void)
{
	enum { LITTLE = 1000, MUCH = 1 << 26 };
	struct object *object = open_self();
	const uint64_t call = end_of_call(object, elf_address_of_last());
	struct code_rule rule;
	if (call == 0)
		SKIP("what is called first at the end of this program calls nothing");
	struct code_rules *rules = code_rules_new(object);
	struct code_reader *reader = code_reader_new();
	CHECK(rules && reader);
	*code_reader_allowance(reader) = MUCH;
	CHECK_EQ(code_rules_find(rules, reader, call, true, &rule), CODE_RULE);
	CHECK_EQ(rule.ways, CODE_FROM_START | CODE_TO_RETURN);
	CHECK_EQ(rule.start, elf_address_of_last());
	CHECK(MUCH - *code_reader_allowance(reader) < LITTLE);
	/* The same as when all of it was read, as for any other function. */
	struct code_rules *others = code_rules_new(object);
	struct code_rule other;
	const uint64_t of_another = without_symbol(object, call);
	CHECK(others);
	code_rules_find(others, reader, of_another, false, &other);
	CHECK(MUCH - *code_reader_allowance(reader) > LITTLE);
	CHECK_EQ(code_rules_find(others, reader, call, true, &other), CODE_RULE);
	CHECK_EQ(other.cfa_register, rule.cfa_register);
	CHECK_EQ(other.offset, rule.offset);
	CHECK_EQ(other.start, rule.start);
	code_rules_free(others);
	code_rules_free(rules);
	code_reader_free(reader);
	object_free(object);
}

static void places_that_are_none(void)
{
	struct code_function function;
	const struct code_entries entries = {.starts = {UINT64_MAX - 3, 0x1000, 0x1040, 0x1000},
					     .nr = 4};
	CHECK(code_entries_find(&entries, 0x1003, &function));
	CHECK_EQ(function.end, 0x1040);
	CHECK(code_entries_find(&entries, 0x1043, &function));
	CHECK_EQ(function.start, 0x1040);
	CHECK(!code_entries_find(&entries, 0, &function));
	CHECK(!code_entries_find(&entries, 0xfff, &function));
	CHECK(!code_entries_find(&entries, 0x2000, &function));
	CHECK(code_entries_find(&entries, UINT64_MAX, &function)); /* no code is there */
	CHECK_EQ(function.start, UINT64_MAX - 3);
}

int main(void)
{
	RUN(the_file_says_where_they_are);
	RUN(a_rule_costs_little);
	RUN(places_that_are_none);
	return test_done();
}

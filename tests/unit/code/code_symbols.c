/* SPDX-License-Identifier: MIT */
/* Functions that have symbols with sizes have rules without other code being read: this program's own. */
#include "jailed/code/code_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <ctop/elf/object.h>

#include <ctop/code/code_rules.h>
#include "test.h"

extern const char __executable_start[]; /* the linker's */

/* Behind its return it calls what does not, which ends it: no branch leads behind that. */
extern const uint8_t ends_with_call[], ends_with_call_in[], ends_with_call_end[];
extern const uint8_t some_part[];
__asm__(".text\n	.p2align 6\n"
	"	.type ends_with_call, %function\n"
	"ends_with_call:\n"
#if defined(__x86_64__)
	"	push %rbx\n"
	"	sub $32, %rsp\n"
	"ends_with_call_in:\n"
	"	test %edi, %edi\n"
	"	je 1f\n"
	"	add $32, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	"1:	call abort\n"
#else
	"	stp x29, x30, [sp, #-48]!\n"
	"ends_with_call_in:\n"
	"	cbz w0, 1f\n"
	"	ldp x29, x30, [sp], #48\n"
	"	ret\n"
	"1:	bl abort\n"
#endif
	"ends_with_call_end:\n"
	"	.size ends_with_call, . - ends_with_call\n"
	"	.p2align 6\n"
	"	.type some_function.cold, %function\n"
	"some_part:\n"
	"some_function.cold:\n"
#if defined(__x86_64__)
	"	call abort\n"
#else
	"	bl abort\n"
#endif
	"	.size some_function.cold, . - some_function.cold\n"
	"	.p2align 6\n");

static uint64_t elf_address(const uint8_t *place)
{
	return (uint64_t)(uintptr_t)place - (uint64_t)(uintptr_t)__executable_start;
}

static struct object *open_self(void)
{
	struct error error;
	struct object *object = object_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &error);
	CHECK(object);
	return object;
}

static void the_table_says_where_they_are(void)
{
	struct object *object = open_self();
	struct code_symbols symbols = {0};
	struct code_function function;
	uint64_t steps = 1 << 20;
	code_symbols_read(&symbols, object, &steps);
	CHECK(symbols.nr > 0 && steps < 1 << 20);
	const uint64_t start = elf_address(ends_with_call), end = elf_address(ends_with_call_end);
	CHECK(code_symbols_find(&symbols, start, &function));
	CHECK_EQ(function.start, start);
	CHECK_EQ(function.end, end);
	CHECK(code_symbols_find(&symbols, end - 1, &function));
	CHECK(!code_symbols_find(&symbols, end, &function));
	CHECK(!code_symbols_find(&symbols, elf_address(some_part), &function));
	code_symbols_release(&symbols);
	object_free(object);
}

static void a_rule_costs_little(void)
{
	enum { MUCH = 1 << 26 };
	struct object *object = open_self();
	struct code_rules *rules = code_rules_new(object);
	struct code_reader *reader = code_reader_new();
	struct code_symbols symbols = {0};
	struct code_rule rule;
	uint64_t little = MUCH;
	CHECK(rules && reader);
	code_symbols_read(&symbols, object, &little);
	little = MUCH - little + 1000;
	*code_reader_allowance(reader) = MUCH;
	const uint64_t address = elf_address(ends_with_call_in);
	CHECK_EQ(code_rules_find(rules, reader, address, false, &rule), CODE_RULE);
	CHECK_EQ(rule.ways, CODE_FROM_START | CODE_TO_RETURN);
	CHECK_EQ(rule.start, elf_address(ends_with_call));
	CHECK_EQ(rule.cfa_register, UNWIND_SP);
	CHECK_EQ(rule.offset, 48);
	CHECK(MUCH - *code_reader_allowance(reader) < little);
	/* Too few are no answer; nor are they spent. */
	*code_reader_allowance(reader) = CODE_RULE_MAX_STEPS;
	const uint64_t another =
		(uint64_t)(uintptr_t)open_self - (uint64_t)(uintptr_t)__executable_start;
	CHECK_EQ(code_rules_find(rules, reader, another, false, &rule), CODE_UNREAD);
	CHECK_EQ(*code_reader_allowance(reader), CODE_RULE_MAX_STEPS);
	code_symbols_release(&symbols);
	code_rules_free(rules);
	code_reader_free(reader);
	object_free(object);
}

static void sizes_that_lie(void)
{
	struct code_symbol items[] = {{0x1000, 0x10, false},
				      {0x1000, 0x20, false},
				      {0x1010, 0x100, false},
				      {0x1020, 4, true},
				      {UINT64_MAX - 8, 8, false}};
	const struct code_symbols symbols = {.items = items, .nr = 5, .is_read = true};
	struct code_function function;
	CHECK(!code_symbols_find(&symbols, 0xfff, &function));
	CHECK(code_symbols_find(&symbols, 0x100f, &function));
	CHECK_EQ(function.end, 0x1020);
	CHECK(code_symbols_find(&symbols, 0x1010, &function));
	CHECK_EQ(function.start, 0x1010);
	CHECK(!code_symbols_find(&symbols, 0x1021, &function)); /* a part */
	CHECK(!code_symbols_find(&symbols, 0x1024, &function));
	CHECK(code_symbols_find(&symbols, UINT64_MAX - 1, &function));
	CHECK(!code_symbols_find(&symbols, UINT64_MAX, &function));
}

int main(void)
{
	RUN(the_table_says_where_they_are);
	RUN(a_rule_costs_little);
	RUN(sizes_that_lie);
	return test_done();
}

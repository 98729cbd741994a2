/* SPDX-License-Identifier: MIT */
/* Where functions start in code without names, and that reading it goes on where it stopped. */
#include "jailed/code/code_starts.h"

#include <ctop/elf/object.h>

#include <ctop/code/code_rules.h>

#include "elf/small_elf.h"
#include "file_of_bytes.h"
#include "test.h"

/* The first calls the second, and jumps back to the aligned head of its loop, behind a gap. */
extern const uint8_t two_functions[], two_functions_loop[], two_functions_second[],
	two_functions_end[];
__asm__(".text\n	.p2align 6\n"
	"two_functions:\n"
	"	push %rbx\n"
	"	sub $16, %rsp\n"
	"	.p2align 4\n"
	"two_functions_loop:\n"
	"	call two_functions_second\n"
	"	jmp two_functions_loop\n"
	"two_functions_second:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.p2align 6\n"
	"two_functions_end:\n");

/* It takes the address of a place in itself; seen from there, the call would not return. */
extern const uint8_t with_label[], with_label_in[], with_label_end[];
__asm__(".text\n	.p2align 6\n"
	"with_label:\n"
	"	push %rbx\n"
	"	sub $16, %rsp\n"
	"	lea 1f(%rip), %rax\n"
	"	test %edi, %edi\n"
	"	je 1f\n"
	"	jmp *%rax\n"
	"1:	inc %ecx\n"
	"with_label_in:\n"
	"	dec %ecx\n"
	"	.byte 0xe8, 0, 1, 0, 0\n"
	"	add $16, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	"with_label_end:\n");

/*
 * A function whose seldom part lies elsewhere, behind a function that ends with a call: the part has the frame that
 * it was entered with.
 */
extern const uint8_t in_two_parts[], in_two_parts_seldom[], in_two_parts_called[],
	in_two_parts_often[], in_two_parts_end[];
__asm__(".text\n	.p2align 6\n"
	"in_two_parts:\n"
	"	push %rax\n"
	"	.byte 0xe8, 0, 2, 0, 0\n" /* does not return */
	"in_two_parts_seldom:\n"
	"	inc %ecx\n"
	"	.byte 0xe8, 0, 3, 0, 0\n"
	"in_two_parts_called:\n"
	"	jmp 1f\n"
	"	.p2align 4\n"
	"2:	ret\n"
	"	.p2align 4\n"
	"in_two_parts_often:\n"
	"	push %rbx\n"
	"	sub $32, %rsp\n"
	"	test %edi, %edi\n"
	"	jne in_two_parts_seldom\n"
	"1:	call in_two_parts\n"
	"	call 2b\n"
	"	add $32, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.p2align 4\n"
	"3:	call in_two_parts_often\n"
	"in_two_parts_end:\n");

static struct object *object_of(const uint8_t *code, const uint8_t *end)
{
	static struct small_elf elf;
	struct error error;
	small_elf_init(&elf);
	small_elf_add(&elf, "first", 0, 1);
	memcpy((uint8_t *)&elf + SMALL_CODE_OFFSET, code, (size_t)(end - code));
	struct object *object = object_open(file_of_bytes(&elf, sizeof(elf)), &error);
	CHECK(object != NULL);
	return object;
}

static struct object *object_of_two_functions(void)
{
	return object_of(two_functions, two_functions_end);
}

static void check_function(const struct code_starts *starts, const uint8_t *at,
			   const uint8_t *wanted)
{
	struct code_functions functions;
	uint64_t steps = UINT64_MAX;
	code_starts_find(starts, SMALL_CODE + (uint64_t)(at - two_functions), &functions, &steps);
	CHECK(functions.nr > 0);
	CHECK_EQ(functions.items[functions.nearest].start,
		 SMALL_CODE + (uint64_t)(wanted - two_functions));
}

static void a_loop_is_no_function(void)
{
	struct object *object = object_of_two_functions();
	struct code_starts starts;
	uint64_t steps = UINT64_MAX;
	CHECK(code_starts_open(&starts, object, SMALL_CODE));
	CHECK(code_starts_read(&starts, &steps));
	check_function(&starts, two_functions_loop + 1, two_functions);
	check_function(&starts, two_functions_second, two_functions_second);
	code_starts_release(&starts);
	object_free(object);
}

static void what_data_points_to_is_a_function(void)
{
	const uint64_t function = SMALL_CODE + 0x200;
	const Elf64_Rela pointers[] = {{.r_offset = SMALL_DATA,
					.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
					.r_addend = (int64_t)function},
				       {.r_offset = SMALL_DATA + 8,
					.r_info = ELF64_R_INFO(0, R_X86_64_DTPMOD64),
					.r_addend = (int64_t)function + 16}};
	struct small_elf elf;
	struct error error;
	struct code_starts starts;
	struct code_functions functions;
	uint64_t steps = UINT64_MAX;
	small_elf_init(&elf);
	elf.start.sections[1] = (Elf64_Shdr){.sh_type = SHT_RELA,
					     .sh_offset = SMALL_CONST_OFFSET,
					     .sh_size = sizeof(pointers),
					     .sh_entsize = sizeof(pointers[0])};
	memcpy((uint8_t *)&elf + SMALL_CONST_OFFSET, pointers, sizeof(pointers));
	struct object *object = object_open(file_of_bytes(&elf, sizeof(elf)), &error);
	CHECK(object && code_starts_open(&starts, object, SMALL_CODE));
	CHECK(code_starts_read(&starts, &steps));
	code_starts_find(&starts, function + 20, &functions, &steps);
	CHECK(functions.nr > 0);
	CHECK_EQ(functions.items[0].start, function);
	code_starts_release(&starts);
	object_free(object);
}

static void reading_goes_on_where_it_stopped(void)
{
	struct object *object = object_of_two_functions();
	struct code_starts at_once, by_parts;
	uint64_t all = UINT64_MAX;
	unsigned nr_parts = 1;
	CHECK(code_starts_open(&at_once, object, SMALL_CODE));
	CHECK(code_starts_read(&at_once, &all));
	CHECK(code_starts_open(&by_parts, object, SMALL_CODE));
	for (uint64_t steps = 3; !code_starts_read(&by_parts, &steps); steps = 3) {
		CHECK_EQ(steps, 0);
		CHECK(nr_parts++ < 2 * SMALL_CODE_BYTES);
	}
	CHECK(nr_parts > 100);
	CHECK(memcmp(at_once.bits, by_parts.bits, SMALL_CODE_BYTES / 8) == 0);
	CHECK(memcmp(at_once.branches, by_parts.branches, SMALL_CODE_BYTES / 8) == 0);
	code_starts_release(&at_once);
	code_starts_release(&by_parts);
	object_free(object);
}

/* What is not read yet is not taken for code that has no rule. */
static void a_rule_waits_until_it_may_be_read(void)
{
	struct object *object = object_of_two_functions();
	struct code_rules *rules = code_rules_new(object);
	struct code_reader *reader = code_reader_new();
	const uint64_t address = SMALL_CODE + (uint64_t)(two_functions_second + 1 - two_functions);
	struct code_rule rule;
	CHECK(rules && reader);
	CHECK_EQ(code_rules_find(rules, reader, address, false, &rule), CODE_UNREAD);
	*code_reader_allowance(reader) = CODE_RULE_MAX_STEPS;
	CHECK_EQ(code_rules_find(rules, reader, address, false, &rule), CODE_UNREAD);
	CHECK(*code_reader_allowance(reader) < CODE_RULE_MAX_STEPS);
	*code_reader_allowance(reader) = CODE_RULE_MAX_STEPS;
	CHECK_EQ(code_rules_find(rules, reader, address, false, &rule), CODE_RULE);
	CHECK_EQ(rule.offset, 16);
	/* It is known from now on. */
	*code_reader_allowance(reader) = 0;
	CHECK_EQ(code_rules_find(rules, reader, address, false, &rule), CODE_RULE);
	code_reader_free(reader);
	code_rules_free(rules);
	object_free(object);
}

static void a_place_amid_a_function_is_not_its_start(void)
{
	struct object *object = object_of(with_label, with_label_end);
	struct code_rules *rules = code_rules_new(object);
	struct code_reader *reader = code_reader_new();
	struct code_rule rule;
	CHECK(rules && reader);
	*code_reader_allowance(reader) = UINT64_MAX;
	CHECK_EQ(code_rules_find(rules, reader, SMALL_CODE + (uint64_t)(with_label_in - with_label),
				 false, &rule),
		 CODE_RULE);
	CHECK_EQ(rule.ways, CODE_FROM_START | CODE_TO_RETURN);
	CHECK_EQ(rule.offset, 32);
	code_reader_free(reader);
	code_rules_free(rules);
	object_free(object);
}

static void a_part_elsewhere_has_the_frame_it_was_entered_with(void)
{
	struct object *object = object_of(in_two_parts, in_two_parts_end);
	struct code_rules *rules = code_rules_new(object);
	struct code_reader *reader = code_reader_new();
	struct code_rule rule;
	CHECK(rules && reader);
	*code_reader_allowance(reader) = UINT64_MAX;
	for (unsigned after_call = 0; after_call < 2; after_call++) {
		const uint8_t *at = after_call ? in_two_parts_called : in_two_parts_seldom;
		CHECK_EQ(code_rules_find(rules, reader,
					 SMALL_CODE + (uint64_t)(at - in_two_parts) - after_call,
					 after_call, &rule),
			 CODE_RULE);
		CHECK_EQ(rule.ways, CODE_FROM_START | CODE_TO_RETURN);
		CHECK_EQ(rule.offset, 48);
		CHECK_EQ(rule.start, SMALL_CODE + (uint64_t)(in_two_parts_often - in_two_parts));
		CHECK(!rule.guessed && rule.saved[0].known);
	}
	/* What ends with the call has no part of it, and does not return. */
	CHECK_EQ(code_rules_find(rules, reader,
				 SMALL_CODE + (uint64_t)(in_two_parts_seldom - in_two_parts) - 1,
				 true, &rule),
		 CODE_RULE);
	CHECK_EQ(rule.ways, CODE_FROM_START);
	CHECK_EQ(rule.offset, 16);
	CHECK_EQ(code_rules_find(rules, reader, SMALL_CODE + 1, false, &rule), CODE_RULE);
	CHECK_EQ(rule.offset, 16);
	code_reader_free(reader);
	code_rules_free(rules);
	object_free(object);
}

int main(void)
{
	RUN(a_loop_is_no_function);
	RUN(what_data_points_to_is_a_function);
	RUN(reading_goes_on_where_it_stopped);
	RUN(a_rule_waits_until_it_may_be_read);
	RUN(a_place_amid_a_function_is_not_its_start);
	RUN(a_part_elsewhere_has_the_frame_it_was_entered_with);
	return test_done();
}

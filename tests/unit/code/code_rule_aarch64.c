/* SPDX-License-Identifier: MIT */
/* arm64: rules that are read from code, of functions of which is known what they do. */
#include <ctop/code/code_rule.h>

#include "test.h"

#if defined(__aarch64__)

#define HIDDEN __attribute__((visibility("hidden"))) /* tables of addresses know no local ones */

/* Each with its first byte and its end, and what is asked for in between. */
#define CODE(name, text)                                                                           \
	extern const uint8_t name[] HIDDEN, name##_end[] HIDDEN;                                   \
	__asm__(".text\n	.p2align 4\n" #name ":\n" text #name "_end:\n	.p2align 4\n")

CODE(frame, "	hint #25\n" /* paciasp */
	    "	stp x29, x30, [sp, #-48]!\n"
	    "	mov x29, sp\n"
	    "	stp x19, x20, [sp, #16]\n"
	    "	str d8, [sp, #40]\n"
	    "	mov x19, x0\n"
	    "	bl frame+0x1000\n"
	    "	cbz w0, 1f\n"
	    "	ldr d8, [sp, #40]\n"
	    "	ldp x19, x20, [sp, #16]\n"
	    "	ldp x29, x30, [sp], #48\n"
	    "	hint #29\n" /* autiasp */
	    "	ret\n"
	    "1:	bl frame+0x2000\n"
	    "	brk #1\n");

/* Frames of variable and of large size. */
CODE(variable, "	stp x29, x30, [sp, #-32]!\n"
	       "	mov x29, sp\n"
	       "	sub sp, sp, x0\n"
	       "	nop\n"
	       "	mov sp, x29\n"
	       "	ldp x29, x30, [sp], #32\n"
	       "	ret\n");
CODE(large, "	sub sp, sp, #4096\n"
	    "	mov x12, #0x2010\n"
	    "	sub sp, sp, x12\n"
	    "	str x30, [sp]\n"
	    "	bl large+0x1000\n"
	    "	ldr x30, [sp]\n"
	    "	add sp, sp, x12\n"
	    "	add sp, sp, #4096\n"
	    "	ret\n");

enum { X19, X20, LINK = MACHINE_LINK_INDEX, RECORD = MACHINE_FP_INDEX };

static struct code_rule rule_of(const uint8_t *start, const uint8_t *end, unsigned instruction,
				bool after_call)
{
	static struct code_reader *reader;
	static uint64_t serial;
	if (!reader)
		reader = code_reader_new();
	CHECK(reader != NULL);
	const struct code_view view = {
		.serial = ++serial, .bytes = start, .start = 0x1000, .size = (size_t)(end - start)};
	const struct code_functions functions = {.items = {{0x1000, 0x1000 + view.size}}, .nr = 1};
	uint64_t steps = CODE_RULE_MAX_STEPS;
	const struct code_rule rule =
		code_rule_read(reader, &view, &functions, 0x1000 + 4 * instruction - after_call,
			       after_call, &steps);
	return rule;
}

static void check_slot(const struct code_rule *rule, unsigned i, int offset)
{
	CHECK_EQ(rule->saved[i].known, offset != 0);
	CHECK(!rule->saved[i].lost);
	if (offset) {
		CHECK_EQ(rule->saved[i].reg, UNWIND_PC);
		CHECK_EQ(rule->saved[i].offset, offset);
	}
}

static void each_instruction_of_a_frame(void)
{
	static const struct {
		unsigned instruction;
		int cfa, record, x20;
	} known[] = {{0, 0, 0, 0},	{1, 0, 0, 0},	  {2, 48, -48, 0}, {4, 48, -48, -24},
		     {7, 48, -48, -24}, {10, 48, -48, 0}, {11, 0, 0, 0},   {12, 0, 0, 0}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct code_rule rule =
			rule_of(frame, frame_end, known[i].instruction, false);
		CHECK_EQ(rule.ways, CODE_FROM_START | CODE_TO_RETURN);
		CHECK_EQ(rule.cfa_register, UNWIND_SP);
		CHECK_EQ(rule.offset, known[i].cfa);
		check_slot(&rule, RECORD, known[i].record);
		check_slot(&rule, LINK, known[i].record ? known[i].record + 8 : 0);
		check_slot(&rule, X20, known[i].x20);
	}
}

static void what_does_not_return_is_known_from_the_start(void)
{
	const struct code_rule rule = rule_of(frame, frame_end, 14, true);
	CHECK_EQ(rule.ways, CODE_FROM_START);
	CHECK_EQ(rule.offset, 48);
	check_slot(&rule, LINK, -40);
}

static void a_frame_of_variable_size_is_found_by_its_record(void)
{
	const struct code_rule rule = rule_of(variable, variable_end, 3, false);
	CHECK(rule.ways & CODE_FROM_START);
	CHECK_EQ(rule.cfa_register, UNWIND_FP);
	CHECK_EQ(rule.offset, 32);
	check_slot(&rule, LINK, -24);
}

static void a_large_frame_is_made_by_a_constant(void)
{
	const struct code_rule rule = rule_of(large, large_end, 5, true);
	CHECK(rule.ways & CODE_FROM_START);
	CHECK_EQ(rule.cfa_register, UNWIND_SP);
	CHECK_EQ(rule.offset, 0x3010);
	check_slot(&rule, LINK, -0x3010);
}

int main(void)
{
	RUN(each_instruction_of_a_frame);
	RUN(what_does_not_return_is_known_from_the_start);
	RUN(a_frame_of_variable_size_is_found_by_its_record);
	RUN(a_large_frame_is_made_by_a_constant);
	return test_done();
}

#else

static void on_arm64(void)
{
	SKIP("make check-arm64 runs it");
}

int main(void)
{
	RUN(on_arm64);
	return test_done();
}

#endif

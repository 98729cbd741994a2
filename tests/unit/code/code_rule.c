/* SPDX-License-Identifier: MIT */
/* Rules that are read from code: functions of which is known what they do, asked at each of their instructions. */
#include <ctop/code/code_rule.h>

#include "test.h"

/* Each with its first byte and its end, and what is asked for in between. */
#define CODE(name, text)                                                                           \
	extern const uint8_t name[], name##_end[];                                                 \
	__asm__(".text\n	.p2align 4\n" #name ":\n" text #name "_end:\n	.p2align 4\n")

CODE(frame, "	push %rbx\n"
	    "	push %r12\n"
	    "	sub $24, %rsp\n"
	    "	.byte 0xe8, 0, 1, 0, 0\n"
	    "frame_called:\n"
	    "	test %eax, %eax\n"
	    "	je 1f\n"
	    "	add $24, %rsp\n"
	    "	pop %r12\n"
	    "	pop %rbx\n"
	    "	ret\n"
	    "1:	.byte 0xe8, 0, 2, 0, 0\n" /* does not return */
	    "	nopl 0(%rax)\n");
extern const uint8_t frame_called[];

CODE(with_pointer, "	push %rbp\n"
		   "	mov %rsp, %rbp\n"
		   "	push %rbx\n"
		   "	sub %rax, %rsp\n" /* alloca */
		   "with_pointer_in:\n"
		   "	mov -8(%rbp), %rbx\n"
		   "	leave\n"
		   "	ret\n");
extern const uint8_t with_pointer_in[];

CODE(realigned, "	lea 8(%rsp), %r10\n"
		"	and $-32, %rsp\n"
		"	push -8(%r10)\n"
		"	push %rbp\n"
		"	mov %rsp, %rbp\n"
		"	push %r12\n"
		"	push %r10\n"
		"	sub $16, %rsp\n"
		"	xor %r10d, %r10d\n"
		"realigned_in:\n"
		"	add $16, %rsp\n"
		"	pop %r10\n"
		"	pop %r12\n"
		"	pop %rbp\n"
		"	lea -8(%r10), %rsp\n"
		"	ret\n");
extern const uint8_t realigned_in[];

/* As libcrypto's multiplication: room is calculated, and where the stack was is saved in it. */
CODE(calculated, "	mov %rsp, %rax\n"
		 "	push %rbx\n"
		 "	push %rbp\n"
		 "	mov %rsp, %rbp\n"
		 "	sub %r11, %rbp\n"
		 "	and $-64, %rbp\n"
		 "	mov %rbp, %rsp\n"
		 "	mov %rax, 40(%rsp)\n"
		 "	xor %eax, %eax\n"
		 "calculated_in:\n"
		 "	nop\n"
		 "	mov 40(%rsp), %rsi\n"
		 "	mov -16(%rsi), %rbp\n"
		 "	mov -8(%rsi), %rbx\n"
		 "	lea (%rsi), %rsp\n"
		 "	ret\n");
extern const uint8_t calculated_in[];

/* An interpreter at a fixed address: what comes next is looked up in a table of addresses. */
CODE(interprets, "	push %rbx\n"
		 "	sub $16, %rsp\n"
		 "	mov 0x9000(,%rax,8), %rax\n"
		 "	jmp *%rax\n"
		 "	ud2\n"
		 "interprets_in:\n"
		 "	inc %ecx\n"
		 "	jmp interprets_in\n");
extern const uint8_t interprets_in[];

/* The same, where the table lies at a distance. */
CODE(interprets_near, "	push %rbx\n"
		      "	lea interprets_near+0x8000(%rip), %rdi\n"
		      "	mov (%rdi,%rax,8), %rdx\n"
		      "	jmp *%rdx\n"
		      "	.skip 17 - (. - interprets_near), 0xcc\n"
		      "	inc %ecx\n"
		      "	jmp *(%rdi, %rax, 8)\n");

/* The same, where the table is in a register: no rule's end. */
CODE(interprets_by_register, "	push %rbx\n"
			     "	sub $16, %rsp\n"
			     "interprets_by_register_in:\n"
			     "	jmp *(%r14, %rax, 8)\n");
extern const uint8_t interprets_by_register_in[];

/* How deep the stack is behind the alloca() its start does not say; its return does. */
CODE(of_two_minds, "	push %rbp\n"
		   "	mov %rsp, %rbp\n"
		   "	sub %rax, %rsp\n"
		   "of_two_minds_in:\n"
		   "	pop %rdx\n"
		   "	ret\n");
extern const uint8_t of_two_minds_in[];

CODE(two_depths, "	push %rax\n"
		 "	test %edi, %edi\n"
		 "	je 1f\n"
		 "	pop %rcx\n"
		 "1:	nop\n"
		 "	ret\n");
CODE(endless, "1:	jmp 1b\n");
CODE(grows, "1:	push %rax\n	jmp 1b\n");
CODE(padding, "	push %rax\n	.fill 8, 1, 0\n	pop %rax\n	ret\n");
CODE(data, "	.fill 16, 1, 0x06\n");

/* A table with the place in interprets(), and nothing else. */
static bool read_table(const void *context, uint64_t address, void *bytes, size_t size)
{
	const uint64_t entry = 0x1000 + (uint64_t)(interprets_in - interprets);
	(void)context;
	if (address != 0x9000 || size != sizeof(entry))
		return false;
	memcpy(bytes, &entry, size);
	return true;
}

static struct code_functions whole(const struct code_view *view)
{
	return (struct code_functions){.items = {{view->start, view->start + view->size}}, .nr = 1};
}

static struct code_rule rule_of(const uint8_t *start, const uint8_t *end, const uint8_t *at,
				bool after_call)
{
	static struct code_reader *reader;
	static uint64_t serial;
	if (!reader)
		reader = code_reader_new();
	CHECK(reader != NULL);
	const struct code_view view = {.serial = ++serial,
				       .bytes = start,
				       .start = 0x1000,
				       .size = (size_t)(end - start),
				       .read = read_table};
	const struct code_functions functions = whole(&view);
	uint64_t steps = CODE_RULE_MAX_STEPS;
	return code_rule_read(reader, &view, &functions, 0x1000 + (uint64_t)(at - start),
			      after_call, &steps);
}

static void check_cfa(const struct code_rule *rule, unsigned ways, unsigned reg, int offset)
{
	CHECK_EQ(rule->ways, ways);
	CHECK_EQ(rule->cfa_register, reg);
	CHECK_EQ(rule->offset, offset);
}

/* Where machine_saved[i] is, below the CFA; 0: it has its value. */
static int saved(const struct code_rule *rule, unsigned i)
{
	CHECK(!rule->saved[i].known || rule->saved[i].reg == UNWIND_PC);
	return rule->saved[i].known ? -rule->saved[i].offset : 0;
}

enum { RBX, RBP, R12 };

static void each_instruction_of_a_frame(void)
{
	static const struct {
		int at, cfa, rbx, r12;
	} known[] = {{0, 8, 0, 0},     {1, 16, 16, 0},	 {3, 24, 16, 24},
		     {7, 48, 16, 24},  {12, 48, 16, 24}, {16, 48, 16, 24},
		     {20, 24, 16, 24}, {22, 16, 16, 0},	 {23, 8, 0, 0}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct code_rule rule = rule_of(frame, frame_end, frame + known[i].at, false);
		check_cfa(&rule, CODE_FROM_START | CODE_TO_RETURN, UNWIND_SP, known[i].cfa);
		CHECK_EQ(saved(&rule, RBX), known[i].rbx);
		CHECK_EQ(saved(&rule, R12), known[i].r12);
		CHECK_EQ(saved(&rule, RBP), 0);
	}
}

/* Before a register is saved, it has its value, and below the stack pointer lies what is old. */
static void what_is_saved_on_the_way_is_not_saved_yet(void)
{
	struct code_reader *reader = code_reader_new();
	const struct code_view view = {
		.serial = 1, .bytes = frame, .size = (size_t)(frame_end - frame)};
	const struct code_functions none = {.nr = 0};
	uint64_t steps = CODE_RULE_MAX_STEPS;
	CHECK(reader != NULL);
	const struct code_rule rule = code_rule_read(reader, &view, &none, 1, false, &steps);
	check_cfa(&rule, CODE_TO_RETURN, UNWIND_SP, 16);
	CHECK_EQ(saved(&rule, RBX), 16);
	CHECK_EQ(saved(&rule, R12), 0);
	CHECK(!rule.saved[R12].lost);
	code_reader_free(reader);
}

static void a_return_address_is_looked_up_by_the_call_before_it(void)
{
	const struct code_rule rule = rule_of(frame, frame_end, frame + 11, true);
	check_cfa(&rule, CODE_FROM_START | CODE_TO_RETURN, UNWIND_SP, 48);
	CHECK_EQ(saved(&rule, R12), 24);
}

static void what_does_not_return_is_known_from_the_start_alone(void)
{
	const struct code_rule rule = rule_of(frame, frame_end, frame + 24, false);
	check_cfa(&rule, CODE_FROM_START, UNWIND_SP, 48);
}

static void the_way_to_the_return_alone_is_enough(void)
{
	const struct code_rule rule = rule_of(frame + 3, frame_called + 12, frame_called, false);
	CHECK(rule.ways & CODE_TO_RETURN || rule.ways == 0);
}

static void a_frame_pointer_outlives_what_is_not_known_of_the_stack_pointer(void)
{
	const struct code_rule rule =
		rule_of(with_pointer, with_pointer_end, with_pointer_in, false);
	check_cfa(&rule, CODE_FROM_START | CODE_TO_RETURN, UNWIND_FP, 16);
	CHECK_EQ(saved(&rule, RBP), 16);
	CHECK_EQ(saved(&rule, RBX), 24);
}

static void an_aligned_stack_keeps_a_copy_of_where_it_began(void)
{
	const struct code_rule rule = rule_of(realigned, realigned_end, realigned_in, false);
	CHECK(rule.ways & CODE_FROM_START && rule.in_memory);
	CHECK_EQ(rule.cfa_register, UNWIND_SP);
	CHECK_EQ(rule.offset, 16);
	CHECK_EQ(rule.add, 0);
	CHECK(rule.saved[RBP].known && rule.saved[RBP].reg == UNWIND_FP);
	CHECK_EQ(rule.saved[RBP].offset, 0);
	CHECK(rule.saved[R12].known && rule.saved[R12].reg == UNWIND_FP);
	CHECK_EQ(rule.saved[R12].offset, -8);
}

static void a_stack_of_calculated_size_holds_where_it_began(void)
{
	const struct code_rule rule = rule_of(calculated, calculated_end, calculated_in, false);
	CHECK_EQ(rule.ways, CODE_FROM_START | CODE_TO_RETURN);
	CHECK(rule.in_memory);
	CHECK_EQ(rule.cfa_register, UNWIND_SP);
	CHECK_EQ(rule.offset, 40);
	CHECK_EQ(rule.add, 8);
	CHECK_EQ(saved(&rule, RBX), 16);
	CHECK_EQ(saved(&rule, RBP), 24);
}

static void a_table_of_addresses_leads_on(void)
{
	const struct code_rule rule = rule_of(interprets, interprets_end, interprets_in, false);
	check_cfa(&rule, CODE_FROM_START, UNWIND_SP, 32);
	CHECK_EQ(rule.start, 0x1000);
	CHECK(!rule.guessed);
	CHECK_EQ(saved(&rule, RBX), 16);
}

static void a_table_at_a_distance_leads_on(void)
{
	const uint8_t *at = interprets_near + (interprets_in - interprets);
	const struct code_rule rule = rule_of(interprets_near, interprets_near_end, at, false);
	check_cfa(&rule, CODE_FROM_START, UNWIND_SP, 16);
}

static void a_jump_by_a_table_in_a_register_is_no_return(void)
{
	const struct code_rule rule = rule_of(interprets_by_register, interprets_by_register_end,
					      interprets_by_register_in, false);
	check_cfa(&rule, CODE_FROM_START, UNWIND_SP, 32);
}

static void two_ways_that_cannot_be_compared_are_one(void)
{
	const struct code_rule rule =
		rule_of(of_two_minds, of_two_minds_end, of_two_minds_in, false);
	check_cfa(&rule, CODE_FROM_START, UNWIND_FP, 16);
}

static void what_is_amid_an_instruction_is_not_on_a_way(void)
{
	CHECK_EQ(rule_of(frame, frame_end, frame + 4, false).ways & CODE_FROM_START, 0);
	CHECK_EQ(rule_of(frame, frame_end, frame + 10, true).ways & CODE_FROM_START, 0);
}

static void what_makes_no_sense_has_no_rule(void)
{
	CHECK_EQ(rule_of(two_depths, two_depths_end, two_depths + 7, false).ways & CODE_FROM_START,
		 0);
	CHECK_EQ(rule_of(grows, grows_end, grows + 1, false).ways & CODE_TO_RETURN, 0);
	CHECK_EQ(rule_of(data, data_end, data, false).ways & CODE_TO_RETURN, 0);
	CHECK_EQ(rule_of(data, data_end, data + 5, true).ways, 0);
}

static void nothing_goes_on_into_padding(void)
{
	CHECK_EQ(rule_of(padding, padding_end, padding, false).ways, CODE_FROM_START);
}

static void work_is_bounded(void)
{
	const struct code_rule rule = rule_of(endless, endless_end, endless, false);
	check_cfa(&rule, CODE_FROM_START, UNWIND_SP, 8);
	struct code_reader *reader = code_reader_new();
	const struct code_view view = {
		.serial = 1, .bytes = frame, .size = (size_t)(frame_end - frame)};
	uint64_t steps = 5;
	CHECK(reader != NULL);
	const struct code_functions functions = whole(&view);
	CHECK_EQ(code_rule_read(reader, &view, &functions, 20, false, &steps).ways, 0);
	CHECK_EQ(steps, 0);
	code_reader_free(reader);
}

static uint64_t steps_of_a_table(uint64_t read_steps)
{
	struct code_reader *reader = code_reader_new();
	const struct code_view view = {.serial = 1,
				       .bytes = interprets,
				       .start = 0x1000,
				       .size = (size_t)(interprets_end - interprets),
				       .read = read_table,
				       .read_steps = read_steps};
	uint64_t steps = CODE_RULE_MAX_STEPS;
	CHECK(reader != NULL);
	const struct code_functions functions = whole(&view);
	CHECK(code_rule_read(reader, &view, &functions, 0x1000, false, &steps).ways != 0);
	code_reader_free(reader);
	return CODE_RULE_MAX_STEPS - steps;
}

static void reading_a_table_costs_what_it_takes(void)
{
	/* On the way from the start, and on the way to the return. */
	CHECK_EQ(steps_of_a_table(100) - steps_of_a_table(0), 2 * 100);
}

int main(void)
{
	RUN(each_instruction_of_a_frame);
	RUN(what_is_saved_on_the_way_is_not_saved_yet);
	RUN(a_return_address_is_looked_up_by_the_call_before_it);
	RUN(what_does_not_return_is_known_from_the_start_alone);
	RUN(the_way_to_the_return_alone_is_enough);
	RUN(a_frame_pointer_outlives_what_is_not_known_of_the_stack_pointer);
	RUN(an_aligned_stack_keeps_a_copy_of_where_it_began);
	RUN(a_stack_of_calculated_size_holds_where_it_began);
	RUN(a_table_of_addresses_leads_on);
	RUN(a_table_at_a_distance_leads_on);
	RUN(a_jump_by_a_table_in_a_register_is_no_return);
	RUN(two_ways_that_cannot_be_compared_are_one);
	RUN(what_is_amid_an_instruction_is_not_on_a_way);
	RUN(what_makes_no_sense_has_no_rule);
	RUN(nothing_goes_on_into_padding);
	RUN(work_is_bounded);
	RUN(reading_a_table_costs_what_it_takes);
	return test_done();
}

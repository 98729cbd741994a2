/* SPDX-License-Identifier: MIT */
/* Goroutines' stacks behind switches, by the kernel's chain: what proves it, and what does not. */
#include "go_program.h"
#include "made_up.h"

#define GOROUTINE UINT64_C(0xc000012340)
enum { CHAIN_MAX = 16, SWITCH_RECORD = 4 };
static uint64_t chain[CHAIN_MAX];

/* A leaf without a record below a function that has one, which systemstack called: the goroutine's frame pointer is saved there. */
static void on_the_system_stack(const char *after_switch)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(cfi_on_rbp) + 1;
	t.input.regs[UNWIND_FP] = stack_address(SWITCH_RECORD);
	t.words[SWITCH_RECORD] = GOROUTINE;
	t.words[SWITCH_RECORD + 1] = address_of(after_switch);
}

/* The kernel's chain: the leaf's pc, the frame records of the copy, then what is given. */
static void with_chain(size_t nr_records, const char *const *behind)
{
	size_t nr = 0;
	chain[nr++] = t.input.regs[UNWIND_PC];
	for (size_t i = 0; i < nr_records; i++)
		chain[nr++] = t.words[SWITCH_RECORD + 1];
	for (; *behind; behind++)
		chain[nr++] = address_of(*behind);
	t.input.chain = chain;
	t.input.nr_chain = nr;
}
#define WITH_CHAIN(...) with_chain(1, (const char *const[]){__VA_ARGS__, NULL})

#define CHECK_NOTHING_BEHIND() CHECK_END(3, STACK_SWITCHED, STACK_REASON_NONE)

static void check_frame(size_t at, const char *after, enum frame_method method)
{
	CHECK_STR(frame_method_name(t.frames[at].method), frame_method_name(method));
	CHECK_EQ(t.frames[at].process_address, after ? address_of(after) - 1 : 0);
}

static void the_chain_leads_on(void)
{
	on_the_system_stack(go_switch_after);
	WITH_CHAIN(go_caller_after, go_caller_of_caller_after, go_root_after);
	CHECK_END(7, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK(t.result.behind_switch);
	check_frame(2, go_switch_after, FRAME_CFI);
	check_frame(3, NULL, FRAME_SWITCHED);
	check_frame(4, go_caller_after, FRAME_FP);
	check_frame(5, go_caller_of_caller_after, FRAME_FP);
	check_frame(6, go_root_after, FRAME_FP);
	/* Indirect calls may lead anywhere; a goroutine's first function has no caller but the root. */
	WITH_CHAIN(go_caller_after, go_indirect_after, go_root_after);
	CHECK_END(7, STACK_COMPLETE, STACK_REASON_NONE);
	WITH_CHAIN(go_root_after);
	CHECK_END(5, STACK_COMPLETE, STACK_REASON_NONE);
	check_frame(3, NULL, FRAME_SWITCHED);
	/* Without the chain it ends there. */
	t.input.nr_chain = 0;
	CHECK_NOTHING_BEHIND();
	CHECK(!t.result.behind_switch);
}

/* What has no frame of its own, and calls all the same: its caller is left out. */
static void a_function_without_a_frame_hides_its_caller(void)
{
	on_the_system_stack(go_switch_after);
	WITH_CHAIN(go_bare_after, go_caller_of_caller_after, go_root_after);
	CHECK_END(8, STACK_COMPLETE, STACK_REASON_NONE);
	check_frame(4, go_bare_after, FRAME_FP);
	check_frame(5, NULL, FRAME_SWITCHED);
	check_frame(6, go_caller_of_caller_after, FRAME_FP);
	/* Nobody that is called from there calls it. */
	WITH_CHAIN(go_bare_after, go_caller_after, go_root_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_bare_after, go_indirect_after, go_root_after);
	CHECK_NOTHING_BEHIND();
}

static void a_clock_hides_nobody(void)
{
	on_the_system_stack(go_clock_after);
	WITH_CHAIN(go_calls_clock_after, go_caller_of_caller_after, go_root_after);
	CHECK_END(6, STACK_COMPLETE, STACK_REASON_NONE);
	check_frame(3, go_calls_clock_after, FRAME_FP);
	WITH_CHAIN(go_caller_after, go_root_after);
	CHECK_NOTHING_BEHIND();
}

static void what_is_not_proved_is_not_taken(void)
{
	on_the_system_stack(go_switch_after);
	/* No root; what lies behind one; a call that leads elsewhere; no call; no address of Go's code. */
	WITH_CHAIN(go_caller_after, go_caller_of_caller_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_caller_after, go_root_after, go_caller_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_caller_after, go_caller_after, go_root_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_caller_after, go_caller_after + 1, go_root_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_caller_after, no_cfi_after_call, go_root_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_caller_after, (const char *)8, go_root_after);
	CHECK_NOTHING_BEHIND();
	/* Its first call must lead to a function that calls the switch. */
	WITH_CHAIN(go_other_after, go_root_after);
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_indirect_after, go_root_after);
	CHECK_NOTHING_BEHIND();
	/* The system stack's own records, read once more. */
	WITH_CHAIN(go_switch_after, go_root_after);
	CHECK_NOTHING_BEHIND();
}

/* Below the collector's work a goroutine's stack may be moved, and its old one be another's. */
static void a_stack_that_may_have_been_moved(void)
{
	on_the_system_stack(go_switch_after);
	WITH_CHAIN(go_calls_assist_after, go_caller_of_caller_after, go_root_after);
	CHECK_END(7, STACK_COMPLETE, STACK_REASON_NONE);
	check_frame(4, go_calls_assist_after, FRAME_LIKELY);
	check_frame(6, go_root_after, FRAME_LIKELY);
	WITH_CHAIN(go_assist_after, go_calls_assist_after, go_root_after);
	CHECK_NOTHING_BEHIND();
}

static void the_chain_must_be_of_this_stack(void)
{
	on_the_system_stack(go_switch_after);
	WITH_CHAIN(go_caller_after, go_root_after);
	CHECK_END(6, STACK_COMPLETE, STACK_REASON_NONE);
	/* Of another pc; with another record; with one less; with one more. */
	chain[0]++;
	CHECK_NOTHING_BEHIND();
	WITH_CHAIN(go_caller_after, go_root_after);
	chain[1]++;
	CHECK_NOTHING_BEHIND();
	with_chain(0, (const char *const[]){go_caller_after, go_root_after, NULL});
	CHECK_NOTHING_BEHIND();
	with_chain(2, (const char *const[]){go_caller_after, go_root_after, NULL});
	CHECK_NOTHING_BEHIND();
	/* A record that leads elsewhere than the switch's frame pointer does. */
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(go_switch_after);
	t.input.regs[UNWIND_FP] = stack_address(SWITCH_RECORD);
	t.words[SWITCH_RECORD] = GOROUTINE;
	t.words[SWITCH_RECORD + 1] = address_of(no_cfi_after_call);
	WITH_CHAIN(go_caller_after, go_root_after);
	CHECK_END(2, STACK_SWITCHED, STACK_REASON_NONE);
	/* A callee that left the frame pointer alone: it is the goroutine's, and leads on at once. */
	t.input.regs[UNWIND_FP] = GOROUTINE;
	with_chain(0, (const char *const[]){go_caller_after, go_root_after, NULL});
	CHECK_END(5, STACK_COMPLETE, STACK_REASON_NONE);
	check_frame(3, go_caller_after, FRAME_FP);
	t.input.known &= ~(UINT64_C(1) << UNWIND_FP);
	CHECK_END(2, STACK_SWITCHED, STACK_REASON_NONE);
}

int main(void)
{
	if (!made_up_begin())
		return 1;
	RUN(the_chain_leads_on);
	RUN(a_function_without_a_frame_hides_its_caller);
	RUN(a_clock_hides_nobody);
	RUN(what_is_not_proved_is_not_taken);
	RUN(a_stack_that_may_have_been_moved);
	RUN(the_chain_must_be_of_this_stack);
	made_up_end();
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What must end a stack, and how it is called. */
#include "made_up.h"

enum { RBX = 3 }; /* as DWARF numbers it */

static void a_zero_return_address_completes(void)
{
	leaf_at(address_of(cfi_plain));
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[0].process_address, address_of(cfi_plain));
	CHECK_EQ(t.frames[0].method, FRAME_LEAF);
	t.words[0] = address_of(cfi_plain);
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[1].process_address, address_of(cfi_plain) - 1);
	CHECK_EQ(t.frames[1].method, FRAME_CFI);
	CHECK(t.frames[1].module != NULL);
	CHECK_EQ(t.frames[1].bias, t.frames[0].bias);
}

static void an_undefined_return_address_completes(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(cfi_root);
	t.words[1] = 0x1234;
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	leaf_at(address_of(cfi_root));
	t.input.stack_bytes = 0;
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
}

static void a_bad_return_address_is_no_frame(void)
{
	static const uint64_t values[] = {1, 0x1234, UINT64_MAX, UINT64_C(1) << 63, STACK + 8};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		leaf_at(address_of(cfi_plain));
		t.words[0] = values[i];
		CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_MAPPING);
	}
}

static void the_cfa_must_move_up(void)
{
	leaf_at(address_of(cfi_below));
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
	leaf_at(address_of(cfi_standing));
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = STACK - 16;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
	t.input.regs[UNWIND_FP] = UINT64_MAX - 3; /* wraps */
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
}

static void a_cycle_of_frame_pointers_ends(void)
{
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = stack_address(2);
	t.words[2] = stack_address(2);
	t.words[3] = address_of(cfi_on_rbp);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
}

static void the_bytes_beyond_the_dump_are_not_there(void)
{
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = stack_address(NR_WORDS - 2);
	t.words[NR_WORDS - 1] = 0;
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE); /* the last word is readable */
	t.input.stack_bytes -= 1;
	CHECK_END(1, STACK_TRUNCATED, STACK_REASON_DUMP_END);
	t.input.stack_bytes = 0;
	t.input.stack = NULL;
	CHECK_END(1, STACK_TRUNCATED, STACK_REASON_DUMP_END);
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = UINT64_C(1) << 60;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
}

static void caller_saved_registers_do_not_outlive_a_call(void)
{
	leaf_at(address_of(cfi_on_rax));
	t.input.regs[0] = stack_address(4);
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	leaf_at(address_of(cfi_plain));
	t.input.regs[0] = stack_address(4);
	t.words[0] = address_of(cfi_on_rax);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void callee_saved_registers_are_followed(void)
{
	leaf_at(address_of(cfi_saves_rbx));
	t.input.regs[RBX] = 0x666;
	t.words[1] = stack_address(6);
	t.words[2] = address_of(cfi_plain);
	t.words[3] = address_of(cfi_on_rbx);
	t.words[6] = address_of(cfi_root);
	CHECK_END(4, STACK_COMPLETE, STACK_REASON_NONE);
	t.input.known &= ~(1ULL << RBX);
	CHECK_END(4, STACK_COMPLETE, STACK_REASON_NONE);
	t.words[2] = address_of(cfi_on_rbp); /* its rbp is unknown */
	t.input.known &= ~(1ULL << UNWIND_FP);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_REGISTER);
}

static void a_return_address_in_a_register(void)
{
	leaf_at(address_of(cfi_in_rdi));
	t.input.regs[5] = address_of(cfi_plain);
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	/* Only a leaf can have it there, so nothing goes round. */
	t.input.regs[5] = address_of(cfi_in_rdi);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void bad_expressions_are_refused(void)
{
	static const char *const bad[] = {
		cfi_endless,	cfi_overflow,	 cfi_underflow, cfi_divides_by_zero,
		cfi_unknown_op, cfi_wild_branch, cfi_empty};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		leaf_at(address_of(bad[i]));
		CHECK_END(1, STACK_BROKEN, STACK_REASON_BAD_CFI);
	}
	leaf_at(address_of(cfi_reads_anywhere));
	CHECK_END(1, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
}

static void a_leaf_in_no_mapping(void)
{
	leaf_at(0);
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_MAPPING);
	CHECK_EQ(t.frames[0].process_address, 0);
	CHECK(t.frames[0].module == NULL);
	t.words[0] = address_of(no_cfi_after_call); /* who called through the null pointer */
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void too_deep_is_truncated(void)
{
	enum { DEEP = UNWIND_MAX_FRAMES + 10 };
	static uint64_t deep[DEEP];
	leaf_at(address_of(cfi_plain));
	for (size_t i = 0; i < DEEP; i++)
		deep[i] = address_of(cfi_plain);
	t.input.stack = (const uint8_t *)deep;
	t.input.stack_bytes = sizeof(deep);
	CHECK_END(UNWIND_MAX_FRAMES, STACK_TRUNCATED, STACK_REASON_DEPTH_LIMIT);
	deep[UNWIND_MAX_FRAMES - 1] = 0;
	CHECK_END(UNWIND_MAX_FRAMES, STACK_COMPLETE, STACK_REASON_NONE);
}

static void missing_registers_are_an_end(void)
{
	leaf_at(address_of(cfi_plain));
	t.input.known = 0;
	CHECK_END(0, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
	leaf_at(address_of(cfi_plain));
	t.input.regs[UNWIND_SP] = UINT64_MAX - 7;
	CHECK_END(0, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
}

static enum unwind_lookup find_pending(void *context, uint64_t address,
				       struct unwind_mapping *mapping)
{
	enum unwind_lookup found = target_find(context, address, mapping);
	return found == UNWIND_FOUND && mapping->object ? UNWIND_PENDING : found;
}

static void a_pending_module_stops_or_has_no_table(void)
{
	uint64_t pending = 0;
	struct unwind_space space = {
		.find = find_pending, .context = &t.target, .generation = UINT64_C(1) << 40};
	leaf_at(address_of(cfi_plain));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, &pending),
		 -EAGAIN);
	CHECK_EQ(pending, address_of(cfi_plain));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, NULL), 0);
	CHECK_EQ(t.result.end, STACK_BROKEN);
	CHECK_EQ(t.result.reason, STACK_REASON_NO_TABLE);
	/* Once it is there, what was said before does not stick. */
	space.find = target_find;
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, &pending), 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
}

static enum unwind_lookup find_unknown(void *context, uint64_t address,
				       struct unwind_mapping *mapping)
{
	enum unwind_lookup found = target_find(context, address, mapping);
	return found == UNWIND_FOUND && mapping->object ? UNWIND_UNKNOWN : found;
}

static void an_unknown_module_stops_in_any_case(void)
{
	uint64_t pending = 0;
	const struct unwind_space space = {
		.find = find_unknown, .context = &t.target, .generation = UINT64_C(1) << 42};
	leaf_at(address_of(cfi_plain));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, &pending),
		 -EAGAIN);
	CHECK_EQ(pending, address_of(cfi_plain));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, NULL), -EAGAIN);
}

static enum unwind_lookup find_unreadable(void *context, uint64_t address,
					  struct unwind_mapping *mapping)
{
	enum unwind_lookup found = target_find(context, address, mapping);
	mapping->object = NULL;
	mapping->cfi = NULL;
	mapping->unreadable = STACK_REASON_UNREADABLE;
	return found;
}

static void an_unreadable_module_says_so(void)
{
	const struct unwind_space space = {
		.find = find_unreadable, .context = &t.target, .generation = UINT64_C(1) << 41};
	for (int times = 0; times < 2; times++) { /* also from the cache */
		leaf_at(address_of(cfi_plain));
		CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, NULL), 0);
		CHECK_EQ(t.result.end, STACK_BROKEN);
		CHECK_EQ(t.result.reason, STACK_REASON_UNREADABLE);
	}
}

static void another_generation_is_another_space(void)
{
	leaf_at(address_of(cfi_plain));
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	const size_t nr_mappings = t.target.nr_mappings;
	t.target.nr_mappings = 0;
	CHECK_END(1, STACK_COMPLETE,
		  STACK_REASON_NONE); /* cached: nobody said that anything changed */
	t.target.space.generation++;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_MAPPING);
	t.target.nr_mappings = nr_mappings;
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
}

static void counters_count(void)
{
	const struct unwind_counters before = *unwinder_counters(t.unwinder);
	leaf_at(address_of(cfi_plain));
	unwind();
	unwind();
	const struct unwind_counters *after = unwinder_counters(t.unwinder);
	CHECK_EQ(after->frames, before.frames + 2);
	CHECK_EQ(after->cache_hits + after->cache_misses,
		 before.cache_hits + before.cache_misses + 2);
	CHECK(after->cache_hits > before.cache_hits);
	CHECK_EQ(after->rules_evaluated, before.rules_evaluated);
}

int main(void)
{
	if (!made_up_begin())
		return 1;
	RUN(a_zero_return_address_completes);
	RUN(an_undefined_return_address_completes);
	RUN(a_bad_return_address_is_no_frame);
	RUN(the_cfa_must_move_up);
	RUN(a_cycle_of_frame_pointers_ends);
	RUN(the_bytes_beyond_the_dump_are_not_there);
	RUN(caller_saved_registers_do_not_outlive_a_call);
	RUN(callee_saved_registers_are_followed);
	RUN(a_return_address_in_a_register);
	RUN(bad_expressions_are_refused);
	RUN(a_leaf_in_no_mapping);
	RUN(too_deep_is_truncated);
	RUN(missing_registers_are_an_end);
	RUN(a_pending_module_stops_or_has_no_table);
	RUN(an_unknown_module_stops_in_any_case);
	RUN(an_unreadable_module_says_so);
	RUN(another_generation_is_another_space);
	RUN(counters_count);
	made_up_end();
	return test_done();
}

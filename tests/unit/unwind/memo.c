/* SPDX-License-Identifier: MIT */
/*
 * What is taken from a thread's last stack is what unwinding finds: each stack here is unwound from the leaf on, too, and
 * both must be equal, down to the evidence. Stacks are made up, on functions whose CFI is known.
 */
#include <malloc.h>

#include "made_up.h"

FUNCTION(cfi_at_copy, ".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n"); /* CFA = *(rbp - 8) */
FUNCTION(cfi_saves_rbp, ".cfi_def_cfa_offset 24\n	.cfi_offset rbp, -16\n");
FUNCTION(cfi_far_from_rbp, ".cfi_def_cfa rbp, 0x10000\n");
FUNCTION(cfi_keeps_r8, ".cfi_same_value r8\n");
FUNCTION(cfi_on_r8, ".cfi_def_cfa r8, 8\n");

enum { DEEP_WORDS = UNWIND_MAX_FRAMES + 16, NR_RANDOM = 60000 };

static struct {
	uint64_t deep[DEEP_WORDS];
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_evidence evidence[UNWIND_MAX_FRAMES], true_evidence[UNWIND_MAX_FRAMES];
	struct unwind_space space;
	uint64_t pending_pc; /* its module is on its way; 0: none is */
	uint64_t moved_pc;   /* another module is mapped there; 0: nowhere */
	struct target_module other;
} m;

static enum unwind_lookup find(void *context, uint64_t address, struct unwind_mapping *mapping)
{
	const enum unwind_lookup found = target_find(context, address, mapping);
	if (m.moved_pc && address == m.moved_pc - 1)
		*mapping = (struct unwind_mapping){
			.start = address, .end = address + 1, .module = &m.other};
	return found == UNWIND_FOUND && m.pending_pc && address == m.pending_pc - 1 ? UNWIND_PENDING
										    : found;
}

static void check_same_evidence(size_t at)
{
	const struct unwind_evidence *a = &m.evidence[at], *b = &m.true_evidence[at];
	CHECK_EQ(a->sp, b->sp);
	CHECK_EQ(a->known, b->known);
	CHECK(memcmp(a->saved, b->saved, sizeof(a->saved)) == 0);
}

/* Unwinds the stack as the next one of the thread; how many of its frames were taken from the last one. */
static size_t next(uint64_t thread, bool with_evidence)
{
	const struct unwind_counters *counters = unwinder_counters(t.unwinder);
	const uint64_t nr_taken_before = counters->frames_taken;
	struct unwind_result result;
	t.input.thread = 0;
	t.input.evidence = with_evidence ? m.true_evidence : NULL;
	CHECK_EQ(unwind_stack(t.unwinder, &m.space, &t.input, t.frames, &t.result, NULL), 0);
	CHECK_EQ(counters->frames_taken, nr_taken_before);
	const uint64_t frames_before = counters->frames;
	t.input.thread = thread;
	t.input.evidence = with_evidence ? m.evidence : NULL;
	CHECK_EQ(unwind_stack(t.unwinder, &m.space, &t.input, m.frames, &result, NULL), 0);
	CHECK_EQ(result.nr_frames, t.result.nr_frames);
	CHECK_EQ(result.end, t.result.end);
	CHECK_EQ(result.reason, t.result.reason);
	CHECK_EQ(counters->frames - frames_before, result.nr_frames);
	for (size_t i = 0; i < result.nr_frames; i++) {
		CHECK_EQ(m.frames[i].process_address, t.frames[i].process_address);
		CHECK_EQ(m.frames[i].method, t.frames[i].method);
		CHECK_EQ(m.frames[i].bias, t.frames[i].bias);
		CHECK(m.frames[i].module == t.frames[i].module);
		if (with_evidence)
			check_same_evidence(i);
	}
	return counters->frames_taken - nr_taken_before;
}

/* Eight frames; by which words the callers are found: */
enum {
	RETURN_TO_SAVES_RBX = 0,
	SAVED_RBX = 2,
	RETURN_TO_SAVES_RBP = 3,
	SAVED_RBP = 5,
	RETURN_TO_ON_RBP = 6,
	RECORD = 10, /* of cfi_on_rbp */
	RETURN_TO_ON_RBX = 11,
	RETURN_TO_AT_COPY = 13, /* where rbx points */
	COPY = 19,
	RETURN_TO_PLAIN = 23, /* below the copy */
	RETURN_TO_ROOT = 24,
	WORDS = 25,
	FRAMES = 8
};

static void make_stack(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[RETURN_TO_SAVES_RBX] = address_of(cfi_saves_rbx);
	t.words[SAVED_RBX] = stack_address(RETURN_TO_AT_COPY);
	t.words[RETURN_TO_SAVES_RBP] = address_of(cfi_saves_rbp);
	t.words[SAVED_RBP] = stack_address(RECORD);
	t.words[RETURN_TO_ON_RBP] = address_of(cfi_on_rbp);
	t.words[RECORD] = stack_address(COPY + 1);
	t.words[RETURN_TO_ON_RBX] = address_of(cfi_on_rbx);
	t.words[RETURN_TO_AT_COPY] = address_of(cfi_at_copy);
	t.words[COPY] = stack_address(RETURN_TO_PLAIN + 1);
	t.words[RETURN_TO_PLAIN] = address_of(cfi_plain);
	t.words[RETURN_TO_ROOT] = address_of(cfi_root);
}

/* A stack that is complete is the thread's last one. */
static void begin(bool with_evidence)
{
	m.pending_pc = m.moved_pc = 0;
	unwinder_free(t.unwinder);
	t.unwinder = unwinder_new();
	m.space.generation++;
	make_stack();
	CHECK_EQ(next(1, with_evidence), 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	CHECK_EQ(t.result.nr_frames, FRAMES);
}

static void the_same_stack_is_taken(void)
{
	for (int with_evidence = 0; with_evidence < 2; with_evidence++) {
		begin(with_evidence);
		CHECK_EQ(next(1, with_evidence), FRAMES - 1);
		CHECK_EQ(next(1, with_evidence), FRAMES - 1);
		t.input.regs[UNWIND_PC] = address_of(cfi_on_rax); /* another leaf, as deep */
		t.input.regs[0] = STACK;
		CHECK_EQ(next(1, with_evidence), FRAMES - 1);
	}
}

static void many_threads(void)
{
	begin(false);
	for (uint64_t thread = 1; thread < 5000; thread++)
		next(thread, false);
	for (uint64_t thread = 1; thread < 5000; thread++)
		CHECK_EQ(next(thread, false), FRAMES - 1); /* here they all have the same stack */
}

/* A function that has just returned to where it was called from. */
static void a_leaf_is_no_return_address(void)
{
	begin(false);
	t.input.regs[UNWIND_PC] = address_of(cfi_saves_rbx);
	t.input.regs[UNWIND_SP] += 8;
	t.input.stack += 8;
	t.input.stack_bytes -= 8;
	CHECK_EQ(next(1, false), FRAMES - 2);
}

static void frames_further_in_are_replaced(void)
{
	begin(false);
	t.words[RETURN_TO_SAVES_RBP]++;
	CHECK_EQ(next(1, false), FRAMES - 3);
	CHECK_EQ(next(1, false), FRAMES - 1);
	t.words[RETURN_TO_SAVES_RBX]++;
	CHECK_EQ(next(1, false), FRAMES - 2);
	CHECK_EQ(next(1, false), FRAMES - 1);
}

/* The stack as it is but for one word; then all as before. */
static void check_word(size_t word, uint64_t value, size_t taken)
{
	begin(false);
	t.words[word] = value;
	CHECK_EQ(next(1, false), taken);
	begin(true);
	t.words[word] = value;
	next(1, true);
}

static void a_word_that_has_changed_was_another_callers(void)
{
	/* What lies further out is still the same. */
	check_word(RETURN_TO_SAVES_RBX, address_of(cfi_saves_rbp), 0); /* and rbx is not restored */
	check_word(RETURN_TO_ON_RBX, address_of(cfi_plain), 0);
	check_word(RETURN_TO_AT_COPY, address_of(cfi_on_rbp), 0);
	check_word(RETURN_TO_PLAIN, address_of(cfi_standing), 0);
	check_word(RETURN_TO_ROOT, address_of(cfi_plain), 0);
	check_word(RETURN_TO_SAVES_RBP, address_of(cfi_saves_rbx), 0);
	/* Words that nobody reads, and the registers of no importance. */
	check_word(1, 1, FRAMES - 1);
	check_word(WORDS, 1, FRAMES - 1);
}

static void a_saved_register_that_has_changed_leads_elsewhere(void)
{
	begin(false);
	t.words[RECORD + 30] = stack_address(COPY + 1);
	t.words[RECORD + 31] = address_of(cfi_root);
	t.words[SAVED_RBP] = stack_address(RECORD + 30);
	next(1, false);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	CHECK(t.result.nr_frames != FRAMES);
	begin(false);
	t.words[60] = address_of(cfi_root);
	t.words[SAVED_RBX] = stack_address(60);
	next(1, false);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	CHECK(t.result.nr_frames != FRAMES);
}

static void where_the_cfa_was_read_may_have_changed(void)
{
	begin(false);
	t.words[COPY] = stack_address(61);
	t.words[60] = address_of(cfi_root);
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	CHECK(t.result.nr_frames != FRAMES);
}

static void where_the_cfa_is_read_may_lie_beyond_the_dump(void)
{
	begin(false);
	t.words[RECORD] = stack_address(61);
	t.words[60] = stack_address(RETURN_TO_PLAIN + 1);
	next(1, false);
	CHECK_EQ(next(1, false), FRAMES - 1);
	t.input.stack_bytes = 60 * 8;
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_TRUNCATED);
}

/* The leaf has called nothing, and saved nothing: what it has in its register is what its caller is found by. */
static void make_stack_on_register(unsigned number)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(number == UNWIND_FP ? cfi_on_rbp : cfi_on_rbx);
	t.words[11] = t.words[31] = address_of(cfi_plain);
	t.words[12] = t.words[32] = address_of(cfi_root);
	t.input.regs[number] = stack_address(number == UNWIND_FP ? 10 : 11);
}

static void a_register_that_is_another_leads_elsewhere(void)
{
	static const unsigned numbers[] = {UNWIND_FP, 3};
	for (size_t i = 0; i < 2; i++) {
		const unsigned number = numbers[i];
		begin(false);
		make_stack_on_register(number);
		CHECK_EQ(next(1, false), 0);
		CHECK_EQ(t.result.nr_frames, 4);
		CHECK_EQ(next(1, false), 3);
		t.input.regs[number] += 20 * 8;
		t.words[31] = address_of(cfi_root);
		next(1, false);
		CHECK_EQ(t.result.nr_frames, 3);
	}
}

static void a_register_that_is_not_known_is_not_the_same(void)
{
	begin(false);
	make_stack_on_register(UNWIND_FP);
	next(1, false);
	CHECK_EQ(t.result.nr_frames, 4);
	t.input.known &= ~(UINT64_C(1) << UNWIND_FP);
	CHECK_EQ(next(1, false), 0);
	CHECK(t.result.end != STACK_COMPLETE);
}

/* What is not known is not 0, either: there are stacks at low addresses. */
static void a_register_that_was_0(void)
{
	begin(false);
	t.input.regs[UNWIND_SP] = (1 << 16) - 0x40;
	t.input.regs[UNWIND_FP] = 0;
	t.words[0] = address_of(cfi_far_from_rbp);
	t.words[7] = address_of(cfi_root);
	next(1, false);
	CHECK_EQ(t.result.nr_frames, 3);
	CHECK_EQ(next(1, false), 2);
	t.input.known &= ~(UINT64_C(1) << UNWIND_FP);
	CHECK_EQ(next(1, false), 0);
}

/* A register that callees do not give back, known beyond the leaf all the same. */
static void a_cfa_in_another_register(void)
{
	begin(false);
	leaf_at(address_of(cfi_keeps_r8));
	t.words[0] = address_of(cfi_on_r8);
	t.words[10] = t.words[20] = address_of(cfi_root);
	t.words[20]++;
	t.input.regs[8] = stack_address(10);
	next(1, false);
	CHECK_EQ(t.result.nr_frames, 3);
	t.input.regs[8] = stack_address(20);
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.nr_frames, 3);
}

/* What one callee has saved is what another one saved before, and nobody looks at: it is evidence. */
static void a_register_that_is_saved_twice(void)
{
	begin(true);
	t.words[RETURN_TO_SAVES_RBP] = address_of(cfi_saves_rbx);
	t.words[RETURN_TO_ON_RBP] = address_of(cfi_root);
	next(1, true);
	CHECK_EQ(t.result.nr_frames, 4);
	CHECK_EQ(next(1, true), 3);
	t.words[SAVED_RBX]++;
	CHECK_EQ(next(1, true), 1);
}

static void registers_that_no_rule_takes_do_not_matter_but_as_evidence(void)
{
	begin(false);
	t.input.regs[12] ^= 1;
	t.input.regs[3] ^= 1;
	t.input.regs[UNWIND_FP] ^= 1;
	CHECK_EQ(next(1, false), FRAMES - 1);
	begin(true);
	t.input.regs[12] ^= 1;
	CHECK_EQ(next(1, true), 0);
	t.input.known &= ~(UINT64_C(1) << 12);
	t.input.regs[12] = 0;
	CHECK_EQ(next(1, true), 0);
	/* What was kept without evidence has none to give. */
	begin(false);
	CHECK_EQ(next(1, true), 0);
	CHECK_EQ(next(1, false), 0);
}

static void a_shorter_dump_is_not_gone_beyond(void)
{
	for (size_t bytes = 0; bytes <= sizeof(t.words); bytes += 4) {
		begin(bytes % 8);
		t.input.stack_bytes = bytes;
		CHECK_EQ(next(1, bytes % 8), bytes >= WORDS * 8 ? FRAMES - 1 : 0);
	}
}

static void poison_behind_the_dump_is_not_read(void)
{
	begin(false);
	t.input.stack_bytes = RETURN_TO_PLAIN * 8;
	t.words[RETURN_TO_PLAIN] = t.words[RETURN_TO_ROOT] = UINT64_MAX;
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_TRUNCATED);
}

static void another_mapping_is_another_stack(void)
{
	begin(false);
	m.moved_pc = address_of(cfi_on_rbp);
	m.space.generation++;
	CHECK_EQ(next(1, false), 0);
	CHECK(t.frames[3].module == &m.other);
}

static void a_module_that_arrives_between_two_samples(void)
{
	begin(false);
	m.space.generation++;
	m.pending_pc = address_of(cfi_on_rbx);
	t.words[COPY + 2] = 1; /* no frame record lies where rbp points */
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_BROKEN);
	CHECK_EQ(t.result.reason, STACK_REASON_NO_TABLE);
	/* The generation is the same. */
	m.pending_pc = 0;
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	CHECK_EQ(next(1, false), FRAMES - 1);
}

/* Without its module's table a frame was thought to be the outermost one, as no frame record leads on. */
static void what_was_complete_without_a_table_is_not_remembered(void)
{
	begin(false);
	m.space.generation++;
	m.pending_pc = address_of(cfi_on_rbx);
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	CHECK(t.result.nr_frames < FRAMES);
	m.pending_pc = 0;
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.nr_frames, FRAMES);
}

static void frame_pointers_only_is_another_way(void)
{
	begin(false);
	t.input.frame_pointers_only = true;
	CHECK_EQ(next(1, false), 0);
	t.input.frame_pointers_only = false;
	CHECK_EQ(next(1, false), FRAMES - 1);
}

/* What is cut or broken in between leaves what was remembered. */
static void a_cut_stack_leaves_the_last_complete_one(void)
{
	begin(false);
	t.input.stack_bytes = 64;
	CHECK_EQ(next(1, false), 0);
	CHECK_EQ(t.result.end, STACK_TRUNCATED);
	t.input.stack_bytes = sizeof(t.words);
	CHECK_EQ(next(1, false), FRAMES - 1);
}

/* Calls of one word each, `nr` frames in all; the stack ends where it did, so that deeper ones begin further down. */
static void make_deep(size_t nr)
{
	memset(m.deep, 0, sizeof(m.deep));
	const size_t first = DEEP_WORDS - nr;
	for (size_t i = first; i < DEEP_WORDS; i++)
		m.deep[i] = address_of(cfi_plain);
	m.deep[DEEP_WORDS - 2] = address_of(cfi_root);
	leaf_at(address_of(cfi_plain));
	t.input.regs[UNWIND_SP] = STACK + first * 8;
	t.input.stack = (const uint8_t *)&m.deep[first];
	t.input.stack_bytes = nr * 8;
}

static void no_stack_is_deeper_than_the_limit(void)
{
	begin(false);
	for (size_t nr = UNWIND_MAX_FRAMES - 8; nr < UNWIND_MAX_FRAMES + 8; nr++) {
		make_deep(nr);
		next(1, false);
		CHECK_EQ(t.result.end, nr <= UNWIND_MAX_FRAMES ? STACK_COMPLETE : STACK_TRUNCATED);
	}
}

static void memory_is_bounded_and_what_is_used_stays(void)
{
	begin(false);
	const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (uint64_t thread = 1; thread < 300; thread++) {
		make_deep(UNWIND_MAX_FRAMES - 1);
		next(thread, false);
		CHECK_EQ(next(thread, false), UNWIND_MAX_FRAMES - 2);
	}
	const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
	CHECK(after < before + (20 << 20));
}

/* ---- at random ---- */

static uint64_t random_of(uint64_t nr)
{
	static uint64_t state = 88172645463325252;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % nr;
}

static uint64_t random_value(void)
{
	static const char *const labels[] = {cfi_plain,	   cfi_on_rbp,	  cfi_on_rbx,
					     cfi_root,	   cfi_saves_rbx, cfi_saves_rbp,
					     cfi_at_copy,  cfi_on_rax,	  cfi_in_rdi,
					     cfi_standing, no_cfi,	  no_cfi_after_call};
	switch (random_of(4)) {
	case 0:
		return random_of(3);
	case 1:
		return stack_address(random_of(40));
	default:
		return address_of(labels[random_of(sizeof(labels) / sizeof(*labels))]);
	}
}

static void change_something(void)
{
	static const unsigned registers[] = {0, 3, UNWIND_FP, 12, UNWIND_PC};
	const unsigned number = registers[random_of(5)];
	switch (random_of(8)) {
	case 0:
		t.input.regs[number] = random_value();
		break;
	case 1:
		t.input.known ^= UINT64_C(1) << registers[random_of(4)];
		break;
	case 2:
		t.input.stack_bytes = random_of(60) * 8;
		break;
	case 3:
		m.space.generation++;
		m.moved_pc = random_of(2) ? 0 : random_value();
		break;
	case 4:
		m.pending_pc = random_of(2) ? 0 : random_value();
		break;
	default:
		t.words[random_of(40)] = random_value();
		break;
	}
}

static void whatever_changes_the_result_is_the_same(void)
{
	size_t nr_taken = 0, nr_partly = 0;
	begin(false);
	for (size_t i = 0; i < NR_RANDOM; i++) {
		const uint64_t thread = 1 + random_of(2);
		if (random_of(3) == 0) {
			m.pending_pc = 0;
			make_stack();
		}
		for (size_t nr = random_of(4); nr > 0; nr--)
			change_something();
		const size_t taken = next(thread, i % 2000 < 500);
		nr_taken += taken > 0;
		nr_partly += taken > 0 && taken + 1 < t.result.nr_frames;
	}
	CHECK(nr_taken > NR_RANDOM / 20);
	CHECK(nr_partly > NR_RANDOM / 200);
}

int main(void)
{
	if (!made_up_begin())
		return 1;
	m.space = t.target.space;
	m.space.find = find;
	RUN(the_same_stack_is_taken);
	RUN(many_threads);
	RUN(a_leaf_is_no_return_address);
	RUN(frames_further_in_are_replaced);
	RUN(a_word_that_has_changed_was_another_callers);
	RUN(a_saved_register_that_has_changed_leads_elsewhere);
	RUN(where_the_cfa_was_read_may_have_changed);
	RUN(where_the_cfa_is_read_may_lie_beyond_the_dump);
	RUN(a_register_that_is_another_leads_elsewhere);
	RUN(a_register_that_was_0);
	RUN(a_cfa_in_another_register);
	RUN(a_register_that_is_saved_twice);
	RUN(a_register_that_is_not_known_is_not_the_same);
	RUN(registers_that_no_rule_takes_do_not_matter_but_as_evidence);
	RUN(a_shorter_dump_is_not_gone_beyond);
	RUN(poison_behind_the_dump_is_not_read);
	RUN(another_mapping_is_another_stack);
	RUN(a_module_that_arrives_between_two_samples);
	RUN(what_was_complete_without_a_table_is_not_remembered);
	RUN(frame_pointers_only_is_another_way);
	RUN(a_cut_stack_leaves_the_last_complete_one);
	RUN(no_stack_is_deeper_than_the_limit);
	RUN(memory_is_bounded_and_what_is_used_stays);
	RUN(whatever_changes_the_result_is_the_same);
	made_up_end();
	return test_done();
}

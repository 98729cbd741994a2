/* SPDX-License-Identifier: MIT */
/* Tails for cut stacks: whose they are, and when none is to be had. Stacks here are made up, leaf first. */
#include <ctop/unwind/stitching.h>

#include <malloc.h>

#include "test.h"

enum { TID = 7, GENERATION = 1, CALLERS = 0x1000, FRAME_BYTES = 64, TOP = 1 << 20 };

static struct {
	struct stitching *stitching;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_evidence evidence[UNWIND_MAX_FRAMES];
	struct unwind_result result;
} t;

/* Frame `depth` of a stack, the root's is 0: its place is given by its depth, its registers by what it works on. */
static void set_frame(size_t at, uint64_t address, size_t depth, uint64_t work)
{
	t.frames[at] = (struct unwind_frame){
		.process_address = address,
		.method = at ? FRAME_CFI : FRAME_LEAF,
		.module = &t,
	};
	t.evidence[at] = (struct unwind_evidence){
		.sp = TOP - depth * FRAME_BYTES,
		.saved = {work, work + 1, 0, 0, 0, 0},
		.known = 3,
	};
}

/* Addresses root first; the first `hidden` of them lie beyond the dump. All work on the same but those in *works. */
static void take_works(const char *functions, size_t hidden, const char *works)
{
	size_t nr = strlen(functions);
	for (size_t depth = hidden; depth < nr; depth++)
		set_frame(nr - 1 - depth, (uint64_t)functions[depth], depth,
			  works ? (uint64_t)works[depth] : 'w');
	t.result = (struct unwind_result){
		.nr_frames = nr - hidden,
		.end = hidden ? STACK_TRUNCATED : STACK_COMPLETE,
		.reason = hidden ? STACK_REASON_DUMP_END : STACK_REASON_NONE,
	};
	CHECK_EQ(stitching_take(t.stitching, TID, GENERATION, t.frames, t.evidence, &t.result), 0);
}

static void take(const char *functions, size_t hidden)
{
	take_works(functions, hidden, NULL);
}

static void start(void)
{
	stitching_free(t.stitching);
	t.stitching = stitching_new();
	CHECK(t.stitching);
	take("?x", 1);
	CHECK_EQ(t.result.end, STACK_TRUNCATED);
	CHECK(stitching_watch(t.stitching, TID));
}

static void check_joined(const char *functions, size_t hidden)
{
	size_t nr = strlen(functions);
	CHECK_EQ(t.result.end, STACK_JOINED);
	CHECK_EQ(t.result.reason, STACK_REASON_NONE);
	CHECK_EQ(t.result.nr_frames, nr);
	for (size_t depth = 0; depth < nr; depth++) {
		const struct unwind_frame *frame = &t.frames[nr - 1 - depth];
		CHECK_EQ(frame->process_address, functions[depth]);
		CHECK_EQ(frame->method == FRAME_JOINED, depth < hidden);
		CHECK(frame->module == &t);
	}
}

static void check_cut(const char *functions, size_t hidden)
{
	CHECK_EQ(t.result.end, STACK_TRUNCATED);
	CHECK_EQ(t.result.reason, STACK_REASON_DUMP_END);
	CHECK_EQ(t.result.nr_frames, strlen(functions) - hidden);
}

static void a_cut_stack_gets_the_tail_of_an_earlier_one(void)
{
	start();
	take("smabcl", 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
	take("smabdefl", 3);
	check_joined("smabdefl", 3);
	/* What was joined is remembered, too. */
	take("smabdefghl", 5);
	check_joined("smabdefghl", 5);
}

static void nothing_is_remembered_before_a_stack_was_cut(void)
{
	stitching_free(t.stitching);
	t.stitching = stitching_new();
	CHECK(!stitching_watch(t.stitching, TID));
	take("smabcl", 0);
	CHECK(!stitching_watch(t.stitching, TID));
	take("smabcl", 3);
	check_cut("smabcl", 3);
}

static void the_same_function_at_the_same_depth_called_by_another(void)
{
	start();
	take("smarl", 0);
	take("smbrl", 0);
	take("smbrxl", 3); /* r is seen, its caller is not: a or b? */
	check_cut("smbrxl", 3);
	/* A recursion that comes to the same depth from both. */
	take("smarrrl", 0);
	take("smbrrrl", 0);
	take("smbrrrxl", 5);
	check_cut("smbrrrxl", 5);
	/* They share what is below the frames where they part. */
	take("smarrxl", 2);
	check_joined("smarrxl", 2);
}

static void another_call_of_the_same_works_on_something_else(void)
{
	start();
	take_works("smarl", 0, "wwwow");
	take_works("smbrxl", 3, "wwwpww");
	check_cut("smbrxl", 3);
	take_works("smarxl", 3, "wwwoww");
	check_joined("smarxl", 3);
	/* What works on something else was called by another, and is distinguished. */
	take_works("smbrl", 0, "wwwpw");
	take_works("smbrxl", 3, "wwwpww");
	check_joined("smbrxl", 3);
}

static void registers_that_are_not_known_are_not_the_same(void)
{
	start();
	take("smarl", 0);
	for (size_t at = 0; at < 3; at++)
		set_frame(at, (uint64_t) "lxr"[at], 5 - at, 'w');
	t.evidence[2].known = 1;
	t.evidence[2].saved[1] = 0;
	t.result = (struct unwind_result){3, STACK_TRUNCATED, STACK_REASON_DUMP_END, false};
	CHECK_EQ(stitching_take(t.stitching, TID, GENERATION, t.frames, t.evidence, &t.result), 0);
	check_cut("smarxl", 3);
}

static void another_stack_pointer(void)
{
	start();
	take("smarl", 0);
	take("smaarxl", 4);
	check_cut("smaarxl", 4);
}

static void cut_stacks_lead_to_a_root_or_nowhere(void)
{
	start();
	take("smabcdl", 3);
	take("smabcdefl", 5);
	check_cut("smabcdefl", 5);
	/* Then there is one that has b, and a root. */
	take("smabl", 0);
	take("smabcdefl", 5);
	check_joined("smabcdefl", 5);
}

static void a_leaf_is_no_frame_to_join_at(void)
{
	start();
	take("smal", 0);
	take("smal", 3);
	check_cut("smal", 3);
}

static void what_did_not_end_with_the_dump_is_left(void)
{
	start();
	take("smarl", 0);
	for (size_t at = 0; at < 2; at++)
		set_frame(at, (uint64_t) "lr"[at], 4 - at, 'w');
	t.result = (struct unwind_result){2, STACK_BROKEN, STACK_REASON_BAD_CFI, false};
	CHECK_EQ(stitching_take(t.stitching, TID, GENERATION, t.frames, t.evidence, &t.result), 0);
	CHECK_EQ(t.result.end, STACK_BROKEN);
	CHECK_EQ(t.result.nr_frames, 2);
}

static void another_program_or_mapping_forgets(void)
{
	start();
	take("smarl", 0);
	stitching_forget(t.stitching, TID);
	CHECK(!stitching_watch(t.stitching, TID));
	take("smarxl", 3);
	check_cut("smarxl", 3);
	start();
	take("smarl", 0);
	for (size_t at = 0; at < 3; at++)
		set_frame(at, (uint64_t) "lxr"[at], 5 - at, 'w');
	t.result = (struct unwind_result){3, STACK_TRUNCATED, STACK_REASON_DUMP_END, false};
	CHECK_EQ(stitching_take(t.stitching, TID, GENERATION + 1, t.frames, t.evidence, &t.result),
		 0);
	check_cut("smarxl", 3);
	start();
	take("smarl", 0);
	stitching_forget_all(t.stitching);
	CHECK(!stitching_watch(t.stitching, TID));
}

static void another_thread_has_tails_of_its_own(void)
{
	start();
	take("smarl", 0);
	for (int i = 0; i < 2; i++) {
		for (size_t at = 0; at < 3; at++)
			set_frame(at, (uint64_t) "lxr"[at], 5 - at, 'w');
		t.result = (struct unwind_result){3, STACK_TRUNCATED, STACK_REASON_DUMP_END, false};
		CHECK_EQ(stitching_take(t.stitching, TID + 1, GENERATION, t.frames, t.evidence,
					&t.result),
			 0);
		check_cut("smarxl", 3);
	}
}

/* A stack of that many frames, of which the first are beyond the dump. */
static void take_deep(size_t nr, size_t hidden, uint64_t work)
{
	for (size_t depth = hidden; depth < nr; depth++)
		set_frame(nr - 1 - depth, CALLERS + depth, depth, work);
	t.result = (struct unwind_result){
		.nr_frames = nr - hidden,
		.end = hidden ? STACK_TRUNCATED : STACK_COMPLETE,
		.reason = hidden ? STACK_REASON_DUMP_END : STACK_REASON_NONE,
	};
	CHECK_EQ(stitching_take(t.stitching, TID, GENERATION, t.frames, t.evidence, &t.result), 0);
}

static void no_stack_is_deeper_than_the_limit(void)
{
	enum { OUTER = UNWIND_MAX_FRAMES - 124 };
	start();
	take_deep(UNWIND_MAX_FRAMES, 0, 0);
	take_deep(UNWIND_MAX_FRAMES, OUTER, 0);
	CHECK_EQ(t.result.end, STACK_JOINED);
	CHECK_EQ(t.result.nr_frames, UNWIND_MAX_FRAMES);
	/* The dump holds so many frames that with their tail they are too many. */
	for (size_t at = 0; at < 200; at++)
		set_frame(at, at == 199 ? CALLERS + OUTER : 1 + at,
			  at == 199 ? OUTER : 2 * UNWIND_MAX_FRAMES - at, 0);
	t.result = (struct unwind_result){200, STACK_TRUNCATED, STACK_REASON_DUMP_END, false};
	CHECK_EQ(stitching_take(t.stitching, TID, GENERATION, t.frames, t.evidence, &t.result), 0);
	CHECK_EQ(t.result.end, STACK_TRUNCATED);
	CHECK_EQ(t.result.nr_frames, 200);
}

static void memory_is_bounded_and_what_is_used_stays(void)
{
	const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	start();
	take("smarl", 0);
	for (uint64_t i = 0; i < 3000; i++) {
		take_deep(200, i % 3 ? 0 : 100, i + 1);
		take("smarxl", 3);
		check_joined("smarxl", 3);
	}
	for (int32_t tid = 100; tid < 1000; tid++)
		for (int i = 0; i < 2; i++) {
			set_frame(0, 'l', 1, 0);
			t.result = (struct unwind_result){1, STACK_TRUNCATED, STACK_REASON_DUMP_END,
							  false};
			CHECK_EQ(stitching_take(t.stitching, tid, GENERATION, t.frames, t.evidence,
						&t.result),
				 0);
		}
	const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
	CHECK(after < before + (32 << 20));
}

/* A thread's turn: a deep stack of its own, whole or cut. Whether it was joined. */
static bool take_turn_of(int32_t tid, uint64_t turn, bool is_cut)
{
	enum { DEEP = 300, BEYOND = 200 };
	const size_t hidden = is_cut ? BEYOND : 0;
	for (size_t depth = hidden; depth < DEEP; depth++)
		set_frame(DEEP - 1 - depth, CALLERS + depth, depth,
			  (uint64_t)tid << 32 | (depth < BEYOND + 1 ? 0 : turn));
	t.result = (struct unwind_result){
		.nr_frames = DEEP - hidden,
		.end = hidden ? STACK_TRUNCATED : STACK_COMPLETE,
		.reason = hidden ? STACK_REASON_DUMP_END : STACK_REASON_NONE,
	};
	CHECK_EQ(stitching_take(t.stitching, tid, GENERATION, t.frames, t.evidence, &t.result), 0);
	return t.result.end == STACK_JOINED;
}

enum { THREADS = 320, ROUNDS = 40 };

/* Of threads of shares below `shares`; those of the first one as bits, a row for each round. */
static void take_turns(uint32_t shares, bool joined[ROUNDS][THREADS])
{
	stitching_free(t.stitching);
	t.stitching = stitching_new();
	CHECK(t.stitching);
	for (uint64_t turn = 0; turn < ROUNDS; turn++)
		for (int32_t i = 0; i < THREADS; i++) {
			/* Some have long rests, so that others take their room. */
			const int32_t tid = 1000 + i;
			if (stitching_share(tid) >= shares ||
			    (turn / 4 + (uint64_t)i / 16) % 3 == 0)
				continue;
			const bool was = take_turn_of(tid, turn, turn % 3 != 1);
			if (stitching_share(tid) == 0)
				joined[turn][i] = was;
		}
}

static void what_is_forgotten_depends_on_its_share_alone(void)
{
	static bool alone[ROUNDS][THREADS], beside_all[ROUNDS][THREADS];
	size_t nr_joined = 0, nr_of_share = 0;
	for (int32_t i = 0; i < THREADS; i++)
		nr_of_share += stitching_share(1000 + i) == 0;
	take_turns(1, alone);
	take_turns(STITCHING_SHARES, beside_all);
	CHECK(memcmp(alone, beside_all, sizeof(alone)) == 0);
	for (size_t turn = 0; turn < ROUNDS; turn++)
		for (size_t i = 0; i < THREADS; i++)
			nr_joined += alone[turn][i];
	CHECK(nr_joined > 0 && nr_joined < nr_of_share * ROUNDS / 2);
}

int main(void)
{
	RUN(a_cut_stack_gets_the_tail_of_an_earlier_one);
	RUN(nothing_is_remembered_before_a_stack_was_cut);
	RUN(the_same_function_at_the_same_depth_called_by_another);
	RUN(another_call_of_the_same_works_on_something_else);
	RUN(registers_that_are_not_known_are_not_the_same);
	RUN(another_stack_pointer);
	RUN(cut_stacks_lead_to_a_root_or_nowhere);
	RUN(a_leaf_is_no_frame_to_join_at);
	RUN(what_did_not_end_with_the_dump_is_left);
	RUN(another_program_or_mapping_forgets);
	RUN(another_thread_has_tails_of_its_own);
	RUN(no_stack_is_deeper_than_the_limit);
	RUN(memory_is_bounded_and_what_is_used_stays);
	RUN(what_is_forgotten_depends_on_its_share_alone);
	stitching_free(t.stitching);
	return test_done();
}

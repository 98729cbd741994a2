/* SPDX-License-Identifier: MIT */
/*
 * A thread's stack below a switch, and the kernel's chain beyond it: how many words and return addresses, then each of them, a byte
 * that says which (of the Go functions here, of the stack, or the 8 bytes that follow). Whatever they are, what
 * is taken of the chain are calls, from a root on.
 */
#include "fuzz.h"

#if defined(__x86_64__)
#include "../unit/unwind/go_program.h"
#include "../unit/unwind/target.h"

#define STACK UINT64_C(0x7ffd10000000)
enum { WORDS_MAX = 64, CHAIN_MAX = 64 };

extern const char chain_leaf[];
__asm__(".text\n	.p2align 4\n	.cfi_startproc\n	nop\nchain_leaf:\n	nop\n	"
	"nop\n	.cfi_endproc\n");

static const char *const places[] = {
	go_root_after,	     go_switch_after,		go_clock_after,	      go_switches_after,
	go_caller_after,     go_indirect_after,		go_other_after,	      go_bare_after,
	go_calls_bare_after, go_caller_of_caller_after, go_calls_clock_after, chain_leaf,
};
enum { NR_PLACES = sizeof(places) / sizeof(places[0]), ON_STACK = 0x80 };

static uint64_t take_word(struct input *input)
{
	const uint8_t which = input_u8(input);
	if (which & ON_STACK)
		return STACK + (uint64_t)(which - ON_STACK) * 8;
	return which < NR_PLACES ? (uint64_t)(uintptr_t)places[which] : input_u64(input);
}

static bool is_of_root(uint64_t address)
{
	return address + 1 == (uint64_t)(uintptr_t)go_root_after;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct target target;
	static struct unwinder *unwinder;
	static struct unwind_frame frames[UNWIND_MAX_FRAMES];
	if (!unwinder)
		REQUIRE(target_map(&target, getpid()) && (unwinder = unwinder_new()));
	struct input input = {bytes, size};
	uint64_t words[WORDS_MAX], chain[CHAIN_MAX];
	const size_t nr_words = input_u8(&input) % (WORDS_MAX + 1);
	const size_t nr_chain = input_u8(&input) % (CHAIN_MAX + 1);
	struct unwind_input unwind = {
		.known = (UINT64_C(1) << UNWIND_NR_REGS) - 1,
		.chain = chain,
		.nr_chain = nr_chain,
	};
	unwind.regs[UNWIND_PC] = take_word(&input);
	unwind.regs[UNWIND_SP] = STACK;
	unwind.regs[UNWIND_FP] = take_word(&input);
	for (size_t i = 0; i < nr_words; i++)
		words[i] = take_word(&input);
	for (size_t i = 0; i < nr_chain; i++)
		chain[i] = take_word(&input);
	unwind.stack = fuzz_copy((const uint8_t *)words, nr_words * sizeof(words[0]));
	unwind.stack_bytes = nr_words * sizeof(words[0]);
	struct unwind_result result;
	REQUIRE(unwind_stack(unwinder, &target.space, &unwind, frames, &result, NULL) == 0);
	free((void *)(uintptr_t)unwind.stack);
	REQUIRE(result.nr_frames <= UNWIND_MAX_FRAMES);
	if (!result.behind_switch)
		return 0;
	REQUIRE(result.end == STACK_COMPLETE &&
		is_of_root(frames[result.nr_frames - 1].process_address));
	size_t at = result.nr_frames - 1;
	for (size_t left = nr_chain;
	     frames[at].method == FRAME_FP || frames[at].method == FRAME_LIKELY ||
	     frames[at].method == FRAME_SWITCHED;
	     at--) {
		if (frames[at].method == FRAME_SWITCHED) {
			REQUIRE(frames[at].process_address == 0 &&
				(frames[at + 1].method == FRAME_FP ||
				 frames[at + 1].method == FRAME_LIKELY));
			continue;
		}
		if (!left || frames[at].process_address != chain[left - 1] - 1)
			break; /* the thread's own */
		left--;
	}
	REQUIRE(at < result.nr_frames - 1);
	return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	(void)bytes, (void)size;
	return 0;
}
#endif

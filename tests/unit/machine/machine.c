/* SPDX-License-Identifier: MIT */
/* x86-64: which bytes are a call, which a restorer, which the end of a task; the way to a function's return. */
#include <ctop/machine/machine.h>
#include <ctop/machine/memory.h>
#include "test.h"

static bool is_call(const char *bytes, size_t size)
{
	return machine_ends_in_call((const uint8_t *)bytes, size);
}

#define IS_CALL(bytes) is_call(bytes, sizeof(bytes) - 1)

static void every_form_of_a_call(void)
{
	CHECK(IS_CALL("\xe8\x01\x02\x03\x04"));		/* call rel32 */
	CHECK(IS_CALL("\x90\x90\xe8\x01\x02\x03\x04")); /* after something else */
	CHECK(IS_CALL("\xff\xd0"));			/* call *%rax */
	CHECK(IS_CALL("\x41\xff\xd3"));			/* call *%r11 */
	CHECK(IS_CALL("\xff\x10"));			/* call *(%rax) */
	CHECK(IS_CALL("\xff\x50\x18"));			/* call *0x18(%rax) */
	CHECK(IS_CALL("\xff\x90\x00\x01\x00\x00"));	/* call *0x100(%rax) */
	CHECK(IS_CALL("\xff\x15\x00\x01\x00\x00"));	/* call *0x100(%rip) */
	CHECK(IS_CALL("\xff\x14\xc8"));			/* call *(%rax,%rcx,8) */
	CHECK(IS_CALL("\xff\x14\xc5\x00\x00\x00\x00")); /* call *0(,%rax,8) */
	CHECK(IS_CALL("\xff\x54\x24\x08"));		/* call *8(%rsp) */
	CHECK(IS_CALL("\xff\x94\x24\x00\x01\x00\x00")); /* call *0x100(%rsp) */
	CHECK(IS_CALL("\x3e\xff\xd0"));			/* notrack call *%rax */
}

static void what_is_no_call(void)
{
	CHECK(!IS_CALL(""));
	CHECK(!IS_CALL("\x90"));
	CHECK(!IS_CALL("\xe8\x01\x02\x03"));	     /* cut off */
	CHECK(!IS_CALL("\xe9\x01\x02\x03\x04"));     /* jmp */
	CHECK(!IS_CALL("\xff\xe0"));		     /* jmp *%rax */
	CHECK(!IS_CALL("\xff\x25\x00\x01\x00\x00")); /* jmp *0x100(%rip) */
	CHECK(!IS_CALL("\xff\x50"));		     /* its displacement is missing */
	CHECK(!IS_CALL("\xff\x15\x00\x01\x00"));
	CHECK(!IS_CALL("\xe8\x01\x02\x03\x04\x90")); /* one too far */
	CHECK(!IS_CALL("\x90\x90\x90\x90\x90\x90\x90\x90"));
}

static void where_a_direct_call_leads(void)
{
	static const uint8_t direct[] = {0x90, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff};
	static const uint8_t indirect[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0};
	int64_t distance;
	CHECK(machine_call_distance(direct, sizeof(direct), &distance));
	CHECK_EQ(distance, -16);
	CHECK(!machine_call_distance(direct, 4, &distance));
	CHECK(!machine_call_distance(indirect, sizeof(indirect), &distance));
}

static void the_restorer(void)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t other[MACHINE_RESTORER_BYTES];
	CHECK(machine_is_restorer(code));
	for (size_t i = 0; i < sizeof(code); i++) {
		memcpy(other, code, sizeof(code));
		other[i] ^= 1;
		CHECK(!machine_is_restorer(other));
	}
}

static enum machine_ending ending(const char *code, size_t size)
{
	return machine_ending((const uint8_t *)code, size);
}

#define ENDING(code) ending(code, sizeof(code) - 1)

static void what_follows_the_outermost_call(void)
{
	static const char exits[] = "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05";
	CHECK_EQ(ENDING("\x89\xc7\xe8"), MACHINE_PASSES_ON);
	CHECK_EQ(ENDING("\x48\x89\xc7\xe8"), MACHINE_PASSES_ON);
	CHECK_EQ(ENDING("\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05"), MACHINE_ENDS_TASK);
	CHECK_EQ(ENDING("\x89\xc7\xb8\x3d\x00\x00\x00\x0f\x05"), MACHINE_GOES_ON);
	CHECK_EQ(ENDING("\x89\xc6\xe8"), MACHINE_GOES_ON);
	CHECK_EQ(ENDING(exits), MACHINE_ENDS_TASK);
	for (size_t size = 0; size < sizeof(exits) - 1; size++)
		CHECK_EQ(ending(exits, size), MACHINE_GOES_ON);
}

static void what_leaves_its_stack(void)
{
	CHECK(machine_starts_stack((const uint8_t *)"\x48\x89\xdc\x48\x8b\x3c\x24\x00\x00"));
	CHECK(machine_starts_stack((const uint8_t *)"\xf3\x0f\x1e\xfa\x4c\x89\xe4\x90\x90"));
	CHECK(!machine_starts_stack((const uint8_t *)"\x48\x89\xe5\x48\x8b\x3c\x24\x00\x00"));
}

enum { STACK = 0x1000, RETURN_ADDRESS = 0x4242, NR_WORDS = 8 };

/* Runs code on a stack of words that say where they are, with the return address at a word; whether it got there. */
static bool returns_from(const char *code, size_t size, size_t word, bool *detours)
{
	uint64_t words[NR_WORDS];
	for (size_t i = 0; i < NR_WORDS; i++)
		words[i] = i == word ? RETURN_ADDRESS : i;
	const struct memory memory = {
		.stack = (const uint8_t *)words, .start = STACK, .end = STACK + sizeof(words)};
	struct registers registers = {.known = (1U << UNWIND_NR_REGS) - 1};
	registers_set(&registers, UNWIND_SP, STACK);
	registers_set(&registers, UNWIND_FP, STACK + 16);
	const struct registers before = registers;
	if (!machine_run_to_return((const uint8_t *)code, size, &memory, &registers, detours)) {
		CHECK(memcmp(&before, &registers, sizeof(before)) == 0);
		return false;
	}
	return registers.value[UNWIND_PC] == RETURN_ADDRESS &&
	       registers.value[UNWIND_SP] == STACK + 8 * (word + 1);
}

#define RETURNS(code, word) returns_from(code, sizeof(code) - 1, word, &detours)

static void the_way_to_the_return(void)
{
	bool detours;
	CHECK(RETURNS("\xc3", 0) && !detours);
	CHECK(RETURNS("\x5b\x41\x5c\xc3", 2) && !detours);		  /* pop %rbx; pop %r12 */
	CHECK(RETURNS("\x48\x83\xc4\x18\xc3", 3) && !detours);		  /* add $24, %rsp */
	CHECK(RETURNS("\x48\x83\xec\x08\x48\x83\xc4\x10\xc3", 1));	  /* sub $8; add $16 */
	CHECK(RETURNS("\xc9\xc3", 3));					  /* leave */
	CHECK(RETURNS("\x48\x89\xe5\x5d\xc3", 1));			  /* mov %rsp, %rbp; pop */
	CHECK(RETURNS("\x48\x85\xc0\x74\x02\xff\xd0\xc3", 0) && detours); /* test; je; call */
	CHECK(RETURNS("\xe8\x01\x02\x03\x04\x5d\xc3", 1) && detours);
	CHECK(RETURNS("\xff\x25\x01\x02\x03\x04", 0));	       /* a stub */
	CHECK(RETURNS("\x80\x3d\x01\x02\x03\x04\x00\xc3", 0)); /* cmpb $0, rip-relative */
	/* What is not known, is cut, or leads out of the stack. */
	CHECK(!RETURNS("\x0f\x0b", 0));
	CHECK(!RETURNS("\x5b", 1));
	CHECK(!RETURNS("", 0));
	CHECK(!RETURNS("\xe8\x01\x02", 0));
	CHECK(!RETURNS("\xff\x24\x25\x00\x00\x00\x00", 0));
	CHECK(!RETURNS("\x48\x81\xc4\x00\x10\x00\x00\xc3", 0));
	CHECK(!RETURNS("\x48\x89\xc5\xc3", 0)); /* what the caller gets back is overwritten */
}

static size_t last_start(const char *code, size_t size)
{
	return machine_last_start((const uint8_t *)code, size);
}

static void where_a_function_starts(void)
{
	/* mov %eax, -0x14000(%rsp); push %rbp */
	static const char start[] = "\x89\x84\x24\x00\xc0\xfe\xff\x55";
	static const char two[] = "\x55\x89\x84\x24\x00\xc0\xfe\xff\x55\x90"
				  "\x89\x84\x24\x00\xf0\xff\xff\x55\x55\x90";
	CHECK_EQ(last_start(start, 8), 0);
	CHECK_EQ(last_start(start, 7), 7);
	CHECK_EQ(last_start(start, 0), 0);
	CHECK_EQ(last_start(two, sizeof(two) - 1), 10);
	CHECK_EQ(last_start(two, 17), 1);
	/* Not that far below; above. */
	CHECK_EQ(last_start("\x89\x84\x24\x01\xf0\xff\xff\x55", 8), 8);
	CHECK_EQ(last_start("\x89\x84\x24\x00\x40\x01\x00\x55", 8), 8);
	CHECK_EQ(last_start("\x55\x55\x55\x55\x55\x55\x55\x55\x55\x55", 10), 10);
}

int main(void)
{
	RUN(where_a_function_starts);
	RUN(every_form_of_a_call);
	RUN(what_is_no_call);
	RUN(where_a_direct_call_leads);
	RUN(the_restorer);
	RUN(what_follows_the_outermost_call);
	RUN(what_leaves_its_stack);
	RUN(the_way_to_the_return);
	return test_done();
}

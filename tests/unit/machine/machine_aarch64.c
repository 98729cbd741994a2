/* SPDX-License-Identifier: MIT */
/* arm64: which words are a call, which a restorer, and where a function returns to. */
#include <ctop/machine/machine.h>

#include <ctop/machine/memory.h>
#include "test.h"

#if defined(__aarch64__)

enum { SP = 0x7000, LINK = 0x400100, NR_WORDS = 16 };

static struct {
	uint64_t words[NR_WORDS]; /* from SP on */
	struct memory memory;
	struct registers registers;
	bool detours;
} t;

static void set_up(void)
{
	memset(&t, 0, sizeof(t));
	for (size_t i = 0; i < NR_WORDS; i++)
		t.words[i] = 0x1000 + i;
	t.memory = (struct memory){
		.stack = (const uint8_t *)t.words, .start = SP, .end = SP + sizeof(t.words)};
	registers_set(&t.registers, UNWIND_SP, SP);
	registers_set(&t.registers, UNWIND_LR, LINK);
	registers_set(&t.registers, UNWIND_FP, SP + 16);
}

#define RUNS(...) runs((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}))

static bool runs(const uint32_t *code, size_t size)
{
	set_up();
	return machine_run_to_return((const uint8_t *)code, size, &t.memory, &t.registers,
				     &t.detours);
}

static void calls(void)
{
	const uint32_t bl = 0x97fffffc, blr = 0xd63f0120, blraa = 0xd73f0a30, blraaz = 0xd63f083f;
	const uint32_t branch = 0x14000001, br = 0xd61f0120, ret = 0xd65f03c0;
	int64_t distance;
	CHECK(machine_ends_in_call((const uint8_t *)&bl, 4));
	CHECK(machine_ends_in_call((const uint8_t *)&blr, 4));
	CHECK(machine_ends_in_call((const uint8_t *)&blraa, 4));
	CHECK(machine_ends_in_call((const uint8_t *)&blraaz, 4));
	CHECK(!machine_ends_in_call((const uint8_t *)&branch, 4));
	CHECK(!machine_ends_in_call((const uint8_t *)&br, 4));
	CHECK(!machine_ends_in_call((const uint8_t *)&ret, 4));
	CHECK(!machine_ends_in_call((const uint8_t *)&bl, 3));
	CHECK(machine_call_distance((const uint8_t *)&bl, 4, &distance));
	CHECK_EQ(distance, -16 - 4);
	CHECK(!machine_call_distance((const uint8_t *)&blr, 4, &distance));
}

static void signed_addresses(void)
{
	struct registers registers = {.known = 0};
	uint64_t address;
	CHECK(!machine_link(&registers, &address));
	registers_set(&registers, UNWIND_LR, UINT64_C(0x7b3a005500401234));
	CHECK(machine_link(&registers, &address));
	CHECK_EQ(address, 0x5500401234);
	machine_return_to(&registers, UINT64_C(0x7b3a005500401234));
	CHECK_EQ(registers.value[UNWIND_PC], 0x5500401234);
	CHECK(!registers_know(&registers, UNWIND_LR)); /* the call has overwritten it */
}

static void leaves(void)
{
	CHECK(RUNS(0xd65f03c0)); /* ret */
	CHECK_EQ(t.registers.value[UNWIND_PC], LINK);
	CHECK_EQ(t.registers.value[UNWIND_SP], SP);
	CHECK(!t.detours);
	CHECK(RUNS(0x910083ff, 0xd65f0bff)); /* add sp, sp, #32; retaa */
	CHECK_EQ(t.registers.value[UNWIND_SP], SP + 32);
	CHECK(RUNS(0x54ffffc1, 0xd65f03c0)); /* b.ne; ret */
	CHECK(t.detours);
	CHECK(RUNS(0xf9400611, 0x91002210, 0xd61f0220)); /* a stub: ldr x17; add x16; br x17 */
	CHECK_EQ(t.registers.value[UNWIND_PC], LINK);
}

static void epilogues(void)
{
	/* ldp x19, x20, [sp, #16]; ldp x29, x30, [sp], #48; ret */
	CHECK(RUNS(0xa94153f3, 0xa8c37bfd, 0xd65f03c0));
	CHECK_EQ(t.registers.value[19], 0x1002);
	CHECK_EQ(t.registers.value[20], 0x1003);
	CHECK_EQ(t.registers.value[UNWIND_FP], 0x1000);
	CHECK_EQ(t.registers.value[UNWIND_PC], 0x1001);
	CHECK_EQ(t.registers.value[UNWIND_SP], SP + 48);
	/* mov sp, x29; ldp x29, x30, [sp], #16; b elsewhere */
	CHECK(RUNS(0x910003bf, 0xa8c17bfd, 0x17ffff00));
	CHECK_EQ(t.registers.value[UNWIND_PC], 0x1003);
	CHECK_EQ(t.registers.value[UNWIND_SP], SP + 32);
	/* ldr x30, [sp], #16; autiasp; ret */
	CHECK(RUNS(0xf84107fe, 0xd50323bf, 0xd65f03c0));
	CHECK_EQ(t.registers.value[UNWIND_PC], 0x1000);
	/* bl; ldr x30, [sp], #16; ret: what x30 held is overwritten by the call, not by the load */
	CHECK(RUNS(0x94000010, 0xf84107fe, 0xd65f03c0));
	CHECK_EQ(t.registers.value[UNWIND_PC], 0x1000);
	CHECK(t.detours);
}

static void prologues(void)
{
	/* stp x29, x30, [sp, #-48]! ahead: nothing is on the stack yet */
	CHECK(RUNS(0xd503201f, 0xa9bd7bfd, 0x910003fd, 0x94000010));
	CHECK_EQ(t.registers.value[UNWIND_PC], LINK);
	CHECK_EQ(t.registers.value[UNWIND_SP], SP);
	CHECK(RUNS(0xd503233f, 0xa9bd7bfd)); /* paciasp */
	CHECK_EQ(t.registers.value[UNWIND_PC], LINK);
	/* sub sp, sp, #96; stp x29, x30, [sp, #64] */
	CHECK(RUNS(0xd10183ff, 0xa9047bfd));
	CHECK_EQ(t.registers.value[UNWIND_SP], SP);
	/* The second alone: how far down the stack pointer has moved cannot be told. */
	CHECK(RUNS(0xa9047bfd));
	CHECK_EQ(t.registers.value[UNWIND_PC], LINK);
	CHECK(!registers_know(&t.registers, UNWIND_SP));
}

static void what_leads_nowhere(void)
{
	CHECK(!RUNS(0x94000010, 0xd65f03c0)); /* bl; ret: x30 is the call's */
	CHECK(!RUNS(0xd503201f));	      /* no return in sight */
	CHECK(!RUNS(0x17ffffff));	      /* b backwards, with x30 as it was */
	CHECK(!RUNS(0xd4200020, 0xd65f03c0)); /* brk */
	CHECK(!RUNS(0x00000000, 0xd65f03c0)); /* udf */
	CHECK(!RUNS(0xd61f0020));	      /* br x1: a table of cases */
	CHECK(!RUNS(0x8b2163ff, 0xd65f03c0)); /* add sp, sp, x1 */
	/* ldr x30, [sp, #248]: beyond the dump */
	CHECK(!RUNS(0xf9407ffe, 0xd65f03c0));
	CHECK_EQ(t.registers.value[UNWIND_SP], SP); /* as they were */
	CHECK_EQ(t.registers.value[UNWIND_LR], LINK);
}

static void signal_frames(void)
{
	static const uint32_t restorer[] = {0xd2801168, 0xd4000001},
			      other[] = {0xd2800ba8, 0xd4000001};
	static uint64_t frame[80];
	struct registers registers = {.known = 0};
	struct memory memory = {
		.stack = (const uint8_t *)frame, .start = SP, .end = SP + sizeof(frame)};
	CHECK(machine_is_restorer((const uint8_t *)restorer));
	CHECK(!machine_is_restorer((const uint8_t *)other));
	CHECK_EQ(machine_ending((const uint8_t *)other, sizeof(other)), MACHINE_ENDS_TASK);
	for (uint64_t i = 0; i < 33; i++)
		frame[39 + i] = 100 + i;
	CHECK_EQ(machine_signal_registers(&memory, &registers), STACK_REASON_BAD_ADDRESS);
	registers_set(&registers, UNWIND_SP, SP);
	CHECK_EQ(machine_signal_registers(&memory, &registers), STACK_REASON_NONE);
	CHECK_EQ(registers.value[0], 100);
	CHECK_EQ(registers.value[UNWIND_LR], 130);
	CHECK_EQ(registers.value[UNWIND_SP], 131);
	CHECK_EQ(registers.value[UNWIND_PC], 132);
	frame[39 + 33] = 0x10; /* pstate of a 32-bit task */
	registers_set(&registers, UNWIND_SP, SP);
	CHECK_EQ(machine_signal_registers(&memory, &registers), STACK_REASON_BAD_ADDRESS);
	memory.end = SP + 400;
	CHECK_EQ(machine_signal_registers(&memory, &registers), STACK_REASON_DUMP_END);
}

int main(void)
{
	RUN(calls);
	RUN(signed_addresses);
	RUN(leaves);
	RUN(epilogues);
	RUN(prologues);
	RUN(what_leads_nowhere);
	RUN(signal_frames);
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

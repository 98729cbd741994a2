/* SPDX-License-Identifier: MIT */
/* x86-64: which bytes are a call, which a restorer. */
#include "../../../src/unwind/machine.h"

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

int main(void)
{
	RUN(every_form_of_a_call);
	RUN(what_is_no_call);
	RUN(where_a_direct_call_leads);
	RUN(the_restorer);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Copies of code that a process makes: what is wished for, when, and what a rule may be read from. */
#include <ctop/code/live_code.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/clock.h>

#include <ctop/code/live_rules.h>

#include "test.h"

enum { PAGE = 4096 };
#define HERE UINT64_C(0x7f0000010000)

static uint8_t bytes[LIVE_CODE_WINDOW];

static bool wishes(const struct live_code *code, uint64_t address)
{
	uint64_t wish;
	bool asked;
	return live_code_wish(code, &wish, &asked) && wish == address && !asked;
}

static void what_is_missing_is_wished_for_once(void)
{
	struct live_code *code = live_code_new();
	uint8_t byte;
	uint64_t wish;
	bool asked;
	live_code_begin(code, 1);
	CHECK(!live_code_wish(code, &wish, &asked));
	CHECK(!live_code_read(code, HERE + 7, &byte, 1));
	CHECK(!live_code_read(code, HERE + 9, &byte, 1));
	CHECK(wishes(code, HERE + 7));
	live_code_asked(code, HERE + 7);
	live_code_begin(code, 2);
	CHECK(!live_code_read(code, HERE + 9, &byte, 1));
	CHECK(live_code_wish(code, &wish, &asked) && asked);
	bytes[9] = 0xc3;
	CHECK_EQ(live_code_take(code, HERE, bytes, 2 * PAGE, 3), 0);
	live_code_begin(code, 4);
	CHECK(live_code_read(code, HERE + 9, &byte, 1) && byte == 0xc3);
	CHECK(!live_code_wish(code, &wish, &asked));
	CHECK(!live_code_read(code, HERE + 2 * PAGE, &byte, 1));
	CHECK(wishes(code, HERE + 2 * PAGE));
	live_code_free(code);
}

static void a_read_may_cross_pages_that_are_there(void)
{
	struct live_code *code = live_code_new();
	uint8_t got[16];
	memset(bytes, 1, sizeof(bytes));
	CHECK_EQ(live_code_take(code, HERE, bytes, LIVE_CODE_WINDOW, 1), 0);
	live_code_begin(code, 2);
	CHECK(live_code_read(code, HERE + PAGE - 8, got, sizeof(got)));
	CHECK(!live_code_read(code, HERE + LIVE_CODE_WINDOW - 8, got, sizeof(got)));
	CHECK(wishes(code, HERE + LIVE_CODE_WINDOW));
	CHECK(!live_code_read(code, UINT64_MAX - 3, got, sizeof(got)));
	live_code_free(code);
}

static void what_was_refused_is_left_alone_for_a_while(void)
{
	struct live_code *code = live_code_new();
	uint8_t byte;
	uint64_t wish;
	bool asked;
	live_code_refuse(code, HERE, 100);
	live_code_begin(code, 99);
	CHECK(!live_code_read(code, HERE, &byte, 1));
	CHECK(!live_code_wish(code, &wish, &asked));
	live_code_begin(code, 100);
	CHECK(!live_code_read(code, HERE, &byte, 1));
	CHECK(wishes(code, HERE));
	live_code_free(code);
}

static void bytes_older_than_the_mapping_are_not_used(void)
{
	struct live_code *code = live_code_new();
	uint8_t byte;
	CHECK_EQ(live_code_take(code, HERE, bytes, PAGE, 10), 0);
	live_code_outdate(code, HERE + LIVE_CODE_WINDOW, HERE + 2 * LIVE_CODE_WINDOW, 20);
	live_code_outdate(code, HERE, HERE + PAGE, 10);
	live_code_begin(code, 21);
	CHECK(live_code_read(code, HERE, &byte, 1));
	live_code_outdate(code, HERE, HERE + PAGE, 20);
	CHECK(!live_code_read(code, HERE, &byte, 1));
	CHECK(wishes(code, HERE));
	CHECK_EQ(live_code_take(code, HERE, bytes, PAGE, 22), 0);
	CHECK(live_code_read(code, HERE, &byte, 1));
	live_code_free(code);
}

/* Code that never helps is looked at less and less often, until it changes. */
static void doubts_become_rare(void)
{
	struct live_code *code = live_code_new();
	uint64_t now_ns = NS_PER_SECOND, wish;
	unsigned nr = 0;
	bool asked;
	CHECK_EQ(live_code_take(code, HERE, bytes, PAGE, now_ns), 0);
	for (int ms = 0; ms < 60 * 1000; ms++) {
		now_ns += NS_PER_MS;
		live_code_begin(code, now_ns);
		live_code_doubt(code, HERE);
		if (!live_code_wish(code, &wish, &asked))
			continue;
		CHECK(!asked && wish == HERE);
		live_code_asked(code, wish);
		CHECK_EQ(live_code_take(code, HERE, bytes, PAGE, now_ns), 0);
		nr++;
	}
	CHECK(nr > 20 && nr < 60);
	live_code_begin(code, 0);
	live_code_doubt(code, HERE); /* a sample from before it was read */
	CHECK(!live_code_wish(code, &wish, &asked));
	live_code_free(code);
}

static void rubbish_is_not_taken(void)
{
	struct live_code *code = live_code_new();
	uint8_t byte;
	CHECK_EQ(live_code_take(code, HERE + 1, bytes, PAGE, 1), 0);
	CHECK_EQ(live_code_take(code, HERE + PAGE, bytes, LIVE_CODE_WINDOW, 1), 0);
	CHECK_EQ(live_code_take(code, HERE, bytes, PAGE - 1, 1), 0);
	CHECK(!live_code_read(code, HERE, &byte, 1) &&
	      !live_code_read(code, HERE + PAGE, &byte, 1));
	for (unsigned i = 0; i < 1000; i++) {
		const int result =
			live_code_take(code, HERE + i * UINT64_C(0x10000), bytes, PAGE, 1);
		CHECK(result == 0 || (result == -ENOMEM && i > 500));
	}
	CHECK(live_code_bytes(code) <= 32 << 20);
	live_code_free(code);
}

/* sub $0x18, %rsp; jmp to the second window, where the frame ends: add $0x18, %rsp; ret. */
/* ---- rules ---- */

struct reading {
	struct live_code *code;
	struct code_reader *reader;
	struct code_rule rule; /* the last one */
};

/* One page of code at HERE, and what fills it up. */
static struct reading begin_reading(int filling, const uint8_t *code, size_t size)
{
	struct reading reading = {live_code_new(), code_reader_new(), {0}};
	*code_reader_allowance(reading.reader) = UINT64_MAX;
	memset(bytes, filling, sizeof(bytes));
	memcpy(bytes, code, size);
	CHECK_EQ(live_code_take(reading.code, HERE, bytes, PAGE, 1), 0);
	return reading;
}

static void end_reading(struct reading *reading)
{
	code_reader_free(reading->reader);
	live_code_free(reading->code);
}

static enum code_found rule_at(struct reading *reading, uint64_t address)
{
	return live_rule_find(reading->code, reading->reader, address, false, &reading->rule);
}

static void a_rule_leads_through_pages(void)
{
	static const uint8_t head[] = {0x48, 0x83, 0xec, 0x18, 0xe9, 0xf7, 0xff, 0x00, 0x00};
	static const uint8_t tail[] = {0x48, 0x83, 0xc4, 0x18, 0xc3};
	struct reading reading = begin_reading(0xcc, head, sizeof(head));
	struct live_code *code = reading.code;
	live_code_begin(code, 2);
	CHECK_EQ(rule_at(&reading, HERE + 4), CODE_NO_RULE);
	CHECK(wishes(code, HERE + 0x10000));
	memcpy(bytes, tail, sizeof(tail));
	CHECK_EQ(live_code_take(code, HERE + 0x10000, bytes, PAGE, 3), 0);
	live_code_begin(code, 4);
	CHECK_EQ(rule_at(&reading, HERE + 4), CODE_RULE);
	CHECK(reading.rule.cfa_register == UNWIND_SP && reading.rule.offset == 0x20);
	/* Another function is there now. */
	bytes[3] = 0x28;
	CHECK_EQ(live_code_take(code, HERE + 0x10000, bytes, PAGE, 5), 0);
	CHECK_EQ(rule_at(&reading, HERE + 4), CODE_RULE);
	CHECK_EQ(reading.rule.offset, 0x30);
	*code_reader_allowance(reading.reader) = 1;
	CHECK_EQ(rule_at(&reading, HERE), CODE_UNREAD);
	end_reading(&reading);
}

/* A jump to where no code is; whoever asks again is told so, and it is wished for again, without reading all of it once more. */
static void that_there_is_no_rule_is_remembered(void)
{
	static const uint8_t jump[] = {0xe9, 0xfb, 0xff, 0x00, 0x00};
	struct reading reading = begin_reading(0xcc, jump, sizeof(jump));
	struct live_code *code = reading.code;
	const uint64_t *allowance = code_reader_allowance(reading.reader);
	for (uint64_t time_ns = 2; time_ns < 5; time_ns++) {
		const uint64_t before = *allowance;
		live_code_begin(code, time_ns);
		CHECK_EQ(rule_at(&reading, HERE), CODE_NO_RULE);
		CHECK(wishes(code, HERE + 0x10000));
		CHECK((*allowance < before) == (time_ns == 2));
	}
	/* Another wish of the same stack comes first. */
	live_code_begin(code, 5);
	live_code_miss(code, HERE + 0x40000);
	CHECK_EQ(rule_at(&reading, HERE), CODE_NO_RULE);
	CHECK(wishes(code, HERE + 0x40000));
	/* It comes. */
	bytes[0] = 0xc3;
	CHECK_EQ(live_code_take(code, HERE + 0x10000, bytes, PAGE, 6), 0);
	live_code_begin(code, 7);
	CHECK_EQ(rule_at(&reading, HERE), CODE_RULE);
	end_reading(&reading);
}

/* Of two ways that lead to missing code the one is wished for that may be asked for, whichever is read first. */
static void what_was_refused_hides_nothing(void)
{
	/* je to one; else jmp to the other. */
	static const uint8_t ways[] = {0x0f, 0x84, 0xfa, 0xff, 0x00, 0x00,
				       0xe9, 0xf5, 0xff, 0x01, 0x00};
	static const uint64_t missing[] = {HERE + 0x10000, HERE + 0x20000};
	for (int refused = 0; refused < 2; refused++) {
		struct reading reading = begin_reading(0xcc, ways, sizeof(ways));
		uint64_t wish;
		bool asked;
		live_code_refuse(reading.code, missing[refused], 100);
		for (uint64_t time_ns = 2; time_ns < 4; time_ns++) {
			live_code_begin(reading.code, time_ns);
			CHECK_EQ(rule_at(&reading, HERE), CODE_NO_RULE);
			CHECK(wishes(reading.code, missing[!refused]));
		}
		live_code_refuse(reading.code, missing[!refused], 100);
		live_code_begin(reading.code, 4);
		CHECK_EQ(rule_at(&reading, HERE), CODE_NO_RULE);
		CHECK(!live_code_wish(reading.code, &wish, &asked));
		end_reading(&reading);
	}
}

/* What comes may be what was there before something else was mapped: it may be read again. */
static void the_same_code_in_another_mapping(void)
{
	static const uint8_t jump[] = {0xe9, 0xfb, 0xff, 0x00, 0x00};
	struct reading reading = begin_reading(0xc3, jump, sizeof(jump));
	struct live_code *code = reading.code;
	memset(bytes, 0xc3, sizeof(bytes));
	CHECK_EQ(live_code_take(code, HERE + 0x10000, bytes, PAGE, 1), 0);
	live_code_outdate(code, HERE + 0x10000, HERE + 0x20000, 2);
	live_code_begin(code, 4);
	CHECK_EQ(rule_at(&reading, HERE), CODE_NO_RULE);
	CHECK(wishes(code, HERE + 0x10000));
	memset(bytes, 0xc3, sizeof(bytes));
	CHECK_EQ(live_code_take(code, HERE + 0x10000, bytes, PAGE, 5), 0);
	live_code_begin(code, 6);
	CHECK_EQ(rule_at(&reading, HERE), CODE_RULE);
	end_reading(&reading);
}

int main(void)
{
	if (!MACHINE_READS_LIVE_CODE) {
		printf("ok - live_code # SKIP code of this machine is not read\n");
		return 0;
	}
	RUN(what_is_missing_is_wished_for_once);
	RUN(a_read_may_cross_pages_that_are_there);
	RUN(what_was_refused_is_left_alone_for_a_while);
	RUN(bytes_older_than_the_mapping_are_not_used);
	RUN(doubts_become_rare);
	RUN(rubbish_is_not_taken);
	RUN(a_rule_leads_through_pages);
	RUN(that_there_is_no_rule_is_remembered);
	RUN(the_same_code_in_another_mapping);
	RUN(what_was_refused_hides_nothing);
	return test_done();
}

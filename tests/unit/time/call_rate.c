/* SPDX-License-Identifier: MIT */
#include <ctop/time/call_rate.h>

#include <ctop/base/clock.h>

#include "../test.h"

enum { RECORDS_MOST = 2 * CALL_RATE_HZ_MOST };

/* So many records within a second from then on, of which so many in a hundred are others'; the last answer that is not fine. */
static enum call_rate_word note(struct call_rate *rate, uint64_t second, unsigned nr,
				unsigned others_of_100)
{
	enum call_rate_word last = CALL_RATE_FINE;
	for (unsigned i = 0; i < nr; i++) {
		const uint64_t time_ns =
			(1 + second) * NS_PER_SECOND + i * (NS_PER_SECOND / 2) / nr;
		const enum call_rate_word word =
			call_rate_note(rate, time_ns, i % 100 < others_of_100);
		if (word)
			last = word;
	}
	return last;
}

static void few_are_fine_for_ever(void)
{
	struct call_rate rate = {0};
	for (unsigned second = 0; second < 20; second++)
		CHECK_EQ(note(&rate, second, RECORDS_MOST, 40), CALL_RATE_FINE);
}

static void one_more_is_too_much(void)
{
	struct call_rate rate = {0};
	CHECK_EQ(note(&rate, 0, RECORDS_MOST, 0), CALL_RATE_FINE);
	CHECK_EQ(note(&rate, 1, RECORDS_MOST + 1, 0), CALL_RATE_TOO_MUCH);
}

static void others_are_left_out_once_a_second(void)
{
	struct call_rate rate = {0};
	CHECK_EQ(note(&rate, 0, 1000, 60), CALL_RATE_FINE);
	CHECK_EQ(note(&rate, 1, 10, 0), CALL_RATE_OTHERS);
	CHECK_EQ(note(&rate, 2, 10, 0), CALL_RATE_FINE);
}

static void others_that_go_on_are_too_much(void)
{
	struct call_rate rate = {0};
	CHECK_EQ(note(&rate, 0, RECORDS_MOST + 1, 100), CALL_RATE_OTHERS);
	CHECK_EQ(note(&rate, 1, RECORDS_MOST, 0), CALL_RATE_FINE);
	CHECK_EQ(note(&rate, 2, 2 * (RECORDS_MOST + 1), 100), CALL_RATE_TOO_MUCH);
}

int main(void)
{
	RUN(few_are_fine_for_ever);
	RUN(one_more_is_too_much);
	RUN(others_are_left_out_once_a_second);
	RUN(others_that_go_on_are_too_much);
	return test_done();
}

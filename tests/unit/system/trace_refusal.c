/* SPDX-License-Identifier: MIT */
/* Why the kernel keeps from us where a thread waits. */
#include <ctop/system/trace_refusal.h>

#include "test.h"

enum { NO_YAMA = -1 };

static void each_cause_has_its_remedy(void)
{
	CHECK_EQ(trace_refusal_of(NO_YAMA, false, false), TRACE_REFUSED);
	CHECK_EQ(trace_refusal_of(0, false, false), TRACE_REFUSED);
	CHECK_EQ(trace_refusal_of(1, false, false), TRACE_REFUSED_TO_OTHERS);
	CHECK_EQ(trace_refusal_of(2, false, false), TRACE_REFUSED_TO_USERS);
	CHECK_EQ(trace_refusal_of(3, true, true), TRACE_REFUSED_TO_ALL);
	/* Whom Yama lets, another module may refuse. */
	CHECK_EQ(trace_refusal_of(2, true, false), TRACE_REFUSED);
	CHECK_EQ(trace_refusal_of(0, true, true), TRACE_REFUSED_TO_ROOT);
	CHECK_EQ(trace_refusal_of(1, false, true), TRACE_REFUSED_IN_CONTAINER);
	CHECK(!trace_refusal_words(TRACE_NOT_REFUSED));
	for (uint64_t refusal = TRACE_REFUSED; refusal < NR_TRACE_REFUSALS; refusal++)
		CHECK(trace_refusal_words(refusal) != NULL);
}

static void recordings_may_say_anything(void)
{
	CHECK(!trace_refusal_words(NR_TRACE_REFUSALS));
	CHECK(!trace_refusal_words(UINT64_MAX));
}

int main(void)
{
	RUN(each_cause_has_its_remedy);
	RUN(recordings_may_say_anything);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* How long calls take, by samples where they begin and end: inside each other, of many threads, and with some lost. */
#include "main/flight/call_times.h"

#include <stdlib.h>

#include "test.h"

static struct call_times *times;

static uint64_t left(uint32_t task, uint64_t ns)
{
	uint64_t took_ns = 0;
	return call_times_leave(times, task, ns, &took_ns) ? took_ns : UINT64_MAX;
}

static void calls_inside_each_other(void)
{
	call_times_enter(times, 1, 100);
	call_times_enter(times, 1, 150);
	call_times_enter(times, 2, 160);
	CHECK_EQ(left(1, 170), 20);
	CHECK_EQ(left(2, 260), 100);
	CHECK_EQ(left(1, 300), 200);
	CHECK_EQ(left(1, 400), UINT64_MAX);
	CHECK_EQ(left(9, 400), UINT64_MAX);
	/* Samples may come in the wrong order. */
	call_times_enter(times, 1, 500);
	CHECK_EQ(left(1, 499), 0);
}

static void of_a_deep_recursion_the_innermost(void)
{
	for (uint64_t i = 0; i < 2 * CALLS_DEEP; i++)
		call_times_enter(times, 3, i);
	for (uint64_t i = 2 * CALLS_DEEP; i-- > CALLS_DEEP;)
		CHECK_EQ(left(3, 1000), 1000 - i);
	CHECK_EQ(left(3, 1000), UINT64_MAX);
}

static void threads_take_each_others_places(void)
{
	call_times_enter(times, 5, 10);
	call_times_enter(times, 5 + CALLS_THREADS, 20);
	CHECK_EQ(left(5, 30), UINT64_MAX);
	CHECK_EQ(left(5 + CALLS_THREADS, 50), 30);
}

int main(void)
{
	times = calloc(1, sizeof(*times));
	CHECK(times != NULL);
	RUN(calls_inside_each_other);
	RUN(of_a_deep_recursion_the_innermost);
	RUN(threads_take_each_others_places);
	free(times);
	return test_done();
}

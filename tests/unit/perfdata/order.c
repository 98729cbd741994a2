/* SPDX-License-Identifier: MIT */
/* perf's rounds, and what order they give. */
#include "crafted.h"

enum { TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TIME };

static const struct crafted_event event = {.attr = CRAFTED_CLOCK(TYPE)};

/* 0 stands for the end of a round. Checks that the times come out as wanted. */
static void check_order(const uint64_t *times, size_t nr, const uint64_t *wanted, size_t nr_wanted)
{
	struct crafted file;
	struct perfdata_record at;
	crafted_begin(&file, &event, 1);
	for (size_t i = 0; i < nr; i++) {
		if (times[i])
			put_sample(&file, TYPE, 0, i, times[i]);
		else
			put_round(&file);
	}
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	for (size_t i = 0; i < nr_wanted; i++) {
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ(at.time_ns, wanted[i]);
		CHECK_EQ(at.number, i);
	}
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	perfdata_close(perfdata);
	crafted_release(&file);
}

#define CHECK_ORDER(times, wanted)                                                                 \
	check_order(times, sizeof(times) / sizeof(*(times)), wanted,                               \
		    sizeof(wanted) / sizeof(*(wanted)))

static void within_a_round(void)
{
	static const uint64_t times[] = {5, 3, 9, 4, 0}, wanted[] = {3, 4, 5, 9};
	CHECK_ORDER(times, wanted);
}

static void across_two_rounds(void)
{
	static const uint64_t times[] = {5, 9, 0, 4, 7, 12, 0, 10, 11, 20, 0},
			      wanted[] = {4, 5, 7, 9, 10, 11, 12, 20};
	CHECK_ORDER(times, wanted);
}

static void the_last_round_has_no_end(void)
{
	static const uint64_t times[] = {5, 0, 9, 8, 7}, wanted[] = {5, 7, 8, 9};
	CHECK_ORDER(times, wanted);
}

/* What breaks perf's promise is late, and comes as soon as it can. */
static void too_late(void)
{
	static const uint64_t times[] = {5, 10, 0, 20, 0, 30, 0, 1, 40, 0},
			      wanted[] = {5, 10, 20, 1, 30, 40};
	CHECK_ORDER(times, wanted);
}

static void equal_times_keep_their_order(void)
{
	struct crafted file;
	struct perfdata_record at;
	crafted_begin(&file, &event, 1);
	for (uint64_t i = 0; i < 100; i++)
		put_sample(&file, TYPE, 0, i, 7);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t ip;
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		memcpy(&ip, (const uint8_t *)at.bytes + 8, sizeof(ip));
		CHECK_EQ(ip, i);
	}
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* Many at once, by a fixed sequence of numbers that jumps about: each once, in order. */
static void a_long_round(void)
{
	enum { NR = 20011 };
	struct crafted file;
	struct perfdata_record at;
	crafted_begin(&file, &event, 1);
	for (uint64_t i = 0; i < NR; i++)
		put_sample(&file, TYPE, 0, 1, 1 + i * 7919 % NR);
	put_round(&file);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	for (uint64_t i = 0; i < NR; i++) {
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ(at.time_ns, i + 1);
	}
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	perfdata_close(perfdata);
	crafted_release(&file);
}

enum { TASK_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME };
static const struct crafted_event event_with_tasks = {.attr = CRAFTED_CLOCK(TASK_TYPE)};

static void put_sample_of(struct crafted *file, uint32_t tid, uint64_t time_ns)
{
	put_header(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 3 * sizeof(uint64_t));
	put_u64(file, 0x401000);
	put_u32(file, 10);
	put_u32(file, tid);
	put_u64(file, time_ns);
}

static bool is_odd(void *context, int32_t tid)
{
	unsigned *nr_asked = context;
	++*nr_asked;
	return tid & 1;
}

/* Those of others keep their places and numbers; what does not say whose it is has its bytes. */
static void of_some_threads_alone(void)
{
	enum { NR = 9, DAMAGED = 4 };
	struct crafted file;
	struct perfdata_record at;
	unsigned nr_asked = 0;
	crafted_begin(&file, &event_with_tasks, 1);
	for (uint32_t i = 0; i < NR; i++)
		if (i != DAMAGED)
			put_sample_of(&file, i, NR - i); /* the latest first */
	put_header(&file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(uint64_t));
	put_u64(&file, 0x401000);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	perfdata_want(perfdata, is_odd, &nr_asked);
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK(at.bytes && at.tid == PERFDATA_NO_TASK && at.time_ns == 0);
	for (uint32_t i = NR; i-- > 0;) {
		if (i == DAMAGED)
			continue;
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ(at.number, i < DAMAGED ? NR - 1 - i : NR - i);
		CHECK_EQ(at.time_ns, NR - i);
		CHECK_EQ(at.pid, 10);
		CHECK_EQ(at.tid, i);
		CHECK_EQ(at.bytes != NULL, i % 2);
	}
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	CHECK(nr_asked >= NR - 1);
	perfdata_close(perfdata);
	crafted_release(&file);
}

int main(void)
{
	RUN(within_a_round);
	RUN(across_two_rounds);
	RUN(the_last_round_has_no_end);
	RUN(too_late);
	RUN(equal_times_keep_their_order);
	RUN(a_long_round);
	RUN(of_some_threads_alone);
	return test_done();
}

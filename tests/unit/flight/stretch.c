/* SPDX-License-Identifier: MIT */
/* The last stretch of a profile: what is there, what is given up, and that it ends somewhere. */
#include <ctop/flight/stretch.h>

#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/clock.h>

#include "test.h"

#define LAST_NS (10 * NS_PER_SECOND)
#define S	NS_PER_SECOND

static const struct session_stats nothing_lost;

/* As the session has them: its own memory until the next epoch has begun. */
struct source {
	struct stretch *stretch;
	struct region regions[2];
	uint32_t epoch;
};

static struct source begin(uint64_t bytes_most)
{
	struct source source = {.stretch = stretch_new(LAST_NS, bytes_most)};
	CHECK(source.stretch);
	return source;
}

static void next_epoch(struct source *source)
{
	struct region *before = &source->regions[source->epoch % 2];
	struct region *region = &source->regions[++source->epoch % 2];
	CHECK_EQ(region_open(region, source->epoch), 0);
	CHECK_EQ(stretch_begin_epoch(source->stretch, &region->tables, &region->symbols,
				     &nothing_lost),
		 0);
	if (source->epoch == 1)
		return;
	stretch_take_region(source->stretch, before);
	CHECK_EQ(before->epoch, 0);
}

static void sample(struct source *source, uint64_t ns)
{
	const struct sample taken = {.time_ns = ns};
	CHECK_EQ(stretch_add(source->stretch, &taken, 1), 0);
}

static void end(struct source *source)
{
	stretch_free(source->stretch);
	region_close(&source->regions[source->epoch % 2]);
}

static void what_is_too_old_goes_by_whole_epochs(void)
{
	struct source source = begin(UINT64_C(1) << 30);
	for (uint64_t second = 1; second <= 30; second++) {
		if (second % 5 == 1)
			next_epoch(&source);
		sample(&source, second * S);
	}
	CHECK_EQ(stretch_since_ns(source.stretch), 0);
	CHECK_EQ(stretch_count(source.stretch, 0, 30 * S), 30);
	CHECK_EQ(stretch_count(source.stretch, 7 * S, 9 * S), 3);
	stretch_forget(source.stretch, 12 * S);
	/* The epoch of 11 to 15 still has some that are young enough. */
	CHECK_EQ(stretch_since_ns(source.stretch), 10 * S + 1);
	CHECK_EQ(stretch_count(source.stretch, 0, 30 * S), 20);
	stretch_forget(source.stretch, UINT64_MAX);
	CHECK_EQ(stretch_count(source.stretch, 0, UINT64_MAX), 5);
	end(&source);
}

static void the_one_in_hand_stays(void)
{
	struct source source = begin(1);
	next_epoch(&source);
	sample(&source, 1 * S);
	stretch_forget(source.stretch, UINT64_MAX);
	CHECK_EQ(stretch_count(source.stretch, 0, UINT64_MAX), 1);
	end(&source);
}

static void there_is_room_for_so_much(void)
{
	enum { BYTES = 4 << 20, SAMPLES = 1 << 20 };
	struct source source = begin(BYTES);
	uint64_t most = 0;
	next_epoch(&source);
	for (uint64_t i = 1; i <= SAMPLES; i++) {
		sample(&source, S + i);
		if (i % 1024)
			continue;
		if (stretch_wants_epoch(source.stretch, S + i))
			next_epoch(&source);
		stretch_forget(source.stretch, 0);
		most = stretch_bytes(source.stretch) > most ? stretch_bytes(source.stretch) : most;
	}
	CHECK(most <= 2 * BYTES);
	CHECK(stretch_since_ns(source.stretch) > S);
	const uint64_t there = stretch_count(source.stretch, 0, UINT64_MAX);
	CHECK(there > 10000 && there < SAMPLES / 2);
	CHECK_EQ(stretch_count(source.stretch, stretch_since_ns(source.stretch), UINT64_MAX),
		 there);
	end(&source);
}

static void a_new_epoch_is_wanted_in_time(void)
{
	struct source source = begin(UINT64_C(1) << 30);
	CHECK(!stretch_wants_epoch(source.stretch, 100 * S));
	next_epoch(&source);
	CHECK(!stretch_wants_epoch(source.stretch, 100 * S)); /* there is nothing in it */
	sample(&source, 100 * S);
	CHECK(!stretch_wants_epoch(source.stretch, 104 * S));
	CHECK(stretch_wants_epoch(source.stretch, 106 * S));
	end(&source);
}

static void what_is_wanted_is_written(void)
{
	struct source source = begin(UINT64_C(1) << 30);
	for (uint64_t second = 1; second <= 20; second++) {
		if (second % 5 == 1)
			next_epoch(&source);
		sample(&source, second * S);
	}
	uint64_t sizes[2];
	for (size_t i = 0; i < 2; i++) {
		struct recording_writer *writer =
			recording_writer_new(memfd_create("slice", MFD_CLOEXEC));
		CHECK(writer);
		CHECK_EQ(stretch_write(source.stretch, i ? 13 * S : 0, 20 * S, writer), 0);
		CHECK_EQ(recording_finish(writer, &sizes[i]), 0);
	}
	CHECK(sizes[1] > 0 && sizes[1] < sizes[0]);
	end(&source);
}

int main(void)
{
	RUN(what_is_too_old_goes_by_whole_epochs);
	RUN(the_one_in_hand_stays);
	RUN(there_is_room_for_so_much);
	RUN(a_new_epoch_is_wanted_in_time);
	RUN(what_is_wanted_is_written);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* A wait is all the time up to its sample's: a range of time has the part that lies in it. */
#include <ctop/query/selection.h>

#include "hand_made.h"

#define MS	 UINT64_C(1000000)
#define START_NS (UINT64_C(5000) * MS)

enum { LONG_MS = 10000, SHORT_MS = 50 };

/* A sample of the CPU at 0 ms; a long wait up to 12 s, a short one up to 3 s; another sample at 3 s. */
static void open_waits(struct profile *profile, struct history *history)
{
	open_profile(profile);
	struct frame_id computes = frame(profile, profile->program, 0x100, "compute");
	struct frame_id hangs = frame(profile, profile->program, 0x200, "hang");
	struct frame_id naps = frame(profile, profile->program, 0x300, "nap");
	struct event_row row = {.weight_unit = WEIGHT_NS};
	uint32_t wait;
	CHECK_EQ(tables_add_string(profile->writer, WAIT_EVENT, strlen(WAIT_EVENT), &row.name), 0);
	CHECK_EQ(tables_add_event(profile->writer, &row, &wait), 0);
	tables_publish(profile->writer);
	CHECK_EQ(history_begin_epoch(history, &profile->tables, NULL), 0);
	const struct sample samples[] = {
		{.time_ns = START_NS,
		 .weight = 7,
		 .event = (uint8_t)profile->event,
		 .leaf = computes},
		{.time_ns = START_NS + 3000 * MS,
		 .weight = 9,
		 .event = (uint8_t)profile->event,
		 .leaf = computes},
		{.time_ns = START_NS + 3000 * MS,
		 .weight = SHORT_MS * MS,
		 .event = (uint8_t)wait,
		 .leaf = naps},
		{.time_ns = START_NS + 12000 * MS,
		 .weight = LONG_MS * MS,
		 .event = (uint8_t)wait,
		 .leaf = hangs},
	};
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct sample sample = samples[i];
		sample.task = profile->one;
		CHECK_EQ(history_import(history, &sample, 1), 0);
	}
}

static const struct range {
	uint64_t from_ms, to_ms; /* to 0: no end */
	uint64_t nr_samples, nr_waits, waited_ms;
} ranges[] = {
	{2000, 0, 1, 2, LONG_MS + SHORT_MS},
	{0, 3000, 1, 2,
	 1000 + SHORT_MS}, /* what ends at the range's end lies in it, unlike a sample */
	{0, 2999, 1, 2, 999 + SHORT_MS - 1},
	{2960, 2970, 0, 2, 20},
	{3000, 3001, 1, 1, 1},
	/* What is longer than 4.29 s takes several rows among single samples. */
	{4000, 5000, 0, 1, 1000},
	{7000, 8000, 0, 1, 1000},
	{11900, 13000, 0, 1, 100},
	{12000, 13000, 0, 0, 0},
	{100, 200, 0, 0, 0},
};
enum { NR_RANGES = sizeof(ranges) / sizeof(ranges[0]) };

static void a_filter_cuts_waits(void)
{
	for (size_t i = 0; i < NR_RANGES; i++) {
		const struct range *range = &ranges[i];
		const struct history_filter filter = {.from_ns = range->from_ms * MS,
						      .to_ns = range->to_ms * MS};
		struct profile profile;
		struct history *history = history_new();
		history_set_filter(history, &filter);
		history_keep_samples(history, 8);
		open_waits(&profile, history);
		const struct history_totals totals = history_totals(history);
		CHECK_EQ(totals.samples, range->nr_samples + range->nr_waits);
		CHECK_EQ(history_event_weight_shown(history, 1), range->waited_ms * MS);
		/* Of the whole profile nothing is cut. */
		CHECK_EQ(history_event_weight(history, 1), (LONG_MS + SHORT_MS) * MS);
		CHECK(!totals.samples || !range->to_ms ||
		      totals.last_ns < START_NS + range->to_ms * MS);
		history_free(history);
		close_profile(&profile);
	}
}

static int add_kept(void *context, const struct history_sample *sample)
{
	*(uint64_t *)context += sample->stack.weight;
	return 0;
}

static void kept_samples_are_cut(void)
{
	static const struct history_filter filter = {.from_ns = 4000 * MS, .to_ns = 5000 * MS};
	struct profile profile;
	struct history *history = history_new();
	uint64_t kept_ns = 0;
	history_set_filter(history, &filter);
	history_keep_samples(history, 8);
	open_waits(&profile, history);
	CHECK_EQ(history_each_sample(history, START_NS + 4000 * MS, START_NS + 5000 * MS, add_kept,
				     &kept_ns),
		 0);
	CHECK_EQ(kept_ns, 1000 * MS);
	history_free(history);
	close_profile(&profile);
}

/* As the interface has it. */
static struct selection *open_selection(struct profile *profile, struct history **history)
{
	*history = history_new();
	history_keep_seconds(*history);
	CHECK_EQ(history_keep_timeline(*history), 0);
	open_waits(profile, *history);
	return selection_new(*history);
}

static void refresh(struct selection *selection, uint64_t from_ns, uint64_t to_ns)
{
	selection_set_range(selection, from_ns, to_ns);
	CHECK_EQ(selection_refresh(selection, START_NS + 20000 * MS), 0);
}

static void a_marked_range_cuts_waits(void)
{
	struct profile profile;
	struct history *history;
	struct selection *selection = open_selection(&profile, &history);
	for (size_t i = 0; i < NR_RANGES; i++) {
		const struct range *range = &ranges[i];
		const uint64_t to_ms = range->to_ms ? range->to_ms : 20000;
		for (uint32_t event = 0; event < 2; event++) {
			const struct selection_criterion kept = {.what = SELECTION_EVENT,
								 .number = (int32_t)event};
			const uint64_t nr = event ? range->nr_waits : range->nr_samples;
			CHECK_EQ(selection_set_filter(selection, &kept, 1), 0);
			refresh(selection, START_NS + range->from_ms * MS, START_NS + to_ms * MS);
			const struct selection_totals totals = selection_totals(selection);
			CHECK_EQ(totals.samples, nr);
			CHECK(!event || totals.weight == range->waited_ms * MS);
			CHECK((totals.squares > 0) == (nr > 0));
		}
	}
	selection_free(selection);
	history_free(history);
	close_profile(&profile);
}

/* Waits that ended behind the range come with its end, in the order of time, and lie in it. */
struct seen {
	uint64_t last_ns, from_ns, to_ns, waited_ns;
};

static int see(void *context, const struct history_sample *sample)
{
	struct seen *seen = context;
	CHECK(sample->time_ns >= seen->last_ns && sample->time_ns < seen->to_ns);
	seen->last_ns = sample->time_ns;
	if (sample->stack.event == 1) {
		CHECK(sample->time_ns - sample->stack.weight + MS >= seen->from_ns);
		seen->waited_ns += sample->stack.weight;
	}
	return 0;
}

static void a_marked_range_is_exported_with_parts_of_waits(void)
{
	struct profile profile;
	struct history *history;
	struct selection *selection = open_selection(&profile, &history);
	struct seen seen = {.from_ns = START_NS + 2500 * MS, .to_ns = START_NS + 5500 * MS};
	refresh(selection, seen.from_ns, seen.to_ns);
	CHECK_EQ(selection_each_sample(selection, see, &seen), 0);
	CHECK_EQ(seen.waited_ns, (3000 + SHORT_MS) * MS);
	selection_free(selection);
	history_free(history);
	close_profile(&profile);
}

int main(void)
{
	RUN(a_filter_cuts_waits);
	RUN(kept_samples_are_cut);
	RUN(a_marked_range_cuts_waits);
	RUN(a_marked_range_is_exported_with_parts_of_waits);
	return test_done();
}

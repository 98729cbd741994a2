/* SPDX-License-Identifier: MIT */
/* Events that took turns on the counters: what is kept of it, and told. */
#include "test.h"

#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>
#include <ctop/report/report.h>

static void what_is_kept_is_read_back(void)
{
	struct history *history = history_new();
	const struct metadata_sink sink = metadata_to_history(history);
	struct session_stats stats = {
		.events = {{.counted = 7, .sampled = 6, .lost = 5, .counted_share = 1},
			   {.counted_share = 0.43},
			   {.counted_share = 0.000001}},
		.nr_events = 3,
	};
	CHECK(history);
	CHECK_EQ(metadata_end(&stats, &sink), 0);
	struct run_facts facts = {0};
	run_facts_read(history, FACT_RECORDED, &facts);
	const struct session_event *events = facts.stats.events;
	CHECK(events[0].counted_share > 0.999999);
	CHECK_EQ(events[0].counted, 7);
	CHECK_EQ(events[0].sampled, 6);
	CHECK_EQ(events[0].lost, 5);
	CHECK_EQ(events[1].lost, 0);
	CHECK(events[1].counted_share > 0.4299 && events[1].counted_share < 0.4301);
	CHECK(events[2].counted_share > 0);
	CHECK(events[3].counted_share <= 0);
	CHECK(facts.events[2].is_counted && !facts.events[3].is_counted);
	/* An untrusted file. */
	CHECK_EQ(history_set_info(history, "stats.counted_ppm.3", "1000001"), 0);
	CHECK_EQ(history_set_info(history, "stats.counted_ppm.4", "-1"), 0);
	run_facts_read(history, FACT_RECORDED, &facts);
	CHECK(events[3].counted_share <= 0 && events[4].counted_share <= 0);
	CHECK(run_facts_event(&facts, SIZE_MAX)->counted_share <= 0);
	history_free(history);
}

static bool report_says(struct history *history, const char *wanted)
{
	struct options options = {.min_percent = 0.5, .limit = 40};
	struct text text = {0};
	CHECK_EQ(report_text(history, &options, 0, &text), 0);
	bool found = strstr(text_string(&text), wanted) != NULL;
	text_release(&text);
	return found;
}

static void the_report_calls_it_an_estimate(void)
{
	struct history *history = history_new();
	CHECK(history);
	CHECK(!report_says(history, "counted"));
	CHECK_EQ(history_set_info(history, "stats.counted_ppm.0", "1000000"), 0);
	CHECK(!report_says(history, "counted"));
	CHECK_EQ(history_set_info(history, "stats.counted_ppm.0", "430000"), 0);
	CHECK(report_says(history, "counted    43 % of the time"));
	CHECK(report_says(history, "an estimate"));
	history_free(history);
}

int main(void)
{
	RUN(what_is_kept_is_read_back);
	RUN(the_report_calls_it_an_estimate);
	return test_done();
}

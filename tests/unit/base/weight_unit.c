/* SPDX-License-Identifier: MIT */
#include <ctop/weight_unit.h>

#include "test.h"

static void every_unit_has_words_of_its_own(void)
{
	for (uint32_t unit = 0; unit < NR_WEIGHT_UNITS; unit++) {
		CHECK(weight_unit_name(unit, 1) != NULL);
		for (uint32_t other = 0; other < unit; other++)
			CHECK(strcmp(weight_unit_name(unit, 2), weight_unit_name(other, 2)) != 0);
	}
	CHECK_STR(weight_unit_name(WEIGHT_FAULTS, 1), "fault");
	CHECK_STR(weight_unit_name(WEIGHT_FAULTS, 0), "faults");
	CHECK_STR(weight_unit_name(WEIGHT_NS, 1), "ns");
}

static void what_is_out_of_range_counts_events(void)
{
	CHECK_STR(weight_unit_name(NR_WEIGHT_UNITS, 2), "events");
	CHECK_STR(weight_unit_name(UINT32_MAX, 1), "event");
}

int main(void)
{
	RUN(every_unit_has_words_of_its_own);
	RUN(what_is_out_of_range_counts_events);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Where code leads, as it was read once: as long as the place that it is at, of one function, of files alone. */
#include "jailed/unwind/code_cache.h"

#include "test.h"

static struct unwind_counters counters;
static uint64_t generation;

static enum unwind_lookup find(void *context, uint64_t address, struct unwind_mapping *mapping)
{
	(void)context, (void)address;
	*mapping = (struct unwind_mapping){.start = 0x1000, .end = 0x9000};
	return UNWIND_FOUND;
}

static struct code look_up(struct code_cache *cache, uint64_t address)
{
	const struct unwind_space space = {.find = find, .generation = generation};
	struct code code;
	CHECK_EQ(code_cache_find(cache, &space, address, true, &code), UNWIND_FOUND);
	return code;
}

static bool is_known(const struct code_cache *cache, struct way way, bool leads_there)
{
	bool found = !leads_there;
	return code_cache_find_way(cache, &way, &found) && found == leads_there;
}

static void what_was_read_is_known(void)
{
	struct code_cache *cache = code_cache_new(&counters);
	const struct code code = look_up(cache, 0x2000);
	const struct way there = way_from(code.place, 0x2000, 0x3000, false),
			 elsewhere = way_from(code.place, 0x2000, 0x4000, false),
			 indirectly = way_from(code.place, 0x2000, 0x3000, true),
			 from_elsewhere = way_from(code.place, 0x2010, 0x3000, false);
	CHECK(!is_known(cache, there, true) && !is_known(cache, there, false));
	code_cache_keep_way(cache, &there, true);
	code_cache_keep_way(cache, &elsewhere, false);
	CHECK(is_known(cache, there, true));
	CHECK(is_known(cache, elsewhere, false));
	CHECK(!is_known(cache, indirectly, true) && !is_known(cache, indirectly, false));
	CHECK(!is_known(cache, from_elsewhere, true) && !is_known(cache, from_elsewhere, false));
	code_cache_free(cache);
}

static void another_generation_knows_nothing(void)
{
	struct code_cache *cache = code_cache_new(&counters);
	struct way way = way_from(look_up(cache, 0x2000).place, 0x2000, 0x3000, false);
	code_cache_keep_way(cache, &way, true);
	generation++;
	way = way_from(look_up(cache, 0x2000).place, 0x2000, 0x3000, false);
	CHECK(!is_known(cache, way, true) && !is_known(cache, way, false));
	code_cache_free(cache);
}

/* It may be written to at any time. */
static void of_made_code_nothing_is_kept(void)
{
	struct code_cache *cache = code_cache_new(&counters);
	struct place place = *look_up(cache, 0x2000).place;
	CHECK(place.serial);
	place.mapping.live = (struct live_code *)&counters;
	const struct way way = way_from(&place, 0x2000, 0x3000, false);
	code_cache_keep_way(cache, &way, true);
	CHECK(!is_known(cache, way, true) && !is_known(cache, way, false));
	code_cache_free(cache);
}

int main(void)
{
	RUN(what_was_read_is_known);
	RUN(another_generation_knows_nothing);
	RUN(of_made_code_nothing_is_kept);
	return 0;
}

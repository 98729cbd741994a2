/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <ctop/kernel/stat_line.h>

static void a_name_may_hold_anything(void)
{
	struct stat_line line;
	CHECK(stat_line_parse("42 (a) R 1 (b) S 7 42 43 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 5 0 "
			      "12345 999 1\n",
			      &line));
	CHECK_STR(line.name, "a) R 1 (b");
	CHECK_EQ(line.state, 'S');
	CHECK_EQ(line.parent, 7);
	CHECK_EQ(line.session, 43);
	CHECK_EQ(line.flags, 4194304);
	CHECK_EQ(line.nr_threads, 5);
	CHECK_EQ(line.cpu_ns, 2000000000);
	CHECK_EQ(line.start_ns, 123450000000);
}

static void what_is_no_line(void)
{
	static const char *const texts[] = {
		"",
		"42",
		"42 )(",
		"42 (a",
		"42 (a)",
		"42 (a) S",
		"42 (a) S 7 42 43 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 5 0",
	};
	struct stat_line line;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK(!stat_line_parse(texts[i], &line));
}

int main(void)
{
	RUN(a_name_may_hold_anything);
	RUN(what_is_no_line);
	return test_done();
}

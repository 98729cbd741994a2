/* SPDX-License-Identifier: MIT */
/* The list of functions by line, address, module, thread and process: what b shows, and what is done with such rows. */
#include "interface.h"

static void begin_with_lines(int rows, int cols, enum grouping grouping)
{
	static const struct symbol_line inlined[] = {{NULL, "src/parse.c", 20},
						     {"skip_blanks(char const*)", "src/text.h", 7}};
	static const struct symbol_line own[] = {{NULL, "src/hash.c", 133}};
	const struct ui_options options = {.grouping = grouping};
	begin_profile(false);
	for (uint64_t second = 1; second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
			add_samples(&stacks[i], second);
	CHECK_EQ(symbols_set_lines(profile.names, frame_of("parse_request(char const*)"), inlined,
				   2),
		 0);
	CHECK_EQ(symbols_set_lines(profile.names, frame_of("hash_block(unsigned char const*)"), own,
				   1),
		 0);
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
}

static void round_all_of_them(void)
{
	begin_with_lines(24, 80, GROUPING_INLINE);
	compare("grouping-inline");
	press("b");
	compare("grouping-function");
	press("b");
	compare("grouping-line");
	press("b");
	compare("grouping-address");
	press("b");
	compare("grouping-module");
	press("b");
	compare("grouping-thread");
	press("b");
	compare("grouping-process");
	press("b<Up>");
	compare("grouping-inline-again");
	end();
}

/* Below the list stands the row in full; a row of a function opens its sandwich. */
static void rows_are_found_and_opened(void)
{
	begin_with_lines(36, 120, GROUPING_LINE);
	press("/hash.c<Enter>");
	compare("grouping-line-found");
	press("<Enter>");
	compare("grouping-line-opened");
	end();
}

static void modules_and_threads_are_shown_alone(void)
{
	begin_with_lines(24, 80, GROUPING_MODULE);
	press("<Down><Enter>");
	compare("grouping-module-opened");
	end();
	begin_with_lines(24, 80, GROUPING_THREAD);
	press("<Down><Enter>");
	compare("grouping-thread-opened");
	end();
}

static void in_another_order_and_small(void)
{
	begin_with_lines(24, 80, GROUPING_ADDRESS);
	press("ss");
	compare("grouping-address-by-name");
	CHECK_EQ(ui_resize(profile.ui, 10, 40), 0);
	press("bb");
	compare("grouping-40x10");
	end();
}

int main(void)
{
	RUN(round_all_of_them);
	RUN(rows_are_found_and_opened);
	RUN(modules_and_threads_are_shown_alone);
	RUN(in_another_order_and_small);
	return test_done();
}

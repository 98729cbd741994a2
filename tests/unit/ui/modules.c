/* SPDX-License-Identifier: MIT */
/* Modules: where their names come from, why some are missing, and what would help. */
#include "interface.h"

static void begin_with_sources(int rows, int cols)
{
	static const struct module_names sources[] = {
		{NAMES_FROM_SYMTAB, NAMES_MISSING_NOTHING},
		{NAMES_FROM_DYNSYM, NAMES_MISSING_DEBUG_FILE},
		{NAMES_FROM_NOTHING, NAMES_MISSING_KERNEL},
	};
	const struct ui_options options = {0};
	begin_profile(false);
	symbols_set_module(profile.names, profile.program, &sources[0]);
	symbols_set_module(profile.names, profile.library, &sources[1]);
	symbols_set_module(profile.names, profile.kernel, &sources[2]);
	for (uint64_t second = 1; second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
			add_samples(&stacks[i], second);
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
}

static void modules_and_what_would_help(void)
{
	begin_with_sources(24, 80);
	press("8");
	compare("modules-80x24");
	press("<Down>");
	compare("modules-remedy");
	CHECK_EQ(ui_resize(profile.ui, 36, 120), 0);
	compare("modules-120x36");
	CHECK_EQ(ui_key(profile.ui, 'y'), UI_WISH_COPY);
	CHECK_STR(ui_copied(profile.ui), "find-dbgsym-packages --install /usr/lib/libc.so.6");
	/* Of one that lacks nothing, its path. */
	press("g");
	CHECK_EQ(ui_key(profile.ui, 'y'), UI_WISH_COPY);
	CHECK_STR(ui_copied(profile.ui), "/usr/bin/program");
	end();
}

static void a_module_is_opened_and_found(void)
{
	begin_with_sources(24, 80);
	press("8/libc<Enter>");
	press("<Enter>");
	compare("modules-opened");
	press("<Esc>8");
	press("d");
	compare("modules-zoomed");
	end();
}

static void what_is_fetched(void)
{
	begin_with_sources(24, 80);
	profile.facts.fetching = "debuginfod: 3.4 of 12.0 MiB of 0123abcd";
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
	press("8");
	compare("modules-fetching");
	end();
}

static void small_and_ascii(void)
{
	begin_with_sources(10, 40);
	press("8");
	compare("modules-40x10");
	press("8");
	compare("modules-left");
	end();
}

int main(void)
{
	RUN(modules_and_what_would_help);
	RUN(a_module_is_opened_and_found);
	RUN(what_is_fetched);
	RUN(small_and_ascii);
	return test_done();
}

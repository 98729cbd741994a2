/* SPDX-License-Identifier: MIT */
/* The pane beside a list: of very many stacks it takes long, and keys do not wait for it. */
#include "interface.h"

enum { CALLERS = 8, FUNCTIONS = 30000, TICKS_AFTER_KEY = 2 };

static void make_many_paths(void)
{
	static const char *const callers[CALLERS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	const struct node_id root = {0};
	char name[32];
	begin_profile(true);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct frame_id frame;
		snprintf(name, sizeof(name), "function_%zu", i);
		CHECK_EQ(tables_add_frame(profile.writer, profile.program, 0x100000 + 16 * i,
					  &frame),
			 0);
		CHECK_EQ(symbols_set(profile.names, frame, SYMBOL_NAMED, name, NULL, 0), 0);
		for (size_t caller = 0; caller < CALLERS; caller++) {
			struct sample sample = {.time_ns = UINT64_C(1000000000) * SECONDS,
						.weight = 1,
						.task = profile.threads[0],
						.leaf = frame,
						.event = 1};
			CHECK_EQ(tables_add_node(profile.writer, root, frame_of(callers[caller]),
						 FRAME_CFI, &sample.node),
				 0);
			tables_publish(profile.writer);
			CHECK_EQ(history_import(profile.history, &sample, 1), 0);
		}
	}
}

static bool shows(const char *words)
{
	struct text text = {0};
	cells_text(ui_draw(profile.ui), &text);
	bool found = strstr(text_string(&text), words) != NULL;
	text_release(&text);
	return found;
}

static void keys_do_not_wait_for_it(void)
{
	const struct ui_options options = {0};
	make_many_paths();
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, 30, 120), 0);
	CHECK(shows("CALLERS"));
	/* At once only whose it is. */
	ui_key(profile.ui, 'j');
	CHECK(!shows("CALLERS"));
	CHECK(!ui_dirty(profile.ui));
	ui_tick(profile.ui);
	CHECK(!ui_dirty(profile.ui));
	/* Each key restarts the wait. */
	ui_key(profile.ui, 'j');
	CHECK(!shows("CALLERS"));
	for (int tick = 1; tick <= TICKS_AFTER_KEY; tick++) {
		CHECK(!ui_dirty(profile.ui));
		ui_tick(profile.ui);
	}
	CHECK(ui_dirty(profile.ui));
	CHECK(shows("CALLERS"));
	CHECK(!ui_dirty(profile.ui));
	/* What a refresh makes old stays for a while, and not for ever. */
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
	CHECK(shows("CALLERS"));
	for (int tick = 0; tick < 100 && !ui_dirty(profile.ui); tick++)
		ui_tick(profile.ui);
	CHECK(ui_dirty(profile.ui));
	end();
}

static void few_stacks_are_told_of_at_once(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 30, 120), 0);
	CHECK(shows("CALLERS"));
	ui_key(profile.ui, 'j');
	ui_draw(profile.ui); /* the list first */
	CHECK(ui_dirty(profile.ui));
	CHECK(shows("CALLERS"));
	CHECK(!ui_dirty(profile.ui));
	end();
}

static void set_line(const char *function, const char *file, uint32_t line)
{
	const struct symbol_line own = {.file = file, .line = line};
	CHECK_EQ(symbols_set_lines(profile.names, frame_of(function), &own, 1), 0);
}

/* The hottest lines of a function, and those that call it; files without their directories, and without what a terminal would take for more. */
static void lines_are_told_where_they_are_known(void)
{
	const struct ui_options options = {0};
	begin_profile(true);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
		add_samples(&stacks[i], SECONDS);
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, 40, 120), 0);
	CHECK(!shows("LINES"));
	/* Its own 6 samples are at one line; 3 more call from there. */
	set_line("parse_request(char const*)", "/src/deep/par\x1b[31mse.c", 12);
	set_line("serve(int)", "/src/a/serve.c", 4294967295);
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
	for (int tick = 0; tick < 100; tick++)
		ui_advance(profile.ui);
	compare("pane-lines");
	end();
}

int main(void)
{
	RUN(keys_do_not_wait_for_it);
	RUN(few_stacks_are_told_of_at_once);
	RUN(lines_are_told_where_they_are_known);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* The pane beside a list: of very many stacks it takes long, and keys do not wait for it. */
#include "interface.h"

enum { CALLERS = 8, FUNCTIONS = 30000, TICKS_AFTER_KEY = 2 };

static void make_many_paths(void)
{
	static const char *const callers[CALLERS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	const struct node_id root = {0};
	char name[32];
	begin_world(true);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct frame_id frame;
		snprintf(name, sizeof(name), "function_%zu", i);
		CHECK_EQ(tables_add_frame(world.writer, world.program, 0x100000 + 16 * i, &frame),
			 0);
		CHECK_EQ(symbols_set(world.names, frame, SYMBOL_NAMED, name, NULL, 0), 0);
		for (size_t caller = 0; caller < CALLERS; caller++) {
			struct sample sample = {.time_ns = UINT64_C(1000000000) * SECONDS,
						.weight = 1,
						.task = world.threads[0],
						.leaf = frame,
						.event = 1};
			CHECK_EQ(tables_add_node(world.writer, root, frame_of(callers[caller]),
						 FRAME_CFI, &sample.node),
				 0);
			tables_publish(world.writer);
			CHECK_EQ(history_import(world.history, &sample, 1), 0);
		}
	}
}

static bool shows(const char *words)
{
	struct text text = {0};
	cells_text(ui_draw(world.ui), &text);
	bool found = strstr(text_string(&text), words) != NULL;
	text_release(&text);
	return found;
}

static void keys_do_not_wait_for_it(void)
{
	const struct ui_options options = {0};
	make_many_paths();
	begin_ui(&options);
	CHECK_EQ(ui_resize(world.ui, 30, 120), 0);
	CHECK(shows("CALLERS"));
	/* At once only whose it is. */
	ui_key(world.ui, 'j');
	CHECK(!shows("CALLERS"));
	CHECK(!ui_dirty(world.ui));
	ui_advance(world.ui);
	CHECK(!ui_dirty(world.ui));
	/* Each key restarts the wait. */
	ui_key(world.ui, 'j');
	CHECK(!shows("CALLERS"));
	for (int tick = 1; tick <= TICKS_AFTER_KEY; tick++) {
		CHECK(!ui_dirty(world.ui));
		ui_advance(world.ui);
	}
	CHECK(ui_dirty(world.ui));
	CHECK(shows("CALLERS"));
	CHECK(!ui_dirty(world.ui));
	/* What a refresh makes old stays for a while, and not for ever. */
	CHECK_EQ(ui_refresh(world.ui, world.now_ns), 0);
	CHECK(shows("CALLERS"));
	for (int tick = 0; tick < 100 && !ui_dirty(world.ui); tick++)
		ui_advance(world.ui);
	CHECK(ui_dirty(world.ui));
	end();
}

static void few_stacks_are_told_of_at_once(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 30, 120), 0);
	CHECK(shows("CALLERS"));
	ui_key(world.ui, 'j');
	ui_draw(world.ui); /* the list first */
	CHECK(ui_dirty(world.ui));
	CHECK(shows("CALLERS"));
	CHECK(!ui_dirty(world.ui));
	end();
}

int main(void)
{
	RUN(keys_do_not_wait_for_it);
	RUN(few_stacks_are_told_of_at_once);
	return test_done();
}

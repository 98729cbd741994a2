/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SMALL_PROFILE_H
#define TESTS_SMALL_PROFILE_H

/* An interface on a tiny live profile: two threads, a few functions, what the header shows, by hand. */

#include "test.h"

#include <ctop/history/history.h>
#include <ctop/ui/ui.h>

#define SECOND_NS UINT64_C(1000000000)

struct small_profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *names;
	struct history *history;
	struct task_id threads[2];
	struct frame_id leaf;
	struct ui_facts facts;
	const char *info;
	struct ui *ui;
	uint64_t now_ns;
};
static struct small_profile small;

static struct string_id small_string(const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(small.writer, string, strlen(string), &id), 0);
	return id;
}

static void small_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	(void)event;
	*facts = small.facts;
}

static void small_info(void *context, uint32_t event, enum time_shown time, struct text *lines)
{
	(void)context;
	(void)event;
	(void)time;
	text_add(lines, small.info);
}

static bool small_thread(void *context, int32_t pid, int32_t tid, struct ui_thread_now *now)
{
	(void)context;
	(void)pid;
	(void)tid;
	*now = (struct ui_thread_now){.state = 'R', .still_s = -1};
	return true;
}

static void small_samples(unsigned nr, uint64_t time_ns)
{
	for (unsigned i = 0; i < nr; i++) {
		const struct sample sample = {
			.time_ns = time_ns + i,
			.weight = 1,
			.task = small.threads[i % 2],
			.leaf = small.leaf,
			.event = 1,
			.end = STACK_COMPLETE,
			.reason = STACK_REASON_NONE,
		};
		CHECK_EQ(history_import(small.history, &sample, 1), 0);
	}
}

/* At second `second` of the clock; options NULL: as usual. */
static void small_refresh(uint64_t second)
{
	small.now_ns = second * SECOND_NS + SECOND_NS / 2;
	CHECK_EQ(ui_refresh(small.ui, small.now_ns), 0);
}

static void small_begin(uint64_t second)
{
	static const struct tables_capacity tables = {
		.nr = {[TABLE_STRINGS] = 1 << 12,
		       [TABLE_METADATA] = 16,
		       [TABLE_EVENTS] = 4,
		       [TABLE_MODULES] = 8,
		       [TABLE_TASKS] = 8,
		       [TABLE_FRAMES] = 16,
		       [TABLE_NODES] = 16},
		.nr_samples = 64,
	};
	static const struct symbols_capacity symbols = {.nr_frames = 16, .string_units = 1 << 10};
	static const struct ui_host host = {
		.facts = small_facts, .info = small_info, .thread = small_thread};
	static const struct ui_options options = {.ascii = true};
	small = (struct small_profile){
		.facts = {.state = UI_LIVE,
			  .target = "program[42]",
			  .event = "cpu-clock",
			  .frequency_hz = 999,
			  .cpu_percent = -1,
			  .own_cpu_percent = -1},
		.info = "",
	};
	CHECK_EQ(tables_map(&small.tables, -1, &tables, true), 0);
	CHECK_EQ(symbols_map(&small.symbols, -1, &symbols, true), 0);
	small.writer = tables_writer_new(&small.tables);
	small.names = symbols_writer_new(&small.symbols);
	small.history = history_new();
	CHECK(small.writer && small.names && small.history);
	history_keep_seconds(small.history);
	const struct event_row event = {.name = small_string("cpu-clock"),
					.asked = small_string("cycles")};
	uint32_t id;
	CHECK_EQ(tables_add_event(small.writer, &event, &id), 0);
	const struct module_row row = {
		.path = small_string("/bin/program"), .kind = MODULE_FILE, .pid = 42};
	struct module_id module;
	CHECK_EQ(tables_add_module(small.writer, &row, &module), 0);
	CHECK_EQ(tables_add_frame(small.writer, module, 16, &small.leaf), 0);
	CHECK_EQ(symbols_set(small.names, small.leaf, SYMBOL_NAMED, "leaf", NULL, 0), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(tables_add_task(small.writer, 42, 42 + i, 0, small_string("thread"),
					 &small.threads[i]),
			 0);
	tables_publish(small.writer);
	CHECK_EQ(history_begin_epoch(small.history, &small.tables, &small.symbols), 0);
	small.ui = ui_new(&options, &host, small.history);
	CHECK(small.ui);
	CHECK_EQ(ui_resize(small.ui, 24, 100), 0);
	small_samples(100, second * SECOND_NS);
	small_refresh(second);
}

static void small_end(void)
{
	ui_free(small.ui);
	history_free(small.history);
	symbols_writer_free(small.names);
	tables_writer_free(small.writer);
	symbols_unmap(&small.symbols);
	tables_unmap(&small.tables);
}

/* The line that has the text, or NULL; until the next call. */
static const char *small_line(const char *wanted)
{
	static char line[512];
	struct text text = {0};
	cells_text(ui_draw(small.ui), &text);
	const char *found = strstr(text_string(&text), wanted);
	if (found) {
		while (found > text.bytes && found[-1] != '\n')
			found--;
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(found, "\n"), found);
	}
	text_release(&text);
	return found ? line : NULL;
}

static bool small_shows(const char *wanted)
{
	if (small_line(wanted))
		return true;
	struct text text = {0};
	cells_text(ui_draw(small.ui), &text);
	printf("# no \"%s\" in:\n%s\n", wanted, text_string(&text));
	text_release(&text);
	return false;
}

#endif

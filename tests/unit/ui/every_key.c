/* SPDX-License-Identifier: MIT */
/* Every key in every view at every size, on few rows, many, none and hostile ones. */
#include "interface.h"

static void every_size_is_survived(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	for (int rows = 0; rows < 14; rows++)
		for (int cols = 0; cols < 130; cols += 1 + cols / 10) {
			CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
			press("1<Down>2<Down><Right>E3<Down><Right>b5<Down><Right>69<Left>+-W[]"
			      "?<Down><Esc>i<Esc>/x<Esc>");
		}
	end();
}

/* What is drawn is safe to show, whatever it is drawn from. */
static void check_screen(void)
{
	const struct cells *cells = ui_draw(profile.ui);
	struct text text = {0};
	cells_text(cells, &text);
	CHECK(!text.failed);
	const char *string = text_string(&text);
	for (size_t i = 0; string[i]; i++) {
		unsigned char byte = (unsigned char)string[i];
		CHECK(byte != 0x7f && (byte >= ' ' || byte == '\n'));
		CHECK(!cells->ascii || byte < 0x7f);
	}
	/* Nothing is left of what no terminal should get: C1, bidi controls. */
	CHECK(!strstr(string, "\xc2\x9b") && !strstr(string, "\xe2\x80\xae"));
	text_release(&text);
}

/* A key in a view; then an answer, where one is asked for, or another key; then out of what was opened. */
static void press_one(enum view_kind view, int key)
{
	ui_key(profile.ui, view == VIEW_TIMELINE ? '9' : '1' + (int)view);
	ui_key(profile.ui, key);
	check_screen();
	press("a<Enter>");
	check_screen();
	for (int i = 0; i < 4; i++)
		press("<Esc>");
}

static size_t press_every_key(enum view_kind view)
{
	size_t nr = 0;
	for (size_t i = 0; i < nr_key_rows; i++)
		for (size_t k = 0; k < KEYS_A_ROW && key_rows[i].keys[k]; k++) {
			if (!(key_rows[i].views & VIEW_BIT(view)))
				continue;
			CHECK_EQ(keys_action(key_rows[i].keys[k], view), key_rows[i].action);
			press_one(view, key_rows[i].keys[k]);
			nr++;
			profile.now_ns += 100000000;
			CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
		}
	return nr;
}

static void press_every_key_in_every_view(bool ascii)
{
	static const int sizes[][2] = {{10, 40}, {24, 80}, {40, 120}, {100, 300}, {2, 3}};
	const struct ui_options options = {.ascii = ascii};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		begin_ui(&options);
		CHECK_EQ(ui_resize(profile.ui, sizes[i][0], sizes[i][1]), 0);
		for (int view = 0; view < NR_VIEWS; view++)
			CHECK(press_every_key((enum view_kind)view) > 30);
		CHECK(press_every_key(VIEW_TIMELINE) > 30);
		ui_free(profile.ui);
	}
}

static void every_key(const struct stack *some, size_t nr)
{
	for (int ascii = 0; ascii < 2; ascii++) {
		begin_profile(false);
		for (size_t i = 0; i < nr; i++)
			add_samples(&some[i], SECONDS);
		press_every_key_in_every_view(ascii);
		profile.ui = NULL;
		end();
	}
}

static void every_key_on_many_rows(void)
{
	every_key(stacks, sizeof(stacks) / sizeof(*stacks));
}

static void every_key_on_one_row(void)
{
	static const struct stack one = {0, 1, STACK_COMPLETE, {"main"}};
	every_key(&one, 1);
}

static void every_key_on_no_row(void)
{
	every_key(NULL, 0);
}

static void every_key_on_hostile_names(void)
{
	static char endless[4000];
	static const struct stack hostile[] = {
		{0,
		 6,
		 STACK_COMPLETE,
		 {"\x1b]52;c;AAAA\x07", "\x1b[2J\x1b[H",
		  "\xc2\x9b"
		  "31mred"}},
		{1,
		 5,
		 STACK_COMPLETE,
		 {"\xe2\x80\xae"
		  "drawkcab",
		  "a\nb\rc\td", "\xff\xfe\xc0\x80"}},
		{2,
		 4,
		 STACK_BROKEN,
		 {"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", "\xed\xa0\x80", ""}},
		{2,
		 3,
		 STACK_COMPLETE,
		 {"((((<<<<", ">>>>))))", "operator()(<", "\xf0\x9f\x98\x80\xef\xbc\xa1"}},
		{1,
		 2,
		 STACK_SWITCHED,
		 {"%s%n%d", endless, "~vector<>::<lambda(", "\xe2\x80\x8b\xe2\x80\x8f"}},
	};
	memset(endless, 'x', sizeof(endless) - 1);
	every_key(hostile, sizeof(hostile) / sizeof(*hostile));
}

/* As many functions, each below main and for itself. */
static void a_hundred_thousand_rows(void)
{
	enum { NR = 100000 };
	const struct ui_options options = {0};
	struct node_id node;
	struct frame_id frame;
	char name[32];
	begin_profile(true);
	CHECK_EQ(tables_add_node(profile.writer, (struct node_id){0}, frame_of("main"), FRAME_CFI,
				 &node),
		 0);
	for (int i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		CHECK_EQ(tables_add_frame(profile.writer, profile.program,
					  0x100000 + 16 * (uint64_t)i, &frame),
			 0);
		CHECK_EQ(symbols_set(profile.names, frame, SYMBOL_NAMED, name, NULL, 0), 0);
		const struct sample sample = {.time_ns = UINT64_C(1000000000) * SECONDS,
					      .weight = 1,
					      .task = profile.threads[0],
					      .node = node,
					      .leaf = frame,
					      .event = 1};
		tables_publish(profile.writer);
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
	}
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	ui_draw(profile.ui);
	press("<End>");
	compare("rows-100000-end");
	press("/function_77777<Enter>");
	compare("rows-100000-found");
	press("\\_4242<Enter>2E<End><PgDn>");
	compare("rows-100000-filtered");
	press("<Esc>3<End>5<Down>6<Enter>");
	check_screen();
	end();
}

int main(void)
{
	RUN(every_size_is_survived);
	RUN(every_key_on_many_rows);
	RUN(every_key_on_one_row);
	RUN(every_key_on_no_row);
	RUN(every_key_on_hostile_names);
	RUN(a_hundred_thousand_rows);
	return test_done();
}

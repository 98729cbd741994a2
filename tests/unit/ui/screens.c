/* SPDX-License-Identifier: MIT */
/* Keys in, screens out. */
#include "interface.h"

static const struct {
	const char *name, *keys;
	int rows, cols;
	bool ascii, since_start;
} screens[] = {
	{"top-80x24", "", 24, 80, false, false},
	{"top-40x10", "", 10, 40, false, false},
	{"top-120x40", "<Down>", 40, 120, false, false},
	{"top-ascii", "", 24, 80, true, false},
	{"top-all", "w", 24, 80, false, false},
	{"top-by-name", "sss", 24, 80, false, false},
	{"top-inverted", "I", 24, 80, false, false},
	{"top-few-rows", "LLL", 24, 80, false, false},
	{"top-full-names", "vv", 24, 80, false, false},
	{"top-filtered", "\\serve<Enter>", 24, 80, false, false},
	{"top-nothing-passes", "\\nothing like it<Enter>", 24, 80, false, false},
	{"top-find", "/copy", 24, 80, false, false},
	{"top-callers-too", "z", 24, 80, false, false},
	{"top-found-hidden", "/_start<Enter>", 24, 80, false, false},
	{"top-found-next", "/copy<Enter>n", 24, 80, false, false},
	{"top-not-found", "/xyzzy<Enter>", 24, 80, false, false},
	{"top-paused", " ", 24, 80, false, false},
	{"top-unknown-key", "Q", 24, 80, false, false},
	{"top-user-only", "K", 24, 80, false, false},
	{"tree-80x24", "2", 24, 80, false, false},
	{"top-300x40", "<Down>", 40, 300, false, false},
	{"tree-40x10", "2", 10, 40, false, false},
	{"tree-120x40", "2<Down><Down>", 40, 120, false, false},
	{"tree-ascii", "2", 24, 80, true, false},
	{"tree-closed", "2C", 24, 80, false, false},
	{"tree-all-open", "2E", 24, 80, false, false},
	{"tree-chain-opens", "2C<Right>", 24, 80, false, false},
	{"tree-chain-parted", "2<Right>", 24, 80, false, false},
	{"tree-chain-joined", "2<Right><Left>", 24, 80, false, false},
	{"tree-chain-found", "2/main<Enter>", 24, 80, false, false},
	{"tree-chain-end", "2b", 24, 80, false, false},
	{"tree-hot-path", "2CH", 24, 80, false, false},
	{"tree-to-parent", "2E<Down><Down><Down><Left><Left>", 24, 80, false, false},
	{"tree-subtree", "2<Down><Down>F", 24, 80, false, false},
	{"callers-80x24", "3<Right>", 24, 80, false, false},
	{"sandwich-80x24", "/memcpy<Enter>4", 24, 80, false, false},
	{"sandwich-recentred", "/memcpy<Enter>4<Down><Enter>", 24, 80, false, false},
	{"sandwich-closed", "/memcpy<Enter>4<Down><Left>", 24, 80, false, false},
	{"sandwich-of-nothing", "4", 24, 80, false, false},
	{"sandwich-of-nothing-zoomed", "<S-Tab><S-Tab><S-Tab>\\xyzzy<Enter>4<Esc>dfD", 24, 80,
	 false, false},
	{"flame-80x24", "5", 24, 80, false, false},
	{"flame-120x40", "5<Down>", 40, 120, false, false},
	{"flame-zoomed", "5<Down><Down><Enter>", 24, 80, false, false},
	{"threads-80x24", "6", 24, 80, false, false},
	{"threads-120x40", "6", 40, 120, false, false},
	{"threads-40x10", "6", 10, 40, false, false},
	{"timeline-80x24", "9", 24, 80, false, false},
	{"timeline-120x40", "9<Down>", 40, 120, false, false},
	{"timeline-processes", "9p", 24, 80, false, false},
	{"processes-80x24", "6p", 24, 80, false, false},
	{"processes-zoomed", "6p<Enter>p", 24, 80, false, false},
	{"threads-zoomed", "6<Down><Enter>1", 24, 80, false, false},
	{"zooms-stack", "f\\find<Enter>", 24, 80, false, false},
	{"zooms-taken-back", "f\\find<Enter><Esc>", 24, 80, false, false},
	{"help-80x24", "?", 24, 80, false, false},
	{"help-of-tree-end", "2?<End>", 24, 80, false, false},
	{"export-asks", "x", 24, 80, false, false},
	{"export-asks-40x10", "x", 10, 40, false, false},
	{"export-other-format", "x<Tab>", 24, 80, false, false},
	{"export-named", "\\serve<Enter>x<BS><BS>\x15one file<Enter>", 24, 80, false, false},
	{"export-given-up", "x<Esc>", 24, 80, false, false},
	{"info-80x24", "i", 24, 80, false, false},
};

static size_t screen;

static void one_screen(void)
{
	const struct ui_options options = {.ascii = screens[screen].ascii,
					   .since_start = screens[screen].since_start};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, screens[screen].rows, screens[screen].cols), 0);
	ui_draw(profile.ui);
	press(screens[screen].keys);
	compare(screens[screen].name);
	end();
}

/* Every view at every size, in UTF-8 and ASCII. */
static void every_view_at_every_size(void)
{
	static const struct {
		const char *name, *keys;
	} views[] = {
		{"top", ""},	   {"tree", "2"},
		{"callers", "3"},  {"sandwich", "/memcpy<Enter>4"},
		{"flame", "5"},	   {"threads", "6"},
		{"timeline", "9"}, {"info", "i"},
		{"help", "?"},	   {"filtered", "\\serve<Enter>f"},
	};
	static const int sizes[][2] = {{10, 40}, {24, 80}, {40, 120}};
	for (size_t view = 0; view < sizeof(views) / sizeof(*views); view++)
		for (size_t size = 0; size < sizeof(sizes) / sizeof(*sizes); size++)
			for (int ascii = 0; ascii < 2; ascii++) {
				const struct ui_options options = {.ascii = ascii};
				int rows = sizes[size][0], cols = sizes[size][1];
				char name[64];
				begin(&options, true);
				CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
				ui_draw(profile.ui);
				press(views[view].keys);
				snprintf(name, sizeof(name), "sizes/%s-%dx%d%s", views[view].name,
					 cols, rows, ascii ? "-ascii" : "");
				compare(name);
				end();
			}
}

int main(void)
{
	for (screen = 0; screen < sizeof(screens) / sizeof(*screens); screen++)
		test_run(screens[screen].name, one_screen);
	RUN(every_view_at_every_size);
	return test_done();
}

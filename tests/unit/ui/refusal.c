/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <ctop/output/refusal_text.h>
#include <ctop/ui/ui.h>

static const struct refusal refusal = {
	.title = "ctop cannot sample process 1234 (bad\x1b[2J, of alice = you)",
	.tried = "perf_event_open(cycles:u) -> EACCES",
	.cause = "kernel.perf_event_paranoid = 4, as Ubuntu has it, allows no sampling without "
		 "privilege",
	.fixes =
		{
			{"sudo setcap cap_perfmon,cap_sys_ptrace+p /usr/bin/ctop",
			 "this binary only"},
			{"sudo ctop -p 1234", "this run only"},
			{"", "run ctop outside of the container"},
		},
	.nr_fixes = 3,
	.others = "seccomp ok",
};

static void the_text_has_one_cause_and_numbered_fixes(void)
{
	struct text text = {0};
	refusal_add(&refusal, 0, &text, NULL, 0);
	CHECK_STR(text_string(&text),
		  "ctop cannot sample process 1234 (bad\\x1b[2J, of alice = you)\n"
		  "perf_event_open(cycles:u) -> EACCES\n"
		  "Cause: kernel.perf_event_paranoid = 4, as Ubuntu has it, allows no sampling "
		  "without privilege\n"
		  "Fix, the smallest first:\n"
		  " 1  sudo setcap cap_perfmon,cap_sys_ptrace+p /usr/bin/ctop\n"
		  "      this binary only\n"
		  " 2  sudo ctop -p 1234\n"
		  "      this run only\n"
		  " 3  run ctop outside of the container\n"
		  "Not the cause: seccomp ok\n");
	text_release(&text);
}

static void lines_are_broken_and_belong_to_their_fix(void)
{
	for (size_t cols = 1; cols < 100; cols++) {
		struct text text = {0};
		uint8_t fix_of[512] = {0};
		refusal_add(&refusal, cols, &text, fix_of, sizeof(fix_of));
		CHECK(!text.failed);
		size_t line = 0, last = 0;
		for (char *at = text.bytes, *end; (end = strchr(at, '\n')); at = end + 1, line++) {
			*end = '\0';
			if (cols > 20)
				CHECK(text_cols(at) <= cols);
			if (line < sizeof(fix_of) && fix_of[line]) {
				CHECK(fix_of[line] >= last);
				last = fix_of[line];
			}
		}
		CHECK_EQ(last, 3);
		text_release(&text);
	}
}

/* ---- the screen ---- */

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	(void)event;
	*facts = (struct ui_facts){0};
}

static struct ui *begin(const struct refusal *shown, int rows, int cols)
{
	const struct ui_host host = {.facts = tell_facts};
	const struct ui_options options = {.view = VIEW_REFUSAL, .refusal = shown};
	struct ui *ui = ui_new(&options, &host, NULL);
	CHECK(ui);
	CHECK_EQ(ui_resize(ui, rows, cols), 0);
	CHECK_EQ(ui_refresh(ui, 1), 0);
	return ui;
}

static bool shows(struct ui *ui, const char *wanted)
{
	struct text text = {0};
	cells_text(ui_draw(ui), &text);
	bool found = strstr(text_string(&text), wanted) != NULL;
	if (!found)
		printf("# no \"%s\" in:\n%s\n", wanted, text_string(&text));
	text_release(&text);
	return found;
}

static void y_copies_the_fix_that_is_chosen(void)
{
	struct ui *ui = begin(&refusal, 24, 80);
	CHECK(shows(ui, "bad\\x1b[2J"));
	CHECK(shows(ui, "Cause: kernel.perf_event_paranoid = 4"));
	CHECK(shows(ui, " 2  sudo ctop -p 1234"));
	CHECK(shows(ui, "y:copy"));
	CHECK_EQ(ui_key(ui, 'y'), UI_WISH_COPY);
	CHECK_STR(ui_copied(ui), refusal.fixes[0].command);
	ui_key(ui, 'j');
	ui_key(ui, 'j');
	CHECK_EQ(ui_key(ui, 'y'), UI_WISH_COPY);
	CHECK_STR(ui_copied(ui), refusal.fixes[1].command);
	CHECK(shows(ui, "copied: sudo ctop -p 1234"));
	ui_key(ui, 'j');
	ui_key(ui, 'j');
	CHECK_EQ(ui_key(ui, 'y'), UI_WISH_COPY);
	CHECK_STR(ui_copied(ui), refusal.fixes[2].reach);
	/* A line that is no fix's copies the first. */
	ui_key(ui, 'G');
	CHECK_EQ(ui_key(ui, 'y'), UI_WISH_COPY);
	CHECK_STR(ui_copied(ui), refusal.fixes[0].command);
	ui_free(ui);
}

static void it_is_left_by_q_and_escape(void)
{
	static const int keys[] = {'q', KEY_ESCAPE, KEY_CTRL_C, KEY_F10};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct ui *ui = begin(&refusal, 24, 80);
		CHECK_EQ(ui_key(ui, 'x'), UI_WISH_NONE);
		CHECK_EQ(ui_key(ui, keys[i]), UI_WISH_QUIT);
		ui_free(ui);
	}
}

static void every_line_is_reached_on_small_screens(void)
{
	static const int sizes[][2] = {{10, 40}, {5, 20}, {3, 10}, {1, 1}, {2, 3}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct ui *ui = begin(&refusal, sizes[i][0], sizes[i][1]);
		ui_draw(ui);
		for (int key = 0; key < 100; key++) {
			ui_key(ui, key % 50 < 40 ? 'j' : KEY_PAGE_UP);
			ui_draw(ui);
		}
		ui_key(ui, 'g');
		if (sizes[i][0] >= 5)
			CHECK(shows(ui, "ctop cannot"));
		ui_key(ui, 'G');
		if (sizes[i][0] >= 5)
			CHECK(shows(ui, "Not the cause:"));
		/* The lines are broken again. */
		CHECK_EQ(ui_resize(ui, 30, 100), 0);
		CHECK(shows(ui, "sudo setcap cap_perfmon,cap_sys_ptrace+p /usr/bin/ctop"));
		ui_free(ui);
	}
}

static void nothing_helps(void)
{
	const struct refusal bare = {.title = "ctop cannot sample", .cause = "no"};
	struct ui *ui = begin(&bare, 24, 80);
	CHECK(shows(ui, "Cause: no"));
	CHECK_EQ(ui_key(ui, 'y'), UI_WISH_NONE);
	ui_free(ui);
}

int main(void)
{
	RUN(the_text_has_one_cause_and_numbered_fixes);
	RUN(lines_are_broken_and_belong_to_their_fix);
	RUN(y_copies_the_fix_that_is_chosen);
	RUN(it_is_left_by_q_and_escape);
	RUN(every_line_is_reached_on_small_screens);
	RUN(nothing_helps);
	return test_done();
}

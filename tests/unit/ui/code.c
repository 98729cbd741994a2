/* SPDX-License-Identifier: MIT */
/* A function's code: messages while there is none, then its instructions, from hot spot to hot spot. */
#include "interface.h"

enum { NR_ROWS = 40 };

/* Two instructions a line; the last one jumps to the third, which has a name that is hostile. */
static struct listing_row rows[NR_ROWS];
static struct listing_file files[] = {{.path = 1, .directory = 0}};
static struct listing listing;
static char strings[] =
	"\0/src/work.c\0mov    eax, 1\0jne    0x1008\0call   0x2000\0put\x1b[31m_it";
static struct annotation annotation;

static uint32_t string_at(const char *text)
{
	return (uint32_t)((const char *)memmem(strings, sizeof(strings), text, strlen(text)) -
			  strings);
}

static void make_listing(void)
{
	for (uint32_t i = 0; i < NR_ROWS; i++)
		rows[i] = (struct listing_row){.address = 0x1000 + 4 * i,
					       .text = string_at("mov"),
					       .size = 4,
					       .file = 1,
					       .line = 10 + i / 2};
	rows[5].kind = LISTING_CALL;
	rows[5].text = string_at("call");
	rows[5].target_name = string_at("put");
	rows[NR_ROWS - 1].kind = LISTING_JUMP;
	rows[NR_ROWS - 1].text = string_at("jne");
	rows[NR_ROWS - 1].target = 0x1008;
	listing = (struct listing){
		.answer = {.start = 0x1000,
			   .end = 0x1000 + 4 * NR_ROWS,
			   .nr_rows = NR_ROWS,
			   .nr_files = 1},
		.rows = rows,
		.files = files,
		.strings = strings,
	};
	listing.answer.string_bytes = sizeof(strings);
}

static void make_code(void)
{
	struct selection_address at[] = {
		{.start = 0x1000, .address = 0x1010, .samples = 10, .weight = 10},
		{.start = 0x1000, .address = 0x1078, .samples = 60, .weight = 60},
		/* Inside of an instruction: it is that one's. */
		{.start = 0x1000, .address = 0x109e, .samples = 30, .weight = 30},
	};
	const struct selection_code code = {.items = at, .nr = 3};
	make_listing();
	CHECK_EQ(annotation_make(&annotation, &listing, profile.history, &code, 0, 0x1000), 0);
	CHECK_EQ(annotation.samples, 100);
	CHECK_EQ(annotation.outside_samples, 0);
	profile.code.annotation = &annotation;
	ui_code_came(profile.ui);
}

static void begin_code(int lines, int cols)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, lines, cols), 0);
}

static void end_code(void)
{
	end();
	annotation_release(&annotation);
}

static void it_is_awaited_and_comes(void)
{
	begin_code(24, 80);
	press("a");
	compare("code-awaited");
	CHECK(!ui_dirty(profile.ui));
	make_code();
	CHECK(ui_dirty(profile.ui));
	compare("code-80x24");
	end_code();
}

static void from_hot_spot_to_hot_spot(void)
{
	begin_code(24, 80);
	press("7");
	make_code();
	ui_draw(profile.ui);
	press("H");
	compare("code-second-spot");
	/* The second is a jump: Enter follows it. */
	press("<Enter>");
	compare("code-jumped");
	press("<Tab>");
	press("<Tab><Tab>");
	compare("code-third-spot");
	press("7");
	compare("code-left");
	end_code();
}

static void why_there_is_none(void)
{
	begin_code(24, 80);
	profile.code.cause = "'/usr/bin/\x1b[31mprogram' is not here";
	profile.code.remedy = "put the file with build-id 0123 there, or record again";
	press("a");
	compare("code-refused");
	end_code();
}

static void help_is_of_it_and_leads_back(void)
{
	begin_code(24, 80);
	press("a");
	make_code();
	press("?");
	compare("code-help");
	press("i<Esc>");
	compare("code-80x24");
	end_code();
}

static void small(void)
{
	begin_code(10, 30);
	press("a");
	make_code();
	compare("code-30x10");
	end_code();
}

int main(void)
{
	RUN(it_is_awaited_and_comes);
	RUN(from_hot_spot_to_hot_spot);
	RUN(why_there_is_none);
	RUN(help_is_of_it_and_leads_back);
	RUN(small);
	return test_done();
}

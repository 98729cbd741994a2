/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_UI_SCRIPT_H
#define CTOP_TEST_UI_SCRIPT_H

/* Keys in, text out, compared with tests/golden/ui/NAME.txt; SCREENS_UPDATE=1 accepts what is drawn now. */

#include <ctop/ui/ui.h>

#include "test.h"

/* Keys as one writes them: characters, and names in angle brackets. */
static inline enum ui_wish press_keys(struct ui *ui, const char *keys)
{
	static const struct {
		const char *name;
		int key;
	} names[] = {
		{"<Up>", KEY_ARROW_UP},	    {"<Down>", KEY_ARROW_DOWN},
		{"<Left>", KEY_ARROW_LEFT}, {"<Right>", KEY_ARROW_RIGHT},
		{"<Enter>", KEY_RETURN},    {"<Esc>", KEY_ESCAPE},
		{"<Tab>", KEY_TAB},	    {"<End>", KEY_TO_END},
		{"<BS>", KEY_ERASE},	    {"<PgDn>", KEY_PAGE_DOWN},
		{"<Home>", KEY_TO_HOME},    {"<S-Tab>", KEY_SHIFT_TAB},
	};
	enum ui_wish wish = UI_WISH_NONE;
	while (*keys) {
		int key = (unsigned char)*keys;
		size_t size = 1;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncmp(keys, names[i].name, strlen(names[i].name))) {
				key = names[i].key;
				size = strlen(names[i].name);
			}
		wish = ui_key(ui, key);
		ui_draw(ui); /* as the loop does */
		keys += size;
	}
	return wish;
}

static inline char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, 1 << 16);
	if (file && text && !fread(text, 1, (1 << 16) - 1, file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return text;
}

/* The attributes are part of the picture: what is selected shows in them. */
static inline void compare_screen(struct ui *ui, const char *name)
{
	const struct cells *cells;
	do /* what takes long is drawn later */
		cells = ui_draw(ui);
	while (ui_dirty(ui));
	char path[256];
	struct text text = {0};
	cells_text(cells, &text);
	text_add(&text, "\n");
	cells_text_attributes(cells, &text);
	snprintf(path, sizeof(path), "tests/golden/ui/%s.txt", name);
	if (getenv("SCREENS_UPDATE")) {
		FILE *file = fopen(path, "we");
		CHECK(file);
		fputs(text_string(&text), file);
		fclose(file);
	}
	char *wanted = read_file(path);
	bool same = wanted && !strcmp(wanted, text_string(&text));
	if (!same)
		printf("# %s is drawn as\n%s", path, text_string(&text));
	free(wanted);
	text_release(&text);
	CHECK(same);
}

#endif

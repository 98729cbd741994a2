/* SPDX-License-Identifier: MIT */
#include <ctop/ui/theme.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT = -1, RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN };

bool theme_parse(const char *name, enum theme *theme)
{
	static const char *const names[NR_THEMES] = {"auto", "dark", "light", "mono"};
	for (size_t i = 0; i < NR_THEMES; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*theme = (enum theme)i;
		return true;
	}
	return false;
}

enum theme theme_resolve(enum theme theme, bool has_colours)
{
	const char *no_colour = getenv("NO_COLOR");
	if (!has_colours || (theme == THEME_AUTO && no_colour && *no_colour))
		return THEME_MONO;
	return theme;
}

/* No dark blue, which no dark terminal shows, and no yellow on light ones. */
static const struct role_look coloured[NR_ROLES] = {
	[ROLE_TEXT] = {DEFAULT, 0},
	[ROLE_DIM] = {DEFAULT, CELL_FAINT},
	[ROLE_LABEL] = {CYAN, 0},
	[ROLE_TITLE] = {DEFAULT, CELL_BOLD},
	[ROLE_KEY] = {CYAN, CELL_BOLD},
	[ROLE_GOOD] = {GREEN, CELL_BOLD},
	[ROLE_WARN] = {MAGENTA, CELL_BOLD},
	[ROLE_BAD] = {RED, CELL_BOLD},
	[ROLE_HOT] = {RED, CELL_BOLD},
	[ROLE_WARM] = {MAGENTA, 0},
	[ROLE_KERNEL] = {MAGENTA, 0},
	[ROLE_MODULE] = {CYAN, 0},
	[ROLE_MATCH] = {DEFAULT, CELL_UNDERLINE},
};

static const struct role_look mono[NR_ROLES] = {
	[ROLE_TEXT] = {DEFAULT, 0},
	[ROLE_DIM] = {DEFAULT, CELL_FAINT},
	[ROLE_LABEL] = {DEFAULT, 0},
	[ROLE_TITLE] = {DEFAULT, CELL_BOLD},
	[ROLE_KEY] = {DEFAULT, CELL_BOLD},
	[ROLE_GOOD] = {DEFAULT, CELL_BOLD},
	[ROLE_WARN] = {DEFAULT, CELL_BOLD},
	[ROLE_BAD] = {DEFAULT, CELL_BOLD | CELL_REVERSE},
	[ROLE_HOT] = {DEFAULT, CELL_BOLD},
	[ROLE_WARM] = {DEFAULT, 0},
	[ROLE_KERNEL] = {DEFAULT, 0},
	[ROLE_MODULE] = {DEFAULT, 0},
	[ROLE_MATCH] = {DEFAULT, CELL_UNDERLINE},
};

struct role_look theme_look(enum theme theme, enum role role)
{
	if (theme == THEME_MONO)
		return mono[role];
	struct role_look look = coloured[role];
	/* Where the background is known to be dark, the usual colour of warnings can be had. */
	if (theme == THEME_DARK && (role == ROLE_WARN || role == ROLE_WARM))
		look.colour = YELLOW;
	if (theme == THEME_LIGHT && (role == ROLE_LABEL || role == ROLE_KEY || role == ROLE_MODULE))
		look.colour = BLUE;
	return look;
}

const struct glyphs *theme_glyphs(bool ascii)
{
	static const struct glyphs unicode = {
		.open = "▾",
		.closed = "▸",
		.leaf = " ",
		.selected = ">",
		.vertical = "│",
		.dots = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
		.block = "█",
		.descending = "▾",
		.ascending = "▴",
	};
	static const struct glyphs plain = {
		.open = "v",
		.closed = ">",
		.leaf = " ",
		.selected = ">",
		.vertical = "|",
		.dots = {"_", "_", ".", "-", "-", "=", "=", "#"},
		.block = "#",
		.descending = "v",
		.ascending = "^",
	};
	return ascii ? &plain : &unicode;
}

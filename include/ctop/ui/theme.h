/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_THEME_H
#define CTOP_UI_THEME_H

/*
 * How roles look, and which glyphs the views use. The background is always the
 * terminal's own; no meaning hangs on colour alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ui/cells.h>

enum theme {
	THEME_AUTO, /* mono without colours or with NO_COLOR; else colours that do on dark and light */
	THEME_DARK,
	THEME_LIGHT,
	THEME_MONO,
	NR_THEMES
};

struct role_look {
	int8_t colour;	    /* 0 to 7 as ANSI counts them; -1: the terminal's own */
	uint8_t attributes; /* enum cell_attribute */
};

/* "auto", "dark", "light", "mono"; false: none of them. */
bool theme_parse(const char *name, enum theme *theme);
/* What the theme is once environment and terminal are known. */
enum theme theme_resolve(enum theme theme, bool has_colours);
struct role_look theme_look(enum theme theme, enum role role);

struct glyphs {
	const char *open, *closed, *leaf; /* of a tree */
	const char *selected;		  /* beside the selected row */
	const char *vertical;
	const char *dots[8]; /* rising levels of a sparkline */
	const char *block;   /* of a bar */
	const char *descending;
	const char *ascending;
};
const struct glyphs *theme_glyphs(bool ascii);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TERMINAL_THEME_H
#define CTOP_TERMINAL_THEME_H

/*
 * How roles look, and which glyphs the views use. One colour has one meaning: heat and growth are red, what shrank is blue, the kernel violet, modules
 * teal, a warning amber. The background is the terminal's own but for bars and boxes; no meaning hangs on colour alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/theme.h>
#include <ctop/terminal/cells.h>

struct role_look {
	int16_t colour, background; /* as ANSI and xterm count them; -1: the terminal's own */
	uint8_t attributes;	    /* enum cell_attribute */
};

/* What the theme is once environment (NO_COLOR, COLORFGBG) and terminal are known. */
enum theme theme_resolve(enum theme theme, bool has_colours);
/* nr_colours: 256, or as few as 8. */
struct role_look theme_look(enum theme theme, int nr_colours, enum role role);

struct glyphs {
	const char *open, *closed, *leaf; /* of a tree */
	const char *selected;		  /* beside the selected row */
	const char *vertical;
	const char *edge;    /* of a box, its left one */
	const char *dots[8]; /* rising levels of a sparkline */
	const char *block;   /* of a bar */
	const char *descending;
	const char *ascending;
};
const struct glyphs *theme_glyphs(bool ascii);

#endif

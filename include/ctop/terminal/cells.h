/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TERMINAL_CELLS_H
#define CTOP_TERMINAL_CELLS_H

/*
 * A screen as a plain grid of cells, into which every view draws. It knows no terminal:
 * what a cell's role looks like is the theme's business, how it gets to a screen the
 * terminal's. Tests read it as text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>

/* What a piece of the screen means. */
enum role {
	ROLE_TEXT,
	ROLE_DIM,   /* of little weight: rows of few samples, rulers */
	ROLE_LABEL, /* names of values */
	ROLE_TITLE, /* column titles, tabs */
	ROLE_KEY,   /* a key in the function bar or the help */
	ROLE_GOOD,
	ROLE_WARN, /* always with a glyph or a word beside it */
	ROLE_BAD,
	ROLE_HOT,  /* a large share: heat is red, and nothing else is but what has grown */
	ROLE_WARM, /* a middling one */
	ROLE_KERNEL,
	ROLE_MODULE,
	ROLE_MATCH, /* found text */
	ROLE_MORE,  /* than in the profile that this one is compared with, beyond noise */
	ROLE_LESS,
	ROLE_BAR, /* the selected row, whatever stands in it */
	ROLE_CHOSEN_BOX,
	/* Filled boxes of a flame graph: two shades of each tone, for levels above each other. */
	ROLE_BOX,
	ROLE_BOX_LAST = ROLE_BOX + 23,
	NR_ROLES
};

enum box_tone {
	TONE_KERNEL,
	TONE_LABEL,
	TONE_MODULE, /* and those up to the next one */
	TONE_MORE = 8,
	TONE_MUCH_MORE,
	TONE_LESS,
	TONE_MUCH_LESS,
	NR_BOX_TONES
};

enum cell_attribute {
	CELL_BOLD = 1,
	CELL_REVERSE = 2,
	CELL_UNDERLINE = 4,
	CELL_FAINT = 8,
	CELL_SELECTED = 16, /* one bar: ROLE_BAR instead of the role */
};

enum { CELL_BYTES = 14 };

struct cell {
	char text
		[CELL_BYTES]; /* one character and what combines with it; "": the second half of a wide one */
	uint8_t role;
	uint8_t attributes;
};

struct cells {
	struct cell *items;
	int rows, cols;
	bool ascii; /* other characters become '?', an ellipsis '~', a middle dot '|' */
};

/* A part of the grid; what is drawn into it stays in it. */
struct area {
	int row, col, rows, cols;
};

/* 0 or -ENOMEM, then the grid is as before. All cells are blank afterwards. */
int cells_resize(struct cells *cells, int rows, int cols);
void cells_release(struct cells *cells);
void cells_clear(struct cells *cells);
struct area cells_area(const struct cells *cells); /* all of it */

/*
 * Writes text that is safe to show (text_add_safe() was its way in), cut at `room` columns and at the grid's
 * edges. Returns the columns taken.
 */
int cells_put(struct cells *cells, int row, int col, int room, enum role role, const char *text);
/* The same; what does not fit ends in an ellipsis. */
int cells_put_cut(struct cells *cells, int row, int col, int room, enum role role,
		  const char *text);
/* The same over several lines, broken between words and at line ends, as many as the area has. Returns how many. */
int cells_put_wrapped(struct cells *cells, struct area area, enum role role, const char *text);
int cells_putf(struct cells *cells, int row, int col, int room, enum role role, const char *format,
	       ...) __attribute__((format(printf, 6, 7)));
/* Adds attributes to what is there. */
void cells_mark(struct cells *cells, struct area area, unsigned attributes);
/* Copies another grid onto this one, its corner at (row, col). */
void cells_copy(struct cells *cells, int row, int col, const struct cells *from);
/* Blanks an area. */
void cells_blank(struct cells *cells, struct area area);

/* The grid as lines of text, without blanks at their ends. */
void cells_text(const struct cells *cells, struct text *out);
/* The grid's attributes, a letter a cell: '.' none, 'b' bold, 'r' reverse, 'R' both, 'u' underline; of boxes one for tone and shade, 'c' of the chosen. */
void cells_text_attributes(const struct cells *cells, struct text *out);

#endif

/* SPDX-License-Identifier: MIT */
#include <ctop/terminal/cells.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cell blank = {.text = " "};

static struct cell *cell_at(const struct cells *cells, int row, int col)
{
	return &cells->items[(size_t)row * (size_t)cells->cols + (size_t)col];
}

int cells_resize(struct cells *cells, int rows, int cols)
{
	struct cell *items = calloc((size_t)rows * (size_t)cols + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	free(cells->items);
	cells->items = items;
	cells->rows = rows;
	cells->cols = cols;
	cells_clear(cells);
	return 0;
}

void cells_release(struct cells *cells)
{
	free(cells->items);
	*cells = (struct cells){0};
}

struct area cells_area(const struct cells *cells)
{
	return (struct area){0, 0, cells->rows, cells->cols};
}

void cells_clear(struct cells *cells)
{
	cells_blank(cells, cells_area(cells));
}

/* The area's part that is on the grid. */
static struct area clip(const struct cells *cells, struct area area)
{
	int row_end = area.row + area.rows, col_end = area.col + area.cols;
	area.row = area.row < 0 ? 0 : area.row;
	area.col = area.col < 0 ? 0 : area.col;
	row_end = row_end > cells->rows ? cells->rows : row_end;
	col_end = col_end > cells->cols ? cells->cols : col_end;
	area.rows = row_end > area.row ? row_end - area.row : 0;
	area.cols = col_end > area.col ? col_end - area.col : 0;
	return area;
}

void cells_blank(struct cells *cells, struct area area)
{
	area = clip(cells, area);
	for (int row = area.row; row < area.row + area.rows; row++)
		for (int col = area.col; col < area.col + area.cols; col++)
			*cell_at(cells, row, col) = blank;
}

void cells_copy(struct cells *cells, int row, int col, const struct cells *from)
{
	struct area area = clip(cells, (struct area){row, col, from->rows, from->cols});
	for (int i = 0; i < area.rows; i++)
		memcpy(cell_at(cells, area.row + i, area.col),
		       cell_at(from, area.row + i - row, area.col - col),
		       (size_t)area.cols * sizeof(*cells->items));
}

/* How much of the text goes on one line. */
static size_t line_size(const char *text, int room)
{
	size_t fits = text_fit(text, (size_t)room), end = strcspn(text, "\n");
	if (end <= fits)
		return end;
	if (!text[fits])
		return fits;
	for (size_t at = fits; at > 0; at--)
		if (text[at] == ' ')
			return at;
	return fits;
}

int cells_put_wrapped(struct cells *cells, struct area area, enum role role, const char *text)
{
	int row = 0;
	for (; *text && row < area.rows && area.cols > 0; row++) {
		size_t size = line_size(text, area.cols);
		struct text line = {0};
		text_add_bytes(&line, text, size);
		cells_put(cells, area.row + row, area.col, area.cols, role, text_string(&line));
		text_release(&line);
		if (!size && *text != '\n')
			break; /* not even one character has room */
		text += size;
		text += *text == ' ' || *text == '\n';
	}
	return row;
}

void cells_mark(struct cells *cells, struct area area, unsigned attributes)
{
	area = clip(cells, area);
	for (int row = area.row; row < area.row + area.rows; row++)
		for (int col = area.col; col < area.col + area.cols; col++)
			cell_at(cells, row, col)->attributes |= (uint8_t)attributes;
}

/* Half of a wide character that is overwritten leaves a blank in its other half. */
static void part_halves(struct cells *cells, int row, int col)
{
	struct cell *cell = cell_at(cells, row, col);
	if (!cell->text[0] && col > 0)
		memcpy(cell_at(cells, row, col - 1)->text, blank.text, sizeof(blank.text));
	if (col + 1 < cells->cols && !cell[1].text[0])
		memcpy(cell[1].text, blank.text, sizeof(blank.text));
}

/* At most as many bytes as a cell holds, cut between characters. */
static size_t cell_bytes(const char *text, size_t size)
{
	if (size < CELL_BYTES)
		return size;
	size = CELL_BYTES - 1;
	while (size > 1 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

static void set_cell(struct cells *cells, int row, int col, enum role role, const char *text,
		     size_t size)
{
	part_halves(cells, row, col);
	struct cell *cell = cell_at(cells, row, col);
	*cell = (struct cell){.role = (uint8_t)role};
	memcpy(cell->text, text, cell_bytes(text, size));
}

/* The next character with what combines with it: its bytes, 0 at the end; *wide: it takes two columns. */
static size_t next_cluster(const char *text, bool *wide)
{
	size_t size = text_fit(text, 1);
	*wide = !size && *text;
	return *wide ? text_fit(text, 2) : size;
}

/* What ASCII has for another character: of an ellipsis a mark of its own. */
static const char *plain_form(const char *character)
{
	return strncmp(character, "…", sizeof("…") - 1) == 0   ? "~"
	       : strncmp(character, "·", sizeof("·") - 1) == 0 ? "|"
							       : "?";
}

int cells_put(struct cells *cells, int row, int col, int room, enum role role, const char *text)
{
	if (row < 0 || row >= cells->rows || col < 0)
		return 0;
	int end = room < cells->cols - col ? col + room : cells->cols;
	int at = col;
	bool wide;
	for (size_t size; at < end && (size = next_cluster(text, &wide)); text += size) {
		bool foreign = cells->ascii && (text[0] & 0x80);
		if (wide && at + 1 >= end)
			break;
		for (int half = 0; foreign && half <= wide; half++)
			set_cell(cells, row, at + half, role, plain_form(text), 1);
		if (!foreign) {
			/* In ASCII without what combines with it. */
			set_cell(cells, row, at, role, text, cells->ascii ? 1 : size);
			if (wide)
				set_cell(cells, row, at + 1, role, "", 0);
		}
		at += 1 + wide;
	}
	return at - col;
}

int cells_put_cut(struct cells *cells, int row, int col, int room, enum role role, const char *text)
{
	if (room > cells->cols - col)
		room = cells->cols - col;
	if (room <= 0)
		return 0;
	if (text_cols(text) <= (size_t)room)
		return cells_put(cells, row, col, room, role, text);
	int taken = cells_put(cells, row, col, room - 1, role, text);
	return taken + cells_put(cells, row, col + taken, 1, ROLE_DIM, "…");
}

int cells_putf(struct cells *cells, int row, int col, int room, enum role role, const char *format,
	       ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return cells_put(cells, row, col, room, role, text);
}

void cells_text(const struct cells *cells, struct text *out)
{
	for (int row = 0; row < cells->rows; row++) {
		int last = cells->cols;
		while (last > 0 && !strcmp(cell_at(cells, row, last - 1)->text, blank.text))
			last--;
		for (int col = 0; col < last; col++)
			text_add(out, cell_at(cells, row, col)->text);
		text_add(out, "\n");
	}
}

static const char *letter_of(const struct cell *cell)
{
	static const char letters[] = {'.', 'b', 'r', 'R', 'u', 'u', 'u', 'u'};
	static const char tones[] = "kKlLmMnNoOpPqQsSgGhHtTwW";
	unsigned attributes = cell->attributes;
	if (attributes & CELL_SELECTED)
		attributes |= CELL_REVERSE;
	if (cell->role == ROLE_CHOSEN_BOX)
		return "c";
	if (cell->role >= ROLE_BOX && cell->role <= ROLE_BOX_LAST)
		return &tones[cell->role - ROLE_BOX];
	return &letters[attributes & 7];
}

void cells_text_attributes(const struct cells *cells, struct text *out)
{
	for (int row = 0; row < cells->rows; row++) {
		for (int col = 0; col < cells->cols; col++)
			text_add_bytes(out, letter_of(cell_at(cells, row, col)), 1);
		text_add(out, "\n");
	}
}

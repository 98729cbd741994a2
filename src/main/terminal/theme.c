/* SPDX-License-Identifier: MIT */
#include <ctop/terminal/theme.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT = -1, BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE };

/* "15;0": foreground and background, as rxvt, Konsole and others set it. */
static enum theme theme_by_background(void)
{
	const char *colours = getenv("COLORFGBG");
	const char *background = colours ? strrchr(colours, ';') : NULL;
	if (!background || !background[1])
		return THEME_AUTO;
	int colour = atoi(background + 1);
	return colour == WHITE || colour == 15 ? THEME_LIGHT : THEME_DARK;
}

enum theme theme_resolve(enum theme theme, bool has_colours)
{
	const char *no_colour = getenv("NO_COLOR");
	if (!has_colours || (theme == THEME_AUTO && no_colour && *no_colour))
		return THEME_MONO;
	return theme == THEME_AUTO ? theme_by_background() : theme;
}

/* ---- without colours ---- */

static const struct role_look mono[NR_ROLES] = {
	[ROLE_TEXT] = {DEFAULT, DEFAULT, 0},
	[ROLE_DIM] = {DEFAULT, DEFAULT, CELL_FAINT},
	[ROLE_LABEL] = {DEFAULT, DEFAULT, 0},
	[ROLE_TITLE] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_KEY] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_GOOD] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_WARN] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_BAD] = {DEFAULT, DEFAULT, CELL_BOLD | CELL_REVERSE},
	[ROLE_HOT] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_WARM] = {DEFAULT, DEFAULT, 0},
	[ROLE_KERNEL] = {DEFAULT, DEFAULT, 0},
	[ROLE_MODULE] = {DEFAULT, DEFAULT, 0},
	[ROLE_MATCH] = {DEFAULT, DEFAULT, CELL_UNDERLINE},
	[ROLE_MORE] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_LESS] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_BAR] = {DEFAULT, DEFAULT, CELL_REVERSE},
	[ROLE_CHOSEN_BOX] = {DEFAULT, DEFAULT, CELL_BOLD | CELL_UNDERLINE},
};

static struct role_look mono_look(enum role role)
{
	const struct role_look shades[] = {{DEFAULT, DEFAULT, CELL_REVERSE}, {DEFAULT, DEFAULT, 0}};
	return role >= ROLE_BOX ? shades[(role - ROLE_BOX) % 2] : mono[role];
}

/* ---- with 256 colours: for unknown backgrounds tones that are neither dark nor light ---- */

enum { OF_AUTO, OF_DARK, OF_LIGHT, NR_GROUNDS };

static const struct {
	int16_t colours[NR_GROUNDS];
	uint8_t attributes;
} inks[ROLE_BAR] = {
	[ROLE_TEXT] = {{DEFAULT, DEFAULT, DEFAULT}, 0},
	[ROLE_DIM] = {{244, 244, 243}, 0},
	[ROLE_LABEL] = {{31, 74, 25}, 0},
	[ROLE_TITLE] = {{DEFAULT, DEFAULT, DEFAULT}, CELL_BOLD},
	[ROLE_KEY] = {{31, 74, 25}, CELL_BOLD},
	[ROLE_GOOD] = {{64, 114, 28}, CELL_BOLD},
	[ROLE_WARN] = {{172, 214, 130}, CELL_BOLD},
	[ROLE_BAD] = {{231, 231, 231}, CELL_BOLD},
	[ROLE_HOT] = {{167, 203, 160}, CELL_BOLD},
	[ROLE_WARM] = {{131, 174, 131}, 0},
	[ROLE_KERNEL] = {{98, 141, 91}, 0},
	[ROLE_MODULE] = {{30, 73, 30}, 0},
	[ROLE_MATCH] = {{DEFAULT, DEFAULT, DEFAULT}, CELL_UNDERLINE},
	[ROLE_MORE] = {{167, 203, 160}, CELL_BOLD},
	[ROLE_LESS] = {{69, 75, 26}, CELL_BOLD},
};

static const struct role_look bars[NR_GROUNDS] = {{231, 25, 0}, {231, 24, 0}, {16, 153, 0}};
static const struct role_look chosen_boxes[NR_GROUNDS] = {
	{16, 255, CELL_BOLD}, {16, 255, CELL_BOLD}, {255, 16, CELL_BOLD}};

/* Two shades of each tone: the kernel, labels, then modules; more, much more, less, much less. */
static const int16_t dark_boxes[2 * NR_BOX_TONES] = {60, 96,  238, 240, 24, 25, 65, 66,
						     94, 101, 95,  131, 23, 30, 58, 64,
						     95, 131, 124, 160, 61, 67, 25, 26};
static const int16_t light_boxes[2 * NR_BOX_TONES] = {189, 183, 254, 252, 153, 110, 151, 150,
						      223, 187, 217, 181, 152, 116, 230, 186,
						      224, 217, 210, 203, 189, 153, 75,	 69};

static struct role_look rich_look(enum theme theme, enum role role)
{
	const int ground = theme == THEME_DARK	  ? OF_DARK
			   : theme == THEME_LIGHT ? OF_LIGHT
						  : OF_AUTO;
	if (role == ROLE_BAR)
		return bars[ground];
	if (role == ROLE_CHOSEN_BOX)
		return chosen_boxes[ground];
	if (role >= ROLE_BOX && ground == OF_LIGHT)
		return (struct role_look){16, light_boxes[role - ROLE_BOX], 0};
	if (role >= ROLE_BOX)
		return (struct role_look){255, dark_boxes[role - ROLE_BOX], 0};
	return (struct role_look){inks[role].colours[ground], role == ROLE_BAD ? 160 : DEFAULT,
				  inks[role].attributes};
}

/* ---- with 8: no dark blue, which no dark terminal shows, and no yellow letters on light ones ---- */

static const struct role_look few[ROLE_BOX] = {
	[ROLE_TEXT] = {DEFAULT, DEFAULT, 0},
	[ROLE_DIM] = {DEFAULT, DEFAULT, CELL_FAINT},
	[ROLE_LABEL] = {CYAN, DEFAULT, 0},
	[ROLE_TITLE] = {DEFAULT, DEFAULT, CELL_BOLD},
	[ROLE_KEY] = {CYAN, DEFAULT, CELL_BOLD},
	[ROLE_GOOD] = {GREEN, DEFAULT, CELL_BOLD},
	[ROLE_WARN] = {BLACK, YELLOW, 0},
	[ROLE_BAD] = {WHITE, RED, CELL_BOLD},
	[ROLE_HOT] = {RED, DEFAULT, CELL_BOLD},
	[ROLE_WARM] = {RED, DEFAULT, 0},
	[ROLE_KERNEL] = {MAGENTA, DEFAULT, 0},
	[ROLE_MODULE] = {CYAN, DEFAULT, 0},
	[ROLE_MATCH] = {DEFAULT, DEFAULT, CELL_UNDERLINE},
	[ROLE_MORE] = {RED, DEFAULT, CELL_BOLD},
	[ROLE_LESS] = {GREEN, DEFAULT, CELL_BOLD},
	[ROLE_BAR] = {BLACK, CYAN, 0},
	[ROLE_CHOSEN_BOX] = {WHITE, BLUE, CELL_BOLD},
};

static struct role_look plain_look(enum theme theme, enum role role)
{
	static const int16_t tones[NR_BOX_TONES] = {MAGENTA, WHITE, CYAN, GREEN, YELLOW, WHITE,
						    CYAN,    GREEN, RED,  RED,	 CYAN,	 CYAN};
	if (role >= ROLE_BOX)
		return (struct role_look){BLACK, tones[(role - ROLE_BOX) / 2], 0};
	struct role_look look = few[role];
	if (theme == THEME_DARK && role == ROLE_WARN)
		look = (struct role_look){YELLOW, DEFAULT, CELL_BOLD};
	if (theme == THEME_LIGHT && look.colour == CYAN)
		look.colour = BLUE;
	return look;
}

struct role_look theme_look(enum theme theme, int nr_colours, enum role role)
{
	if (theme == THEME_MONO)
		return mono_look(role);
	return nr_colours >= 256 ? rich_look(theme, role) : plain_look(theme, role);
}

const struct glyphs *theme_glyphs(bool ascii)
{
	static const struct glyphs unicode = {
		.open = "▾",
		.closed = "▸",
		.leaf = " ",
		.selected = ">",
		.vertical = "│",
		.edge = "▏",
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
		.edge = "|",
		.dots = {"_", "_", ".", "-", "-", "=", "=", "#"},
		.block = "#",
		.descending = "v",
		.ascending = "^",
	};
	return ascii ? &plain : &unicode;
}

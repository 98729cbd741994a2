/* SPDX-License-Identifier: MIT */
/* Why the kernel lets nobody sample, and what would change that, as lines of text. */
#include <ctop/output/refusal_text.h>

enum { FIX_INDENT = 4 };

struct lines {
	struct text *out;
	size_t cols;
	uint8_t *fix_of;
	size_t nr_lines, at;
	uint8_t fix;
};

static void end_line(struct lines *lines)
{
	text_add(lines->out, "\n");
	if (lines->at < lines->nr_lines)
		lines->fix_of[lines->at] = lines->fix;
	lines->at++;
}

/* Where to break: behind the last blank that fits, or, in a long word, where the line is full. */
static size_t break_at(const char *string, size_t room)
{
	size_t fits = text_fit(string, room), at = fits;
	if (!string[fits])
		return fits;
	while (at && string[at] != ' ')
		at--;
	return at ? at : fits ? fits : 1;
}

/* One paragraph: its first line behind `first`, the others behind blanks. */
static void add_paragraph(struct lines *lines, const char *first, size_t indent, const char *string)
{
	struct text safe = {0};
	text_add_safe(&safe, string);
	const char *at = text_string(&safe);
	size_t taken = text_cols(first);
	text_add(lines->out, first);
	for (bool more = true; more;) {
		size_t room = lines->cols > taken + 1 ? lines->cols - taken : 1;
		size_t size = lines->cols ? break_at(at, room) : safe.size;
		text_add_bytes(lines->out, at, size);
		end_line(lines);
		at += size;
		taken = indent;
		more = lines->cols && *at;
		while (more && *at == ' ')
			at++;
		if (more)
			text_addf(lines->out, "%*s", (int)indent, "");
	}
	lines->out->failed |= safe.failed;
	text_release(&safe);
}

const char *refusal_fix_text(const struct refusal_fix *fix)
{
	return fix->command[0] ? fix->command : fix->reach;
}

/* A command stands on lines of its own: what it changes comes below, where it can be read beside. */
static void add_fix(struct lines *lines, const struct refusal_fix *fix)
{
	char number[8] = {' ', (char)('0' + lines->fix), ' ', ' ', '\0'};
	add_paragraph(lines, number, FIX_INDENT, refusal_fix_text(fix));
	if (!fix->command[0] || !fix->reach[0])
		return;
	add_paragraph(lines, "      ", FIX_INDENT + 2, fix->reach);
}

void refusal_add(const struct refusal *refusal, size_t cols, struct text *out, uint8_t *fix_of,
		 size_t nr_lines)
{
	struct lines lines = {.out = out, .cols = cols, .fix_of = fix_of, .nr_lines = nr_lines};
	add_paragraph(&lines, "", 0, refusal->title);
	if (refusal->tried[0])
		add_paragraph(&lines, "", 0, refusal->tried);
	add_paragraph(&lines, "Cause: ", FIX_INDENT, refusal->cause);
	if (refusal->nr_fixes)
		add_paragraph(&lines, "", 0,
			      refusal->nr_fixes > 1 ? "Fix, the smallest first:" : "Fix:");
	for (size_t i = 0; i < refusal->nr_fixes; i++) {
		lines.fix = (uint8_t)(i + 1);
		add_fix(&lines, &refusal->fixes[i]);
	}
	lines.fix = 0;
	if (refusal->others[0])
		add_paragraph(&lines, "Not the cause: ", FIX_INDENT, refusal->others);
}

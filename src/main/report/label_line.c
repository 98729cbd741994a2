/* SPDX-License-Identifier: MIT */
#include <ctop/report/label_line.h>

#include <string.h>

enum { LABEL_COLS = 11, NARROWEST_COLS = 40 };

static void add_wrapped(struct text *out, const char *value, size_t cols)
{
	while (text_cols(value) > cols) {
		size_t fits = text_fit(value, cols);
		size_t at = fits;
		while (at > 0 && value[at] != ' ')
			at--;
		if (at == 0) {
			const char *blank = strchr(value + fits, ' ');
			if (!blank)
				break;
			at = (size_t)(blank - value);
		}
		text_add_bytes(out, value, at);
		text_addf(out, "\n%*s", LABEL_COLS, "");
		value += at + 1;
	}
	text_add(out, value);
}

void label_line_add(struct text *out, const char *label, const char *value, uint32_t columns)
{
	text_addf(out, "%-*s", LABEL_COLS, label);
	if (columns >= NARROWEST_COLS)
		add_wrapped(out, value, columns - LABEL_COLS);
	else
		text_add(out, value);
	text_add(out, "\n");
}

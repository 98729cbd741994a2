/* SPDX-License-Identifier: MIT */
/* How inlined functions came to an instruction, as text. */
#include <string.h>

#include <ctop/annotate/annotation.h>
#include <ctop/base/function_name.h>

enum { FUNCTION_COLS = 40, FILE_COLS = 24 };

static void add_function(const struct history *history, const struct history_inlined *inlined,
			 struct text *out)
{
	const char *slash = strrchr(inlined->file, '/');
	struct text file = {0};
	name_add_fit(out, history_function_name(history, inlined->function), NAME_NO_ARGUMENTS,
		     FUNCTION_COLS);
	if (!inlined->line)
		return;
	text_add_safe(&file, slash && slash[1] ? slash + 1 : inlined->file);
	text_add(out, " ");
	name_add_elided(out, text_string(&file), FILE_COLS);
	text_addf(out, ":%u", inlined->line);
	out->failed |= file.failed;
	text_release(&file);
}

void annotation_add_chain(const struct annotation *annotation, const struct history *history,
			  uint32_t row, size_t most, struct text *out)
{
	struct history_inlined chain[HISTORY_INLINED_MAX];
	const size_t nr = history_inlined_at(history, annotation->rows[row].site, chain);
	const size_t first = nr > most ? most / 2 : nr, last = nr > most ? nr - (most - first) : nr;
	for (size_t i = 0; i < nr; i = i + 1 == first && last > first ? last : i + 1) {
		if (i && i == last && last > first)
			text_addf(out, " > ... %zu more", last - first);
		text_add(out, i ? " > " : "");
		add_function(history, &chain[i], out);
	}
}

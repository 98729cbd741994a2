/* SPDX-License-Identifier: MIT */
#include "interact_export.h"

#include <stdio.h>
#include <unistd.h>

#include <ctop/format/folded.h>

#include "numbers.h"
#include "save.h"

enum { FILES_MOST = 1000 };

void interact_suggest_name(char *name, size_t size)
{
	snprintf(name, size, "ctop.folded");
	for (int i = 1; i < FILES_MOST && access(name, F_OK) == 0; i++)
		snprintf(name, size, "ctop-%d.folded", i);
}

void interact_export(struct history *history, struct slice *slice, const char *path,
		     struct text *message)
{
	struct text text = {0};
	struct error error = {0};
	if (access(path, F_OK) == 0) {
		text_add(message, "not written: ");
		text_add_safe(message, path);
		text_add(message, " is there already; x asks for another name");
		return;
	}
	int result = folded_write_slice(history, slice, &text);
	if (result)
		text_add(message, "not written: out of memory");
	else if (save_text(path, "-o", &text, &error)) {
		text_add(message, "not written: ");
		text_add_safe(message, error.cause);
	} else {
		text_add(message, "written: ");
		text_add_safe(message, path);
		text_add(message, ", folded stacks of ");
		add_grouped(message, slice_totals(slice).samples);
		text_add(message, " samples");
	}
	text_release(&text);
}

/* SPDX-License-Identifier: MIT */
#include "interact_export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/format/folded.h>

#include "numbers.h"
#include "save.h"

enum { FILES_MOST = 1000 };

/* A name that no file has yet. */
static bool find_name(char *name, size_t size)
{
	for (int i = 0; i < FILES_MOST; i++) {
		if (i)
			snprintf(name, size, "ctop-%d.folded", i);
		else
			snprintf(name, size, "ctop.folded");
		if (access(name, F_OK) < 0 && errno == ENOENT)
			return true;
	}
	return false;
}

void interact_export(struct history *history, struct text *message)
{
	struct text text = {0};
	struct error error = {0};
	char name[32];
	if (!find_name(name, sizeof(name))) {
		text_add(message, "not exported: no name is free here");
		return;
	}
	int result = folded_write(history, &text);
	if (result)
		text_add(message, "not exported: out of memory");
	else if (save_text(name, "-o", &text, &error)) {
		text_add(message, "not exported: ");
		text_add_safe(message, error.cause);
	} else {
		text_addf(message, "written: %s, folded stacks of ", name);
		add_grouped(message, history_totals(history).samples);
		text_add(message, " samples, all since the start");
	}
	text_release(&text);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/app/commands.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/format/folded.h>

#include "load.h"
#include "save.h"

/* Formats by the names that options_table.c lists. */
static int write_format(const char *format, struct history *history, struct text *text)
{
	if (!strcmp(format, "folded"))
		return folded_write(history, text);
	return -EINVAL;
}

int command_export(const struct options *options, struct error *error)
{
	struct load load;
	struct text text = {0};
	int result = load_open(&load, options, error);
	if (!result) {
		result = write_format(options->format, load.history, &text);
		if (result)
			error_set(error, result, "cannot export to %s: %s", options->format,
				  strerror(-result));
	}
	if (!result)
		result = save_text(options->output, "-o", &text, error);
	if (!result)
		result = load_write_stats(&load, options, text.size, error);
	text_release(&text);
	load_release(&load);
	return result;
}

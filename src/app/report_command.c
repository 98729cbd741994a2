/* SPDX-License-Identifier: MIT */
#include <ctop/app/commands.h>

#include <errno.h>

#include <ctop/app/report.h>
#include <ctop/base/text.h>

#include "load.h"
#include "save.h"

int command_report(const struct options *options, struct error *error)
{
	struct load load;
	struct text text = {0};
	int result = load_open(&load, options, LOAD_COUNTS, error);
	if (!result)
		load_tell_damage(&load, options);
	if (!result)
		load_tell_event(&load, options);
	if (!result && report_text(load.history, options, &text))
		result = error_set(error, -ENOMEM, "out of memory");
	if (!result)
		result = save_text(NULL, NULL, &text, error);
	if (!result)
		result = load_write_stats(&load, options, text.size, error);
	text_release(&text);
	load_release(&load);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/app/commands.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <ctop/app/report.h>
#include <ctop/base/text.h>

#include "interact.h"
#include "load.h"
#include "save.h"

static int print(struct load *load, const struct options *options, struct error *error)
{
	struct text text = {0};
	load_tell_damage(load, options);
	load_tell_event(load, options);
	int result = report_text(load->history, options, &text);
	if (result)
		error_set(error, result, "out of memory");
	else
		result = save_text(NULL, NULL, &text, error);
	if (!result)
		result = load_write_stats(load, options, text.size, error);
	text_release(&text);
	return result;
}

static int show(struct load *load, const struct options *options, struct error *error)
{
	const struct interact_source source = {.history = load->history};
	int signal_fd;
	int result = interact_block_signals(&signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	result = interact_run(&source, options, signal_fd, error);
	close(signal_fd);
	return result ? result : load_write_stats(load, options, 0, error);
}

int command_report(const struct options *options, struct error *error)
{
	struct load load;
	bool interactive = interact_wanted(options);
	int result = load_open(&load, options, interactive ? LOAD_SECONDS : LOAD_COUNTS, error);
	if (!result)
		result = (interactive ? show : print)(&load, options, error);
	load_release(&load);
	return result;
}

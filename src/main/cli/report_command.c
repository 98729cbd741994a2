/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>
#include <ctop/interactive/interact.h>
#include <ctop/output/save.h>
#include <ctop/report/annotate.h>
#include <ctop/report/load.h>
#include <ctop/report/report.h>

/* How long a file is read before the interface shows that it is. */
#define MOMENT_NS (200 * NS_PER_MS)
enum { MOMENT_STEP_MS = 50 };

static int print(struct load *load, const struct options *options, struct error *error)
{
	struct text text = {0};
	load_tell_damage(load);
	load_tell_event(load);
	int result = options->annotate ? report_annotate(load->history, options, &text, error)
				       : report_text(load->history, options, 0, &text);
	if (result && !options->annotate)
		error_set(error, result, "out of memory");
	if (!result)
		result = save_text(NULL, NULL, &text, -1, error);
	if (!result)
		result = load_write_stats(load, options, text.size, error);
	text_release(&text);
	return result;
}

/* Most files are read before anybody could see that; so nobody does. */
static int load_for_a_moment(struct load *load, bool *done, struct error *error)
{
	uint64_t until_ns = clock_now_ns() + MOMENT_NS;
	int result = 0;
	*done = false;
	while (!result && !*done && clock_now_ns() < until_ns)
		result = load_step(load, MOMENT_STEP_MS, done, error);
	return result;
}

static int show(struct load *load, const struct options *options, struct error *error)
{
	int signal_fd;
	bool done;
	int result = interact_block_signals(&signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	result = load_for_a_moment(load, &done, error);
	struct interact *interact = result ? NULL : interact_open(options, signal_fd, error);
	const struct interact_source source = {
		.history = load->history, .load = load, .loading = done ? NULL : load};
	if (!result)
		result = interact ? interact_run(interact, &source, error) : -ENOTTY;
	interact_close(interact);
	close(signal_fd);
	return result ? result : load_write_stats(load, options, 0, error);
}

int command_report(const struct options *options, struct error *error)
{
	struct load load;
	bool interactive = !options->annotate && interact_wanted(options);
	const enum load_mode mode =
		report_has_columns(options) && !options->event ? LOAD_COLUMNS : LOAD_COUNTS;
	int result = interactive ? load_begin(&load, options, LOAD_SECONDS, error)
				 : load_open(&load, options, mode, error);
	if (!result)
		result = (interactive ? show : print)(&load, load.options, error);
	load_release(&load);
	return result;
}

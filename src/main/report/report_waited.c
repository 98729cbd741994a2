/* SPDX-License-Identifier: MIT */
#include "report_waited.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <ctop/base/clock.h>
#include <ctop/base/function_name.h>
#include <ctop/metadata/thread_facts.h>
#include <ctop/metadata/wait_facts.h>
#include <ctop/report/numbers.h>

/* Unless all are asked for. */
enum { ROWS_USUAL = 20, NUMBERS_COLS = 33 };

bool report_filters_waits(const struct report *report)
{
	const struct options *options = report->options;
	return options->filter_tids.nr || options->filter_cpus.nr || options->comm ||
	       options->module || options->nr_labels || options->from_seconds > 0 ||
	       options->to_seconds > 0 || options->kernel_only || options->user_only;
}

bool report_wants_waits_of(const struct report *report, int32_t pid)
{
	const struct int32_list *pids = &report->options->filter_pids;
	for (size_t i = 0; i < pids->nr; i++)
		if (pids->items[i] == pid)
			return true;
	return pids->nr == 0;
}

/* The thread that holds it, the process that is waited for; "": nothing is known of it. */
static const char *name_of_holder(const struct thread_facts *threads,
				  const struct wait_object *object)
{
	const bool is_process = object->kind == WAIT_ON_PROCESS;
	const int32_t pid = is_process ? object->holder : object->pid;
	for (size_t i = 0; object->holder && i < threads->nr; i++)
		if (threads->items[i].pid == pid && threads->items[i].tid == object->holder)
			return threads->items[i].name;
	return "";
}

static void add_row(struct report *report, const struct thread_facts *threads,
		    const struct wait_sum *sum)
{
	const char *name = name_of_holder(threads, &sum->object);
	const size_t cols = report_line_cols(report);
	text_clear(&report->name);
	wait_object_add(&sum->object, &report->name);
	if (name[0])
		text_add(&report->name, " ");
	text_add_safe(&report->name, name);
	if (!sum->object.kind)
		text_add(&report->name, "others, which were too many");
	text_addf(report->out, "%11.3f  %7" PRIu64 "  %7" PRId32 "    ",
		  (double)sum->ns / (double)NS_PER_SECOND, sum->nr_threads, sum->object.pid);
	name_add_elided(report->out, text_string(&report->name),
			cols > NUMBERS_COLS ? cols - NUMBERS_COLS : SIZE_MAX);
	text_add(report->out, "\n");
}

static void add_rows(struct report *report, const struct thread_facts *threads,
		     const struct wait_sum *sums, size_t nr)
{
	const uint32_t limit = report->options->limit;
	const size_t most = !limit ? nr : limit < ROWS_USUAL ? limit : ROWS_USUAL;
	size_t nr_shown = 0, nr_wanted = 0;
	for (size_t i = 0; i < nr; i++) {
		if (!report_wants_waits_of(report, sums[i].object.pid))
			continue;
		if (!nr_wanted++)
			text_add(report->out, "\n   WAITED s  THREADS      PID    FOR\n");
		if (nr_shown < most) {
			add_row(report, threads, &sums[i]);
			nr_shown++;
		}
	}
	if (nr_wanted == nr_shown)
		return;
	text_add(report->out, "... ");
	add_grouped(report->out, nr_wanted - nr_shown);
	text_add(report->out, " more: --limit 0 lists all\n");
}

int report_waited_add(struct report *report)
{
	if (report_filters_waits(report))
		return 0;
	struct wait_sum *sums = calloc(WAIT_SUMS_TOLD, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	struct thread_facts threads = {0};
	int result = thread_facts_read(report->history, &threads);
	if (!result)
		add_rows(report, &threads, sums, wait_facts_read(report->history, sums));
	thread_facts_release(&threads);
	free(sums);
	return result;
}

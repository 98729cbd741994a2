/* SPDX-License-Identifier: MIT */
#include "report_woken.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <ctop/base/clock.h>
#include <ctop/metadata/woken_facts.h>
#include <ctop/report/numbers.h>

#include "report_waited.h"

/* Unless all are asked for. */
enum { ROWS_USUAL = 20, NAME_COLS = 15 };

static void add_name(struct text *out, const char *name, int cols)
{
	struct text safe = {0};
	text_add_safe(&safe, name);
	text_add(out, text_string(&safe));
	for (size_t at = text_cols(text_string(&safe)); cols > 0 && at < (size_t)cols; at++)
		text_add(out, " ");
	out->failed |= safe.failed;
	text_release(&safe);
}

static void add_row(struct text *out, const struct waking_sum *sum)
{
	text_addf(out, "%11.3f  %10" PRIu64 "  ", (double)sum->ns / (double)NS_PER_SECOND, sum->nr);
	if (!sum->tid) {
		text_add(out, "others, which were too many\n");
		return;
	}
	text_addf(out, "%7" PRId32 " ", sum->tid);
	add_name(out, sum->name, NAME_COLS);
	const char *kind = waker_kind(sum->waker_tid);
	if (kind) {
		text_addf(out, "  %s", kind);
	} else {
		text_addf(out, "  %7" PRId32 " ", sum->waker_tid);
		add_name(out, sum->waker_name, 0);
	}
	text_add(out, "\n");
}

static void add_rows(struct report *report, const struct waking_sum *sums, size_t nr)
{
	const uint32_t limit = report->options->limit;
	const size_t most = !limit ? nr : limit < ROWS_USUAL ? limit : ROWS_USUAL;
	size_t nr_shown = 0, nr_wanted = 0;
	for (size_t i = 0; i < nr; i++) {
		if (!report_wants_waits_of(report, sums[i].pid))
			continue;
		if (!nr_wanted++)
			text_add(report->out,
				 "\n    ENDED s     WAKINGS     WOKEN                       BY\n");
		if (nr_shown < most) {
			add_row(report->out, &sums[i]);
			nr_shown++;
		}
	}
	if (nr_wanted == nr_shown)
		return;
	text_add(report->out, "... ");
	add_grouped(report->out, nr_wanted - nr_shown);
	text_add(report->out, " more: --limit 0 lists all\n");
}

int report_woken_add(struct report *report)
{
	if (report_filters_waits(report))
		return 0;
	struct waking_sum *sums = calloc(WAKING_SUMS_TOLD, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	add_rows(report, sums, woken_facts_read(report->history, sums));
	free(sums);
	return 0;
}

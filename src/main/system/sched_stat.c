/* SPDX-License-Identifier: MIT */
#include <ctop/system/sched_stat.h>

#include <inttypes.h>
#include <stdio.h>

#include <ctop/system/proc_text.h>

bool sched_stat_parse(const char *text, struct sched_stat *stat)
{
	*stat = (struct sched_stat){0};
	stat->is_known = sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &stat->run_ns,
				&stat->queue_ns, &stat->nr_runs) == 3;
	if (!stat->is_known)
		*stat = (struct sched_stat){0};
	return stat->is_known;
}

bool sched_stat_read(int32_t pid, int32_t tid, struct sched_stat *stat)
{
	char what[48], text[96];
	snprintf(what, sizeof(what), "task/%d/schedstat", tid);
	proc_text(pid, what, text, sizeof(text));
	return sched_stat_parse(text, stat);
}

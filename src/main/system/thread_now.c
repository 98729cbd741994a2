/* SPDX-License-Identifier: MIT */
#include <ctop/system/thread_now.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/system_call.h>

/* Both clocks are compared again so often: they go apart while interrupts are served and while the host runs others. */
#define COMPARE_EVERY_NS NS_PER_SECOND

/* ---- how long it has not run ---- */

/* When a thread ran last, in ms by the kernel's clock; 0: not known. /proc/PID/task/TID/sched is there with CONFIG_SCHED_DEBUG. */
static double ran_ms(int32_t pid, int32_t tid)
{
	char what[48], text[1024];
	snprintf(what, sizeof(what), "task/%d/sched", tid);
	proc_text(pid, what, text, sizeof(text));
	/* Its name stands first, with its line ends as they are: it has no room for this line below it. */
	const char *rule = strstr(text, "\n--------------------");
	const char *at = rule ? strstr(rule, "\nse.exec_start ") : NULL;
	const char *colon = at ? strchr(at, ':') : NULL;
	const double ms = colon ? strtod(colon + 1, NULL) : 0;
	return ms > 0 ? ms : 0;
}

static void bring_up_to_date(struct thread_clock *clock)
{
	const uint64_t now_ns = clock_now_ns();
	if (clock->read_ns && now_ns - clock->read_ns < COMPARE_EVERY_NS)
		return;
	clock->read_ns = now_ns;
	clock->kernel_ms = ran_ms(getpid(), getpid()); /* we do so now */
}

static double still_s(struct thread_clock *clock, int32_t pid, int32_t tid)
{
	bring_up_to_date(clock);
	const double ran = clock->kernel_ms > 0 ? ran_ms(pid, tid) : 0;
	if (ran <= 0)
		return -1;
	const double since_ms = (double)(clock_now_ns() - clock->read_ns) / (double)NS_PER_MS;
	const double ms = clock->kernel_ms + since_ms - ran;
	return ms > 0 ? ms / 1e3 : 0;
}

/* ---- where it is ---- */

/* Only who may trace it is told. */
static void read_call(struct looker *looker, int32_t pid, int32_t tid, struct thread_now *now)
{
	const struct system_call call = system_call_read(pid, tid);
	char text[SYSTEM_CALL_TEXT_BYTES];
	now->call[0] = '\0';
	if (!call.is_told || call.number < 0)
		return;
	snprintf(now->call, sizeof(now->call), "%s",
		 system_call_text(call.number, call.is_ours, text));
	if (looker)
		now->waits_on = looker_object(looker, pid, tid, &call);
}

void thread_now_name(int32_t pid, int32_t tid, char name[16])
{
	struct stat_line line;
	proc_stat_line(pid, tid, &line);
	snprintf(name, 16, "%.15s", line.name);
}

bool thread_now_read(struct thread_clock *clock, struct looker *looker, int32_t pid, int32_t tid,
		     struct thread_now *now)
{
	struct stat_line line;
	*now = (struct thread_now){.still_s = -1};
	if (!proc_stat_line(pid, tid, &line))
		return false;
	now->state = line.state;
	snprintf(now->name, sizeof(now->name), "%.15s", line.name);
	if (now->state == 'R')
		return true;
	proc_place(pid, tid, now->place);
	read_call(looker, pid, tid, now);
	now->still_s = still_s(clock, pid, tid);
	return true;
}

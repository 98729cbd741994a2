/* SPDX-License-Identifier: MIT */
#include <ctop/system/patience.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/sched_stat.h>

/* How often one is looked at that has waited for a CPU. */
enum { AGAIN_MS = 100 };

struct patience patience_with(int32_t pid, uint64_t limit_ns)
{
	struct sched_stat stat;
	sched_stat_read(pid, pid, &stat);
	return (struct patience){limit_ns, clock_now_ns(), pid, stat.run_ns, stat.queue_ns};
}

/* Of one that waits for a CPU the kernel counts that when it has got one. */
static bool wants_cpu(int32_t pid)
{
	struct stat_line line;
	return proc_stat_line(pid, pid, &line) && line.state == 'R';
}

bool patience_is_over(const struct patience *patience, int32_t pid)
{
	const bool is_same = pid == patience->pid;
	const uint64_t passed_ns = clock_now_ns() - patience->since_ns;
	struct sched_stat stat;
	if (passed_ns < patience->limit_ns)
		return false;
	const bool wants = wants_cpu(pid);
	uint64_t ran_ns = 0, queued_ns = 0;
	if (sched_stat_read(pid, pid, &stat)) {
		ran_ns = stat.run_ns - (is_same ? patience->run_ns : 0);
		queued_ns = stat.queue_ns - (is_same ? patience->queue_ns : 0);
	}
	if (ran_ns >= patience->limit_ns)
		return true;
	return !wants && passed_ns >= patience->limit_ns + queued_ns;
}

int patience_timeout_ms(const struct patience *patience, int32_t pid)
{
	const uint64_t passed_ns = clock_now_ns() - patience->since_ns;
	if (passed_ns < patience->limit_ns)
		return (int)((patience->limit_ns - passed_ns) / NS_PER_MS) + 1;
	return patience_is_over(patience, pid) ? 0 : AGAIN_MS;
}

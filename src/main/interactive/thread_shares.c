/* SPDX-License-Identifier: MIT */
#include "thread_shares.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

/* Moments stand so far apart, as a share of the window. */
enum { PARTS = THREAD_SHARES_MOMENTS - 2, SECONDS_LEAST = 2, SECONDS_USUAL = 10 };
/* So many times what one took is left between two. */
enum { PAUSE_TIMES = 200 };

struct thread_sum {
	int32_t pid, tid;
	uint64_t observed_ns, running_ns, runnable_ns, waiting_ns;
};

/* Of a thread, or of all of a process; longest: of one of them. */
struct sums {
	uint64_t observed_ns, longest_ns, running_ns, runnable_ns, waiting_ns;
};

void thread_shares_release(struct thread_shares *shares)
{
	for (size_t i = 0; i < THREAD_SHARES_MOMENTS; i++)
		free(shares->moments[i].items);
	*shares = (struct thread_shares){0};
}

/* ---- moments ---- */

static int fill(struct thread_shares_moment *moment, const struct thread_times *times, size_t nr)
{
	moment->nr = 0;
	if (vec_reserve(moment, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		if (!times[i].pid) /* those that were too many */
			continue;
		moment->items[moment->nr++] = (struct thread_sum){
			.pid = times[i].pid,
			.tid = times[i].tid,
			.observed_ns = times[i].observed_ns,
			.running_ns = times[i].ns[TIME_RUNNING],
			.runnable_ns = times[i].ns[TIME_RUNNABLE],
			.waiting_ns = times[i].ns[TIME_WAITING],
		};
	}
	return 0;
}

/* Where the next one goes: over the last one, as long as that is near the one before it; else the oldest gives way. */
static struct thread_shares_moment *next_moment(struct thread_shares *shares, uint64_t now_ns,
						uint64_t apart_ns)
{
	struct thread_shares_moment *moments = shares->moments;
	const size_t nr = shares->nr;
	if (nr > 1 && now_ns - moments[nr - 2].ns < apart_ns)
		return &moments[nr - 1];
	if (nr < THREAD_SHARES_MOMENTS)
		return &moments[shares->nr++];
	const struct thread_shares_moment oldest = moments[0];
	for (size_t i = 0; i + 1 < nr; i++)
		moments[i] = moments[i + 1];
	moments[nr - 1] = oldest; /* its room */
	return &moments[nr - 1];
}

void thread_shares_add(struct thread_shares *shares, const struct thread_times *times, size_t nr,
		       uint64_t now_ns, uint32_t seconds)
{
	const uint32_t window = seconds == 0		  ? SECONDS_USUAL
				: seconds < SECONDS_LEAST ? SECONDS_LEAST
							  : seconds;
	struct thread_shares_moment *moment =
		next_moment(shares, now_ns, window * NS_PER_SECOND / PARTS);
	moment->ns = now_ns;
	if (fill(moment, times, nr))
		shares->nr--; /* it was the last */
}

void thread_shares_mark(struct thread_shares *shares, struct session *session, uint32_t seconds)
{
	const uint64_t now_ns = clock_now_ns(), cpu_ns = clock_cpu_ns();
	size_t nr;
	if (now_ns < shares->due_ns)
		return;
	const struct thread_times *times = session_thread_times(session, &nr);
	if (nr)
		thread_shares_add(shares, times, nr, now_ns, seconds);
	shares->due_ns = now_ns + PAUSE_TIMES * (clock_cpu_ns() - cpu_ns);
}

/* ---- told ---- */

static int compare(const struct thread_sum *sum, int32_t pid, int32_t tid)
{
	if (sum->pid != pid)
		return sum->pid < pid ? -1 : 1;
	return (sum->tid > tid) - (sum->tid < tid);
}

/* Numbers of threads come again, and each has a row. False: there is none. */
static bool add_up(const struct thread_shares_moment *moment, int32_t pid, int32_t tid,
		   struct sums *sum)
{
	size_t low = 0, high = moment->nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (compare(&moment->items[middle], pid, tid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	size_t i = low;
	for (; i < moment->nr; i++) {
		const struct thread_sum *row = &moment->items[i];
		if (row->pid != pid || (tid >= 0 && row->tid != tid))
			break;
		sum->observed_ns += row->observed_ns;
		if (row->observed_ns > sum->longest_ns)
			sum->longest_ns = row->observed_ns;
		sum->running_ns += row->running_ns;
		sum->runnable_ns += row->runnable_ns;
		sum->waiting_ns += row->waiting_ns;
	}
	return i > low;
}

static double percent(uint64_t part_ns, uint64_t of_ns)
{
	return of_ns ? 100.0 * (double)part_ns / (double)of_ns : 0;
}

static uint64_t since(uint64_t before_ns, uint64_t now_ns)
{
	return now_ns > before_ns ? now_ns - before_ns : 0;
}

/* The oldest within the window; NULL: it begins before all of them, or none has been. */
static const struct thread_shares_moment *find_base(const struct thread_shares *shares,
						    uint32_t seconds)
{
	const struct thread_shares_moment *last = &shares->moments[shares->nr - 1];
	for (size_t i = 0; seconds && i + 1 < shares->nr; i++)
		if (last->ns - shares->moments[i].ns <= seconds * NS_PER_SECOND)
			return &shares->moments[i];
	return NULL;
}

bool thread_shares_tell(const struct thread_shares *shares, int32_t pid, int32_t tid,
			uint32_t seconds, struct ui_times *times)
{
	struct sums now = {0}, before = {0};
	*times = (struct ui_times){0};
	if (!shares->nr || !add_up(&shares->moments[shares->nr - 1], pid, tid, &now))
		return false;
	const struct thread_shares_moment *base = find_base(shares, seconds);
	if (base)
		add_up(base, pid, tid, &before);
	/* Of one that has not been there all the time, of what it has. */
	const uint64_t of_ns = since(before.observed_ns, now.observed_ns);
	const uint64_t running_ns = since(before.running_ns, now.running_ns);
	times->cpu_percent = percent(running_ns, since(before.longest_ns, now.longest_ns));
	times->running_percent = percent(running_ns, of_ns);
	times->runnable_percent = percent(since(before.runnable_ns, now.runnable_ns), of_ns);
	times->waiting_percent = percent(since(before.waiting_ns, now.waiting_ns), of_ns);
	return of_ns > 0;
}

/* SPDX-License-Identifier: MIT */
/* Where generated code has its names: a dump that its process has mapped, or a perf map, also one that a process left. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

#include "broker_internal.h"

/*
 * How far perf's clock may be from CLOCK_MONOTONIC, which is set right as time goes by: 2 s, and 100 millionths of the time since
 * boot. How late a JIT that ends with perf may write its map.
 */
#define CLOCKS_APART_NS(up_ns) ((int64_t)2 * (int64_t)NS_PER_SECOND + (up_ns) / 10000)
#define WRITTEN_AFTER_NS       ((int64_t)10 * (int64_t)NS_PER_SECOND)

/* Whose map it would be, as long as there is somebody to ask: a JIT may write it as it ends. */
static void remember_owner(struct job *job, uint32_t owner_plus_1)
{
	struct kept_file *file = find_kept(job->broker, &job->key);
	if (!owner_plus_1 || !job->copy.row.started_ns)
		return;
	if (!file)
		file = keep(job->broker, &job->key, -1);
	if (!file)
		return;
	file->identity.owner_plus_1 = owner_plus_1;
	file->started_ns = job->copy.row.started_ns;
}

static void take_left_map(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	job_answer(job, fd < 0 ? answer->error : fd);
	if (fd >= 0)
		close(fd);
}

/* A process that has ended, whether or not somebody has waited for it yet. */
static bool has_ended(int32_t pid, uint64_t started_ns)
{
	struct stat_line line;
	uint64_t now_ns = proc_start_ns(pid);
	return !now_ns || (process_is_still(now_ns, started_ns) &&
			   proc_stat_line(pid, pid, &line) && line.state == 'Z');
}

/* Who has its number now has another's code, and may write a map of its own. */
static void look_for_left_map(struct job *job)
{
	const struct module_row *row = &job->copy.row;
	const struct kept_file *file = find_kept(job->broker, &job->key);
	if (!file || !file->identity.owner_plus_1 ||
	    !process_start_same(file->started_ns, row->started_ns) ||
	    !has_ended(row->pid, row->started_ns)) {
		job_answer(job, -ENOENT);
		return;
	}
	const int64_t lived_ns = (int64_t)(clock_now_ns() - row->started_ns);
	const struct opener_request request = {
		.kind = OPENER_LEFT_PERF_MAP,
		.request =
			{
				.pid = row->pid,
				.uid = file->identity.owner_plus_1 - 1,
				.since_ns = clock_wall_ns() - lived_ns,
			},
	};
	job_open(job, &request, take_left_map);
}

static void take_perf_map(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	remember_owner(job, answer->identity.owner_plus_1);
	if (answer->error == -ENOENT && job->copy.row.started_ns &&
	    has_ended(job->copy.row.pid, job->copy.row.started_ns)) {
		look_for_left_map(job);
		return;
	}
	if (fd < 0)
		note_refused_map(job->broker, job->copy.row.pid, answer->error);
	job_answer(job, fd < 0 ? answer->error : fd);
	if (fd >= 0)
		close(fd);
}

/* Names of machines and releases are claims: what they prove is that nobody says otherwise. */
static bool was_recorded_here(const struct tables *tables)
{
	struct utsname own;
	char name[128], release[128];
	return uname(&own) == 0 && recorded_info(tables, "hostname", name) &&
	       recorded_info(tables, "kernel", release) && !strcmp(name, own.nodename) &&
	       !strcmp(release, own.release);
}

static void take_recorded_map(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	if (fd >= 0)
		note_map_used(job->broker, job->copy.row.pid);
	take_left_map(context, answer, fd);
}

/*
 * The map of a process that perf recorded: of this boot, written after the process had begun, and, as it may have gone and others may
 * have had its number since, before the recording was done; JITs that end with perf may write theirs a moment later.
 */
static void answer_recorded_map(struct job *job, const struct tables *tables)
{
	const struct module_row *row = &job->copy.row;
	const int64_t now_ns = clock_wall_ns(), up_ns = (int64_t)clock_now_ns();
	const int64_t boot_ns = now_ns - up_ns, written_ns = job->broker->written_ns;
	const uint64_t lives_since_ns = proc_start_ns(row->pid);
	const bool lives = lives_since_ns && boot_ns + (int64_t)lives_since_ns < written_ns;
	/* perf's clock is as old as the machine is up; not to the second. */
	const int64_t since_ns = boot_ns + (int64_t)(lives ? lives_since_ns : row->started_ns) -
				 CLOCKS_APART_NS(up_ns);
	if (written_ns < boot_ns || (lives_since_ns && !lives) || (!lives && !row->started_ns) ||
	    row->started_ns > (uint64_t)up_ns || !was_recorded_here(tables)) {
		job_answer(job, -ENOENT);
		return;
	}
	const struct opener_request request = {
		.kind = OPENER_LEFT_PERF_MAP,
		.request =
			{
				.pid = row->pid,
				.uid = getuid(),
				.since_ns = since_ns,
				.until_ns = lives ? 0 : written_ns + WRITTEN_AFTER_NS,
			},
	};
	job_open(job, &request, take_recorded_map);
}

static void look_for_map(struct job *job)
{
	const struct opener_request request = {
		.kind = OPENER_PERF_MAP,
		.request = {.pid = job->copy.row.pid},
	};
	job_open(job, &request, take_perf_map);
}

/* The dump stays open: it grows, and is good yet when the process and its file have gone. */
static void take_dump(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	if (fd < 0 || answer->by_name) {
		if (fd >= 0)
			close(fd);
		look_for_map(job);
		return;
	}
	struct kept_file *file = find_kept(job->broker, &job->key);
	if (file && file->fd >= 0)
		close(file->fd);
	file = keep(job->broker, &job->key, fd);
	if (file)
		file->started_ns = job->copy.row.started_ns;
	job_answer(job, fd);
	if (!file)
		close(fd);
}

static void look_for_dump(struct job *job)
{
	if (!mapped_files_find_dump(job->broker->mapped, job->copy.row.pid, &job->named)) {
		look_for_map(job);
		return;
	}
	const struct opener_request request = {
		.kind = OPENER_MODULE,
		.request = request_of(&job->named),
	};
	job_open(job, &request, take_dump);
}

void generated_look_for(struct job *job, const struct tables *tables)
{
	const struct module_row *row = &job->copy.row;
	if (job->broker->recorded)
		answer_recorded_map(job, tables);
	/* Pids come again: who has this one now has another's code. */
	else if (!is_in_profile(job->broker, row->pid) ||
		 !process_is_still(proc_start_ns(row->pid), row->started_ns))
		look_for_left_map(job);
	else
		look_for_dump(job);
}

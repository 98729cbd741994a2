/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctop/base/index.h>
#include <ctop/base/vec.h>

/* Passes over /proc/PID/task until two agree; a process that starts threads for ever is left after these. */
enum { PASSES_MAX = 16 };

/* Threads attached so far, while a process is listed again and again. */
struct attaching {
	struct sampler *sampler;
	struct index seen;
	struct {
		int32_t *items;
		size_t nr, capacity;
	} tids;
	struct error *error;
};

static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	/* Root may go beyond the hard limit, up to fs.nr_open. */
	const struct rlimit most = {(rlim_t)machine_sysctl("fs/nr_open", 1048576),
				    (rlim_t)machine_sysctl("fs/nr_open", 1048576)};
	if (most.rlim_max > limit.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int add_id(struct sampler *sampler, int fd, uint32_t event, int32_t tid)
{
	uint64_t id;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -errno;
	if (vec_reserve(&sampler->ids, sampler->ids.nr + 1))
		return -ENOMEM;
	sampler->ids.items[sampler->ids.nr++] = (struct sampler_id){id, event, tid};
	return 0;
}

static int attach_one(struct sampler *sampler, int32_t tid, uint32_t ring, uint32_t event)
{
	if (vec_reserve(&sampler->fds, sampler->fds.nr + 1))
		return -ENOMEM;
	int fd = perf_open(&sampler->attrs[event], tid, sampler->rings[ring].cpu);
	if (fd < 0)
		return fd;
	sampler->fds.items[sampler->fds.nr++] = (struct sampler_fd){fd, event, tid, ring};
	int result = add_id(sampler, fd, event, tid);
	if (!result && sampler->holds_rings &&
	    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sampler->rings[ring].fd) < 0)
		result = -errno;
	return result;
}

/* Every event of one thread (or of the whole CPUs, tid -1) on every CPU. */
static int attach_thread(struct sampler *sampler, int32_t tid)
{
	for (uint32_t ring = 0; ring < sampler->nr_rings; ring++)
		for (uint32_t event = 0; event < sampler->options.nr_events; event++) {
			int result = attach_one(sampler, tid, ring, event);
			if (result)
				return result;
		}
	return 0;
}

static bool is_seen(const struct attaching *attaching, int32_t tid)
{
	struct index_probe probe = index_find(&attaching->seen, hash_u64((uint64_t)tid));
	uint32_t row;
	while (index_next(&attaching->seen, &probe, &row))
		if (attaching->tids.items[row] == tid)
			return true;
	return false;
}

static int see(struct attaching *attaching, int32_t tid)
{
	if (vec_reserve(&attaching->tids, attaching->tids.nr + 1) ||
	    index_reserve(&attaching->seen))
		return -ENOMEM;
	index_add(&attaching->seen, hash_u64((uint64_t)tid), (uint32_t)attaching->tids.nr);
	attaching->tids.items[attaching->tids.nr++] = tid;
	return 0;
}

/* One pass: attaches the threads that are new. *nr_new counts them. 0 or -errno. */
static int attach_listed(struct attaching *attaching, int32_t pid, size_t *nr_new)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	*nr_new = 0;
	DIR *dir = opendir(path);
	if (!dir)
		return 0; /* it has gone: whether anything was attached is looked at later */
	const struct dirent *entry;
	int result = 0;
	while (!result && (entry = readdir(dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid <= 0 || is_seen(attaching, tid))
			continue;
		result = see(attaching, tid);
		if (!result)
			result = attach_thread(attaching->sampler, tid);
		if (result == -ESRCH)
			result = 0; /* a thread that has ended meanwhile */
		++*nr_new;
	}
	closedir(dir);
	return result;
}

static int attach_process(struct attaching *attaching, int32_t pid)
{
	size_t nr_before = attaching->sampler->fds.nr, nr_new = 1;
	int result = 0;
	for (int pass = 0; !result && nr_new && pass < PASSES_MAX; pass++)
		result = attach_listed(attaching, pid, &nr_new);
	if (!result && attaching->sampler->fds.nr == nr_before)
		result = -ESRCH;
	return result ? (result == -EMFILE ? result
					   : advise_open(attaching->sampler, 0, pid, result,
							 attaching->error))
		      : 0;
}

static void close_all(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->fds.nr; i++)
		if (sampler->fds.items[i].fd >= 0)
			close(sampler->fds.items[i].fd);
	sampler->fds.nr = 0;
	sampler->ids.nr = 0;
}

static size_t nr_threads_of(const struct sampler *sampler)
{
	size_t nr = sampler->options.nr_tids;
	for (size_t i = 0; i < sampler->options.nr_pids; i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/task", sampler->options.pids[i]);
		DIR *dir = opendir(path);
		for (const struct dirent *entry; dir && (entry = readdir(dir));)
			nr += entry->d_name[0] != '.';
		if (dir)
			closedir(dir);
	}
	return nr;
}

/* Whole CPUs, and the collector lets only the target's processes through. */
static int attach_cpus_instead(struct sampler *sampler, struct error *error)
{
	size_t needed = nr_threads_of(sampler) * sampler->nr_rings * sampler->options.nr_events;
	close_all(sampler);
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		sampler->attrs[i].inherit = 0;
	int result = sampler->options.nr_tids ? -EMFILE : attach_thread(sampler, -1);
	if (result) {
		close_all(sampler);
		error_set(error, -EMFILE, "the target's threads need %zu descriptors, more than "
					  "this user may open", needed);
		error_remedy(error, "raise the limit: ulimit -n %zu", needed + 256);
		return -EMFILE;
	}
	sampler->filters_pids = true;
	return sampler_note_step(sampler, error,
				 "whole CPUs are sampled and other processes left out: the "
				 "target's threads need %zu descriptors",
				 needed);
}

static int attach_targets(struct attaching *attaching)
{
	struct sampler *sampler = attaching->sampler;
	const struct sampler_options *options = &sampler->options;
	int result = 0;
	if (options->system_wide)
		return attach_thread(sampler, -1);
	for (size_t i = 0; !result && i < options->nr_pids; i++)
		result = attach_process(attaching, options->pids[i]);
	for (size_t i = 0; !result && i < options->nr_tids; i++) {
		if (is_seen(attaching, options->tids[i]))
			continue;
		result = see(attaching, options->tids[i]);
		if (!result)
			result = attach_thread(sampler, options->tids[i]);
		if (result && result != -EMFILE)
			result = advise_open(sampler, 0, options->tids[i], result, attaching->error);
	}
	return result;
}

int attach_all(struct sampler *sampler, struct error *error)
{
	struct attaching attaching = {.sampler = sampler, .error = error};
	raise_descriptor_limit();
	int result = attach_targets(&attaching);
	index_release(&attaching.seen);
	free(attaching.tids.items);
	if (result == -EMFILE)
		result = attach_cpus_instead(sampler, error);
	if (result && !error->cause[0])
		advise_open(sampler, 0, -1, result, error);
	return result;
}

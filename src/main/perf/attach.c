/* SPDX-License-Identifier: MIT */
#include "attach_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/index.h>
#include <ctop/base/privilege.h>
#include <ctop/base/vec.h>

/* Passes over /proc/PID/task until one is complete; a process whose threads come and go for ever is left after these. */
enum { PASSES_MAX = 64, LATE_PASSES_MAX = 8 };
/* How long after the attaching a thread may start of which a maker attached meanwhile did not know yet. */
#define LATE_NS (100 * NS_PER_MS)
/* /proc tells of starts to 10 ms. */
#define START_SLACK_NS (10 * NS_PER_MS)

/* ---- whole processes ---- */

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

static int attach_new(struct attaching *attaching, int32_t tid)
{
	int result = see(attaching, tid);
	return result ? result : attach_thread(attaching, tid);
}

static uint64_t ns_since_boot(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static bool is_wanted(const struct attaching *attaching, int32_t pid, int32_t tid)
{
	if (is_seen(attaching, tid))
		return false;
	struct task_start start;
	return !attaching->late_until_ns ||
	       (task_start_read(pid, tid, &start) && start.ns <= attaching->late_until_ns);
}

static DIR *open_threads(int32_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	DIR *dir = opendir(path);
	privilege_restore(&before);
	return dir;
}

/* One listing of a process's threads. */
struct pass {
	size_t nr_before; /* threads that there were before it */
	size_t nr_listed, nr_new;
};

/* How many threads the process has: /proc/PID/task counts them as links. 0: it does not tell. */
static size_t nr_threads_now(DIR *dir)
{
	struct stat status;
	if (fstat(dirfd(dir), &status) || status.st_nlink < 2)
		return 0;
	return (size_t)status.st_nlink - 2;
}

/* Attaches the threads that are new. 0 or -errno. */
static int attach_listed(struct attaching *attaching, int32_t pid, struct pass *pass)
{
	DIR *dir = open_threads(pid);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	*pass = (struct pass){.nr_before = nr_threads_now(dir)};
	const struct dirent *entry;
	int result = 0;
	while (!result && (entry = readdir(dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		pass->nr_listed++;
		if (!is_wanted(attaching, pid, tid))
			continue;
		pass->nr_new++;
		/* Thousands of threads take seconds. */
		result = end_pending() ? -EINTR : attach_new(attaching, tid);
		if (result == -ESRCH)
			result = 0; /* a thread that has ended meanwhile */
	}
	closedir(dir);
	return result;
}

/*
 * A listing loses its place where a thread ends (proc_task_readdir() goes on by counting), and then leaves
 * out others. One that shows nobody new and as many as there were before it shows all: whoever started
 * meanwhile would be new, so those listed are of before. Their children inherit.
 */
static bool is_complete(const struct pass *pass)
{
	return !pass->nr_new && pass->nr_listed >= pass->nr_before;
}

/*
 * A thread that starts between the listing and the attaching of its maker is listed in the next
 * pass. One that starts after it inherits its maker's events; when it is listed, too, it is attached
 * twice: the collector sees it under two ids, and sampler_close_id() ends that.
 */
static int attach_process(struct attaching *attaching, int32_t pid)
{
	struct pass pass = {.nr_new = 1};
	attaching->begins = attaching->sampler->fds.nr;
	int result = 0;
	for (int i = 0; !result && !is_complete(&pass) && i < PASSES_MAX; i++)
		result = attach_listed(attaching, pid, &pass);
	/* What is attached already has samples to come, even if the process has ended now. */
	if ((!result || result == -ESRCH) && attaching->sampler->fds.nr > attaching->begins)
		return 0;
	return result ? result : -ESRCH;
}

/* A descendant may end meanwhile, its number go to somebody else, or be another user's. */
static int attach_descendant(struct attaching *attaching, struct member *member)
{
	struct sampler *sampler = attaching->sampler;
	int result = attach_process(attaching, member->pid);
	if (!result && !family_is_still(member)) {
		detach_from(sampler, attaching->begins);
		result = -ESRCH;
	}
	if (result == -EACCES || result == -EPERM) {
		attaching->nr_refused++;
		detach_from(sampler, attaching->begins);
	}
	if (!result)
		member->attached_ns = ns_since_boot();
	return result == -ESRCH || result == -EACCES || result == -EPERM ? 0 : result;
}

/* Those of the family that are not attached yet. *pid: the one tried last. */
static int attach_members(struct attaching *attaching, int32_t *pid)
{
	struct family *family = &attaching->sampler->family;
	int result = 0;
	for (size_t i = 0; !result && i < family->members.nr; i++) {
		struct member *member = &family->members.items[i];
		if (member->is_done)
			continue;
		*pid = member->pid;
		result = member->is_asked ? attach_process(attaching, member->pid)
					  : attach_descendant(attaching, member);
		if (!result && member->is_asked)
			member->attached_ns = ns_since_boot();
		member->is_done = true;
	}
	return result;
}

static int list_family(struct sampler *sampler)
{
	int result = 0;
	for (size_t i = 0; !result && i < sampler->options.nr_pids; i++)
		result = family_ask(&sampler->family, sampler->options.pids[i]);
	return result;
}

/*
 * A descendant is known from a listing before its parent is attached, or from one after that; or it has inherited. Those
 * who did both are dropped where they show, as threads are.
 */
static int attach_family(struct attaching *attaching, int32_t *pid)
{
	struct sampler *sampler = attaching->sampler;
	struct family *family = &sampler->family;
	const bool with_descendants = sampler->options.inherit && !sampler->options.enable_on_exec;
	int result = list_family(sampler);
	size_t nr_before = 0;
	for (int i = 0; !result && i < PASSES_MAX; i++) {
		if (with_descendants)
			result = family_look(family, START_SLACK_NS);
		if (result || family->members.nr == nr_before)
			break;
		nr_before = family->members.nr;
		result = attach_members(attaching, pid);
	}
	return result;
}

static int attach_targets(struct attaching *attaching, struct error *error)
{
	struct sampler *sampler = attaching->sampler;
	const struct sampler_options *options = &sampler->options;
	int32_t target = -1;
	int result = options->system_wide ? attach_thread(attaching, target) : 0;
	if (!result)
		result = attach_family(attaching, &target);
	for (size_t i = 0; !result && i < options->nr_tids; i++) {
		target = options->tids[i];
		if (!is_seen(attaching, target))
			result = attach_new(attaching, target);
	}
	if (result == -EINTR) {
		error_set(error, result, "interrupted while the target's threads were attached");
		return error_remedy(
			error, "nothing was sampled: run it again, and wait until sampling begins");
	}
	const struct event *event = &options->events[attaching->event];
	if (result == -EINVAL && event->filter) {
		error_set(error, result, "the kernel rejects the filter of '%s': %s", event->asked,
			  event->filter);
		error_remedy(error, "its fields are in /sys/kernel/tracing/events/, in 'format'");
	} else if (result && result != -EMFILE) {
		advise_open(sampler, attaching->event, target, result, error);
	}
	return result;
}

/* ---- too few descriptors ---- */

static size_t nr_threads_of(const struct sampler *sampler)
{
	size_t nr = sampler->options.nr_tids + (size_t)sampler->options.system_wide;
	for (size_t i = 0; i < sampler->family.members.nr; i++) {
		DIR *dir = open_threads(sampler->family.members.items[i].pid);
		for (const struct dirent *entry; dir && (entry = readdir(dir));)
			nr += entry->d_name[0] != '.';
		if (dir)
			closedir(dir);
	}
	return nr;
}

/* Whole CPUs, and the collector lets only the target's processes through. 0 or -errno. */
static int attach_cpus(struct attaching *attaching)
{
	struct sampler *sampler = attaching->sampler;
	for (size_t i = 0; i < sampler->options.nr_events; i++) {
		sampler->attrs[i].inherit = 0;
		sampler->attrs[i].exclude_idle = 1;
		sampler->attrs[i].enable_on_exec = 0; /* a CPU never calls exec */
	}
	int result = attach_thread(attaching, -1);
	if (result) {
		detach_from(sampler, 0);
		return result;
	}
	sampler->filters_pids = true;
	attaching->nr_refused = 0; /* who may sample whole CPUs may sample anybody */
	for (size_t i = 0; i < sampler->family.members.nr; i++)
		sampler->family.members.items[i].attached_ns = ns_since_boot();
	return 0;
}

static int attach_cpus_instead(struct attaching *attaching, struct error *error)
{
	struct sampler *sampler = attaching->sampler;
	const struct sampler_options *options = &sampler->options;
	detach_from(sampler, 0);
	/* Main reads a record of each, too. */
	size_t needed = nr_threads_of(sampler) * sampler->nr_rings * (options->nr_events + 1);
	/* The collector tells processes apart, not threads. */
	bool possible = !options->system_wide && !options->nr_tids && options->inherit;
	if (!possible || attach_cpus(attaching)) {
		const size_t nr_children = sampler->family.members.nr - options->nr_pids;
		char children[64] = "";
		if (options->nr_pids && nr_children)
			snprintf(children, sizeof(children), " and those of its %zu children",
				 nr_children);
		error_set(
			error, -EMFILE,
			"the target's threads%s need %zu descriptors, more than this user may open",
			children, needed);
		return error_remedy(error, "raise the limit: ulimit -n %zu%s", needed + 256,
				    children[0] ? ", or leave the children out: --no-inherit" : "");
	}
	return sampler_note_fallback(sampler, error,
				     "whole CPUs are sampled and other processes left out: the "
				     "target's threads need %zu descriptors",
				     needed);
}

static void release(struct attaching *attaching)
{
	index_release(&attaching->seen);
	free(attaching->tids.items);
}

/* ---- probes ---- */

/* Of the events asked for some cannot be inherited, though whoever starts later is to be sampled. */
static bool needs_cpus(const struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;
	bool has_probe = false;
	for (size_t i = 0; i < options->nr_events; i++)
		has_probe |= options->events[i].probe[0] != '\0';
	return has_probe && options->inherit && options->nr_pids;
}

/* Of several events all: the samples of some would be by thread, those of others by process. */
static int attach_probes(struct attaching *attaching, struct error *error)
{
	struct sampler *sampler = attaching->sampler;
	int result = list_family(sampler);
	if (!result && !sampler->options.enable_on_exec)
		result = family_look(&sampler->family, 0);
	if (!result)
		result = attach_cpus(attaching);
	return result ? advise_open(sampler, attaching->event, -1, result, error) : 0;
}

/* ---- all ---- */

/* So many others are left, beside what main itself reads of each thread (sideband.c). */
static bool leaves_descriptors(const struct sampler *sampler, size_t nr_others)
{
	struct rlimit limit;
	const size_t nr_each = sampler->options.nr_events * sampler->nr_sets;
	const size_t nr = sampler->fds.nr + sampler->fds.nr / nr_each + nr_others;
	return getrlimit(RLIMIT_NOFILE, &limit) || nr <= limit.rlim_cur;
}

/* One or two threads have the few that they need, or are refused where those are opened. */
static bool is_too_large(const struct sampler *sampler)
{
	enum { MANY = 64, FOR_CHILDREN = 64 };
	return !sampler->options.system_wide && !sampler->filters_pids && sampler->fds.nr >= MANY &&
	       !leaves_descriptors(sampler, FOR_CHILDREN);
}

static int note_sets_left(const struct attaching *attaching, struct error *error)
{
	static const char left[] = "copies and rate stay as they are, also where the rings fill: ";
	struct sampler *sampler = attaching->sampler;
	if (attaching->lacks_registers)
		return sampler_note_fallback(sampler, error,
					     "%sthe CPU has too few breakpoint registers for the "
					     "events to change to",
					     left);
	return sampler_note_fallback(sampler, error,
				     "%sthe events to change to need %zu more descriptors", left,
				     sampler->fds.nr);
}

static int attach_wanted(struct attaching *attaching, struct error *error)
{
	return needs_cpus(attaching->sampler) ? attach_probes(attaching, error)
					      : attach_targets(attaching, error);
}

/* The kernel paces with one descriptor, or breakpoint register, what ctop does with several. */
static int attach_without_pacing(struct attaching *attaching, struct error *error)
{
	struct sampler *sampler = attaching->sampler;
	detach_from(sampler, 0);
	family_release(&sampler->family);
	sampler->family = (struct family){0};
	release(attaching);
	const bool lacks_registers = attaching->lacks_registers;
	*attaching = (struct attaching){.sampler = sampler, .lacks_registers = lacks_registers};
	sets_leave_pacing(sampler);
	int result = sampler_note_fallback(
		sampler, error,
		"the rates of software events are left to the kernel, which may "
		"miss them: the %s for ctop to keep them",
		lacks_registers ? "CPU has too few breakpoint registers"
				: "target has too many threads");
	return result ? result : attach_wanted(attaching, error);
}

static int note_refused(const struct attaching *attaching, struct error *error)
{
	const size_t nr = attaching->nr_refused;
	if (!nr)
		return 0;
	return sampler_note_fallback(
		attaching->sampler, error,
		"%zu descendant%s of the target may not be profiled by this user, "
		"and %s left out",
		nr, nr == 1 ? "" : "s", nr == 1 ? "is" : "are");
}

int attach_all(struct sampler *sampler, struct error *error)
{
	enum { FOR_FILES = 256 };
	struct attaching attaching = {.sampler = sampler};
	int result = attach_wanted(&attaching, error);
	if (sets_any_paced(sampler) && (result == -EMFILE || result == -ENOSPC ||
					(!result && !leaves_descriptors(sampler, FOR_FILES))))
		result = attach_without_pacing(&attaching, error);
	if (!result && sampler->nr_sets > 1 && !leaves_descriptors(sampler, FOR_FILES))
		leave_other_sets(&attaching);
	if (result == -EMFILE || (!result && is_too_large(sampler)))
		result = attach_cpus_instead(&attaching, error);
	sampler->attached_ns = ns_since_boot();
	release(&attaching);
	if (!result && attaching.left_others && !sampler->filters_pids)
		result = note_sets_left(&attaching, error);
	return result ? result : note_refused(&attaching, error);
}

/* ---- who slipped through ---- */

static int see_attached(struct attaching *attaching)
{
	const struct sampler *sampler = attaching->sampler;
	for (size_t i = 0; i < sampler->ids.nr; i++) {
		int32_t tid = sampler->ids.items[i].tid;
		if (!is_seen(attaching, tid) && see(attaching, tid))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Whoever slipped through may have made others since, which inherited nothing, and those again others: then
 * all that have started by now are looked at. Those that did inherit are attached twice, as above.
 */
static int attach_latecomers(struct attaching *attaching, const struct member *member)
{
	const size_t begins = attaching->sampler->fds.nr;
	struct pass pass = {.nr_new = 1};
	int result = 0;
	attaching->late_until_ns = attaching->sampler->attached_ns + LATE_NS;
	for (int i = 0; !result && pass.nr_new && i < LATE_PASSES_MAX; i++) {
		result = attach_listed(attaching, member->pid, &pass);
		if (pass.nr_new)
			attaching->late_until_ns = ns_since_boot();
	}
	/* It may have ended since it was attached, and somebody else may have its number. */
	if (!family_is_still(member))
		detach_from(attaching->sampler, begins);
	return result == -ESRCH ? 0 : result;
}

int attach_late(struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;
	struct attaching attaching = {.sampler = sampler, .is_running = true};
	if (options->system_wide || options->enable_on_exec || sampler->filters_pids ||
	    !options->inherit)
		return 0;
	int result = see_attached(&attaching);
	struct family *family = &sampler->family;
	for (size_t i = 0; !result && i < family->members.nr; i++)
		if (family->members.items[i].attached_ns)
			result = attach_latecomers(&attaching, &family->members.items[i]);
	if (!result && family->members.nr)
		result = family_look(family, LATE_NS);
	attaching.late_until_ns = 0;
	int32_t pid;
	if (!result)
		result = attach_members(&attaching, &pid);
	release(&attaching);
	/* It is too late to refuse, as --strict would. */
	struct error unused;
	note_refused(&attaching, &unused);
	return result;
}

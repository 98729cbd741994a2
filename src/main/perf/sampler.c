/* SPDX-License-Identifier: MIT */
#include <ctop/perf/sampler.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

#include "sampler_internal.h"

/* ---- targets that cannot be profiled, whatever the events ---- */

static int refuse_target(int32_t pid, bool is_thread, struct error *error)
{
	struct process_facts facts = machine_process(pid);
	if (facts.state == PROCESS_GONE) {
		error_set(error, -ESRCH, "there is no %s %d", is_thread ? "thread" : "process",
			  pid);
		return error_remedy(error, is_thread ? "ps -eL lists the threads"
						     : "ps -e lists the processes");
	}
	if (facts.state == PROCESS_ZOMBIE && !is_thread && facts.nr_threads > 1)
		return 0; /* its leader has ended, other threads have not */
	if (facts.state == PROCESS_ZOMBIE) {
		error_set(error, -ESRCH, "%s %d is a zombie: it has ended already",
			  is_thread ? "thread" : "process", pid);
		return error_remedy(error, "its parent, which has not waited for it, is process %d",
				    facts.parent);
	}
	return 0;
}

static int check_targets(const struct sampler_options *options, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < options->nr_pids; i++)
		result = refuse_target(options->pids[i], false, error);
	for (size_t i = 0; !result && i < options->nr_tids; i++)
		result = refuse_target(options->tids[i], true, error);
	return result;
}

/* A kernel thread has no user code: without the kernel nothing is left. */
static int refuse_kernel_threads(const int32_t *pids, size_t nr, struct error *error)
{
	for (size_t i = 0; i < nr; i++) {
		if (machine_process(pids[i]).state != PROCESS_KERNEL)
			continue;
		error_set(error, -EACCES, "process %d is a kernel thread: it has no user code",
			  pids[i]);
		return error_remedy(error, "sample the kernel too: run it with sudo, without :u");
	}
	return 0;
}

static int check_kernel_threads(const struct sampler *sampler, struct error *error)
{
	const struct sampler_options *options = &sampler->options;
	if (!sampler->user_only)
		return 0;
	int result = refuse_kernel_threads(options->pids, options->nr_pids, error);
	return result ? result : refuse_kernel_threads(options->tids, options->nr_tids, error);
}

/* ---- life ---- */

static void fill_attrs(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		ladder_fill_attr(sampler, i);
}

/* What can be sampled, and not be told well. */

static int note_hidden_process(struct sampler *sampler, struct error *error)
{
	const struct sampler_options *options = &sampler->options;
	size_t nr_hidden = 0, nr = 0;
	if (options->system_wide)
		machine_count_hidden(&nr_hidden, &nr);
	if (nr_hidden)
		return sampler_note_fallback(
			sampler, error,
			"this user may not look into %zu of %zu processes (no CAP_SYS_PTRACE): "
			"their stacks end early and have no names",
			nr_hidden, nr);
	for (size_t i = 0; i < options->nr_pids + options->nr_tids; i++) {
		int32_t pid = i < options->nr_pids ? options->pids[i]
						   : options->tids[i - options->nr_pids];
		if (machine_hides_process(pid))
			return sampler_note_fallback(
				sampler, error,
				"this user may not look into process %d (no "
				"CAP_SYS_PTRACE): its stacks end early and have "
				"no names",
				pid);
	}
	return 0;
}

static int note_hidden_kernel(struct sampler *sampler, struct error *error)
{
	bool is_sampled = false;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		is_sampled = is_sampled || sampler->options.events[i].kernel;
	if (sampler->user_only || !is_sampled || !machine_hides_kernel())
		return 0;
	const long restricted = machine_sysctl("kernel/kptr_restrict", 0);
	return sampler_note_fallback(sampler, error,
				     restricted > 1
					     ? "the kernel's functions have no names "
					       "(kernel.kptr_restrict = %ld)"
					     : "the kernel's functions have no names for this "
					       "user (kernel.kptr_restrict = %ld, no "
					       "CAP_SYSLOG)",
				     restricted);
}

/* For thousands of events, which raise it again, privilege is raised once: it takes two system calls, and two to restore. */
static int attach(struct sampler *sampler, struct error *error)
{
	const struct privilege_before before = privilege_raise(PRIVILEGE_SAMPLE);
	int result = attach_all(sampler, error);
	if (!result) {
		sideband_follow(sampler, 0);
		switches_follow(sampler, 0);
	}
	privilege_restore(&before);
	return result;
}

static int open_all(struct sampler *sampler, struct error *error)
{
	machine_raise_descriptor_limit();
	int result = check_targets(&sampler->options, error);
	if (!result)
		result = rings_open(sampler, error);
	if (!result)
		result = ladder_descend(sampler, error);
	if (!result)
		result = check_kernel_threads(sampler, error);
	/* The rate decides on the dump, and the dump on how fast the guard lets it go. */
	if (!result)
		result = guard_ask_periods(sampler, error);
	if (!result)
		result = rings_choose_dump_bytes(sampler, error);
	if (result)
		return result;
	fill_attrs(sampler);
	result = guard_limit_periods(sampler, error);
	if (!result)
		result = sets_begin_cheaply(sampler, error);
	if (!result)
		result = guard_measure_costs(sampler, sets_small_copies(sampler), error);
	if (result)
		return result;
	sets_pace(sampler);
	fill_attrs(sampler);
	ladder_fill_format(sampler);
	sets_choose(sampler);
	result = attach(sampler, error);
	if (!result)
		result = note_hidden_process(sampler, error);
	return result ? result : note_hidden_kernel(sampler, error);
}

struct sampler *sampler_open(const struct sampler_options *options, struct error *error)
{
	assert(options->nr_events && options->nr_events <= SAMPLER_MAX_EVENTS);
	assert(options->count || options->frequency_hz);
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	sampler->options = *options;
	/* -C alone is the whole of those CPUs. */
	if (!options->nr_pids && !options->nr_tids)
		sampler->options.system_wide = true;
	if (open_all(sampler, error) == 0)
		return sampler;
	sampler_free(sampler);
	return NULL;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	for (size_t i = 0; i < sampler->fds.nr; i++)
		if (sampler->fds.items[i].fd >= 0)
			close(sampler->fds.items[i].fd);
	sideband_close(sampler);
	switches_close(sampler);
	side_rings_close(&sampler->wakings.traced.rings);
	side_rings_close(&sampler->wakings.copies.rings);
	side_rings_close(&sampler->switch_outs.traced.rings);
	side_rings_close(&sampler->calls.enter.rings);
	side_rings_close(&sampler->calls.exit.rings);
	rings_close(sampler);
	family_release(&sampler->family);
	free(sampler->fds.items);
	free(sampler->ids.items);
	free(sampler);
}

/* ---- running ---- */

/* One request to the open events of the sets in use, or of the others, from a row on; the first error but a thread's end. */
static int tell_from(const struct sampler *sampler, size_t row, bool in_use, unsigned long request)
{
	int result = 0;
	for (size_t i = row; i < sampler->fds.nr; i++) {
		const struct sampler_fd *event = &sampler->fds.items[i];
		if ((event->set == sampler->in_use[event->event]) == in_use && event->fd >= 0 &&
		    ioctl(event->fd, request, 0) < 0 && errno != ESRCH && !result)
			result = -errno;
	}
	return result;
}

/*
 * Twice: a task that is forked while the kernel (6.18) tells an event's heirs inherits from one that was not told yet, and
 * joins the heirs when they have been told. It goes on as before; and so does its maker, for tasks of one inheritance
 * trade their events when one is switched for the other: with all that it forks from then on.
 */
static int tell_in_use(const struct sampler *sampler, size_t row, unsigned long request)
{
	int result = tell_from(sampler, row, true, request);
	return result ? result : tell_from(sampler, row, true, request);
}

/* Those attached from a row of fds on. */
static int redirect_from(struct sampler *sampler, size_t row)
{
	/* Held rings outlive the collector, and their events stay redirected. */
	if (sampler->holds_rings)
		return 0;
	for (size_t i = row; i < sampler->fds.nr; i++) {
		const struct sampler_fd *event = &sampler->fds.items[i];
		if (event->fd >= 0 &&
		    ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, sampler->rings[event->ring].fd) < 0)
			return -errno;
	}
	return 0;
}

int sampler_redirect(struct sampler *sampler)
{
	return redirect_from(sampler, 0);
}

/*
 * An event that has its ring already is not to be told again: the kernel (6.18) then waits until every CPU has passed
 * through the scheduler, some 10 ms for each where they are busy.
 */
int sampler_attach_late(struct sampler *sampler)
{
	const size_t nr_before = sampler->fds.nr;
	int result = attach_late(sampler);
	sideband_follow(sampler, nr_before);
	switches_follow(sampler, nr_before);
	return result ? result : redirect_from(sampler, nr_before);
}

int sampler_enable_from(struct sampler *sampler, size_t id)
{
	return tell_in_use(sampler, id, PERF_EVENT_IOC_ENABLE); /* ids are of fds */
}

int sampler_enable(struct sampler *sampler)
{
	return sampler_enable_from(sampler, 0);
}

int sampler_disable(struct sampler *sampler)
{
	return tell_in_use(sampler, 0, PERF_EVENT_IOC_DISABLE);
}

const struct sampler_sets *sampler_sets(const struct sampler *sampler, bool paced)
{
	return &sampler->sets[paced];
}

uint32_t sampler_set_in_use(const struct sampler *sampler, size_t event)
{
	return sampler->in_use[event];
}

/* The same event on the same task and CPU in another set; NULL: it has ended, or could not be opened any more. */
static const struct sampler_fd *in_other_set(const struct sampler *sampler, size_t at, uint32_t set)
{
	const struct sampler_fd *event = &sampler->fds.items[at];
	const size_t other =
		at + set * sampler->options.nr_events - event->set * sampler->options.nr_events;
	if (other >= sampler->fds.nr)
		return NULL;
	const struct sampler_fd *found = &sampler->fds.items[other];
	bool is_same = found->event == event->event && found->set == set &&
		       found->tid == event->tid && found->ring == event->ring && found->fd >= 0;
	return is_same ? found : NULL;
}

void sampler_use_sets(struct sampler *sampler, const uint32_t *sets, bool enabled)
{
	for (size_t i = 0; enabled && i < sampler->fds.nr; i++) {
		const struct sampler_fd *old = &sampler->fds.items[i];
		const uint32_t set = sets[old->event];
		if (old->set != sampler->in_use[old->event] || old->set == set || old->fd < 0)
			continue;
		const struct sampler_fd *new = in_other_set(sampler, i, set);
		if (new &&ioctl(new->fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
			ioctl(old->fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	memcpy(sampler->in_use, sets, sampler->options.nr_events * sizeof(*sets));
	if (enabled)
		sampler_settle_sets(sampler); /* as tell_in_use() */
}

void sampler_settle_sets(struct sampler *sampler)
{
	tell_from(sampler, 0, true, PERF_EVENT_IOC_ENABLE);
	tell_from(sampler, 0, false, PERF_EVENT_IOC_DISABLE);
}

static bool has_lost(const struct sampler *sampler, size_t event)
{
	return sampler->attrs[event].read_format & PERF_FORMAT_LOST;
}

static void add_one(const struct sampler *sampler, const struct sampler_fd *event,
		    struct sampler_count *sum)
{
	uint64_t values[5] = {0}; /* value, enabled, running, id, lost */
	size_t size = (has_lost(sampler, event->event) ? 5 : 4) * sizeof(uint64_t);
	if (read(event->fd, values, size) != (ssize_t)size)
		return;
	sum->count += values[0];
	sum->enabled_ns += values[1];
	sum->running_ns += values[2];
	sum->lost += values[4];
}

static void close_event(struct sampler *sampler, struct sampler_fd *event)
{
	if (event->fd < 0)
		return;
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
	add_one(sampler, event, &sampler->closed[event->event]);
	close(event->fd);
	event->fd = -1;
}

void sampler_close_id(struct sampler *sampler, uint64_t id)
{
	for (size_t i = 0; i < sampler->ids.nr; i++) {
		const struct sampler_fd of = sampler->fds.items[i];
		for (size_t at = 0; sampler->ids.items[i].id == id && at < sampler->fds.nr; at++) {
			struct sampler_fd *event = &sampler->fds.items[at];
			if (event->tid == of.tid && event->ring == of.ring &&
			    event->event == of.event)
				close_event(sampler, event);
		}
	}
}

/*
 * An event of a thread and a CPU is to be counted wherever the thread runs: the sum over the CPUs is that
 * many times what it was. Where some CPUs are left out, nobody knows.
 */
static uint64_t enabled_once(const struct sampler *sampler, const struct sampler_count *sum)
{
	if (sampler->options.system_wide)
		return sum->enabled_ns;
	return sampler->options.cpus ? sum->running_ns : sum->enabled_ns / sampler->nr_rings;
}

int sampler_read(struct sampler *sampler, size_t index, struct sampler_count *count)
{
	*count = sampler->closed[index];
	for (size_t i = 0; i < sampler->fds.nr; i++) {
		const struct sampler_fd *event = &sampler->fds.items[i];
		if (event->event == index && event->fd >= 0)
			add_one(sampler, event, count);
	}
	count->enabled_ns = enabled_once(sampler, count);
	return has_lost(sampler, index) ? 0 : -ENOTSUP;
}

/* ---- what it has to tell ---- */

size_t sampler_nr_rings(const struct sampler *sampler)
{
	return sampler->nr_rings;
}

const struct sampler_ring *sampler_rings(const struct sampler *sampler)
{
	return sampler->rings;
}

uint32_t sampler_ring_pages(const struct sampler *sampler)
{
	return sampler->ring_pages;
}

const struct record_format *sampler_format(const struct sampler *sampler)
{
	return &sampler->format;
}

uint32_t sampler_dump_bytes(const struct sampler *sampler)
{
	return sampler->dump_bytes;
}

bool sampler_user_only(const struct sampler *sampler)
{
	return sampler->user_only;
}

const struct sampler_opened *sampler_opened(const struct sampler *sampler, size_t event)
{
	return &sampler->opened[event];
}

size_t sampler_nr_ids(const struct sampler *sampler)
{
	return sampler->ids.nr;
}

const struct sampler_id *sampler_ids(const struct sampler *sampler)
{
	return sampler->ids.items;
}

bool sampler_filters_pids(const struct sampler *sampler)
{
	return sampler->filters_pids;
}

size_t sampler_nr_processes(const struct sampler *sampler)
{
	return sampler->family.members.nr;
}

int32_t sampler_process(const struct sampler *sampler, size_t i)
{
	const struct member *member = &sampler->family.members.items[i];
	return member->attached_ns ? member->pid : 0;
}

uint64_t sampler_process_seen_ns(const struct sampler *sampler, size_t i)
{
	return sampler->family.members.items[i].seen_ns;
}

size_t sampler_nr_children(const struct sampler *sampler)
{
	return family_nr_children(&sampler->family);
}

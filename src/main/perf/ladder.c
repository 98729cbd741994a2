/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/kernel/named_events.h>

/* arm64's kernels follow frame records upwards alone: from a thread's stack none leads to a goroutine's. */
#if defined(__x86_64__)
enum { CHAIN_CROSSES_STACKS = true };
#else
enum { CHAIN_CROSSES_STACKS = false };
#endif

bool ladder_dumps_stacks(const struct sampler *sampler)
{
	return sampler->options.call_graph == CALL_GRAPH_AUTO ||
	       sampler->options.call_graph == CALL_GRAPH_DWARF;
}

static uint64_t sample_type(const struct sampler *sampler, size_t index)
{
	uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	/*
	 * Periods that do not change are known. To ask for them all the same makes the kernel (6.18)
	 * sample a software event each time it hits, whatever its period.
	 */
	if (!sampler_asked_count(sampler, index) && !sampler->opened[index].paced)
		type |= PERF_SAMPLE_PERIOD;
	if (ladder_dumps_stacks(sampler))
		type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	/* Beside a dump the chain is for the kernel's part, and for what is behind a switch of stacks. */
	if (sampler->options.call_graph == CALL_GRAPH_FP ||
	    (ladder_dumps_stacks(sampler) && (!sampler->user_only || CHAIN_CROSSES_STACKS)))
		type |= PERF_SAMPLE_CALLCHAIN;
	return type;
}

/*
 * A probe's place is text in ctop's memory. The kernel (6.18) reads it again for each child that inherits the
 * event, in the memory of the process that forks: its fork() would fail with EFAULT. A group is inherited
 * with all its members. (Whole CPUs are probed instead where children count: attach.c.)
 */
static bool may_inherit(const struct sampler *sampler, size_t index)
{
	const struct sampler_options *options = &sampler->options;
	const struct event *event = &options->events[index];
	bool has_probe = event->probe[0] != '\0';
	for (size_t i = 0; event->group && i < options->nr_events; i++)
		has_probe |=
			options->events[i].group == event->group && options->events[i].probe[0];
	return options->inherit && !options->system_wide && !has_probe;
}

void ladder_fill_attr(struct sampler *sampler, size_t index)
{
	const struct event *event = &sampler->events[index];
	const struct sampler_options *options = &sampler->options;
	struct perf_event_attr *attr = &sampler->attrs[index];
	/* What the kernel did not know at the probe stays off. */
	const struct perf_event_attr known = *attr;
	bool first_time = attr->size == 0;
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_type = sample_type(sampler, index),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.disabled = 1,
		.inherit = may_inherit(sampler, index),
		.exclude_user = !event->user,
		.exclude_kernel = !event->kernel || sampler->user_only,
		.exclude_guest = event->host_only,
		.exclude_hv = !event->hypervisor || sampler->user_only,
		/* The clocks honour it (6.18: an idle CPU gives 2 samples per second with it, 998 without). */
		.exclude_idle = options->system_wide,
		.enable_on_exec = options->enable_on_exec,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.precise_ip = (unsigned)event->precise & 3u,
	};
	event_fill_attr(event, attr);
	/* One event tells of processes; that is enough. */
	if (index == 0) {
		attr->mmap = 1;
		attr->mmap2 = 1;
		attr->comm = 1;
		attr->comm_exec = 1;
		attr->task = 1;
		/* No build_id: it would stand in the place of device and inode, and a file's maker chooses it. */
	}
	if (ladder_dumps_stacks(sampler)) {
		attr->sample_regs_user = SAMPLER_USER_REGS;
		attr->sample_stack_user = sampler->dump_bytes;
		attr->exclude_callchain_user = !CHAIN_CROSSES_STACKS;
	}
	if (sampler->opened[index].paced) {
		attr->sample_period = 1;
	} else if (sampler->opened[index].frequency_hz) {
		attr->freq = 1;
		attr->sample_freq = sampler->opened[index].frequency_hz;
	} else {
		attr->sample_period = sampler->opened[index].period;
	}
	if (!first_time) {
		attr->read_format = known.read_format;
		attr->precise_ip = known.precise_ip;
	}
}

void ladder_fill_format(struct sampler *sampler)
{
	const struct perf_event_attr *attr = &sampler->attrs[0];
	uint64_t type = 0;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		type |= sampler->attrs[i].sample_type;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		sampler->opened[i].without_period = type != sampler->attrs[i].sample_type;
	sampler->format = (struct record_format){
		.sample_type = type,
		.read_format = attr->read_format,
		.regs_user = attr->sample_regs_user,
		.sample_id_all = true,
		.inodes_only = true,
	};
}

/* ---- probing ---- */

static int32_t first_pid(const struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;
	if (options->nr_pids)
		return options->pids[0];
	return options->nr_tids ? options->tids[0] : -1;
}

/* A leader that has ended has threads that have not: the first that can be opened, else -ESRCH. */
static int open_on_any_thread(const struct sampler *sampler, const struct perf_event_attr *attr)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", first_pid(sampler));
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	DIR *dir = opendir(path);
	privilege_restore(&before);
	const struct dirent *entry;
	int fd = -ESRCH;
	while (dir && fd == -ESRCH && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0)
			fd = sampler_open_on(sampler, attr, atoi(entry->d_name),
					     sampler->rings[0].cpu, -1);
	if (dir)
		closedir(dir);
	return fd;
}

static int open_on_target(const struct sampler *sampler, const struct perf_event_attr *attr)
{
	int fd = sampler_open_on(sampler, attr, first_pid(sampler), sampler->rings[0].cpu, -1);
	return fd == -ESRCH && sampler->options.nr_pids ? open_on_any_thread(sampler, attr) : fd;
}

/* Opens and closes. 0 or -errno. */
static int probe(struct sampler *sampler, size_t index)
{
	struct perf_event_attr attr = sampler->attrs[index];
	int fd = open_on_target(sampler, &attr);
	/* What older kernels do not have: PERF_FORMAT_LOST is of 6.0. */
	if (fd == -EINVAL && attr.read_format & PERF_FORMAT_LOST) {
		attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		fd = open_on_target(sampler, &attr);
	}
	if (fd < 0)
		return fd;
	close(fd);
	sampler->attrs[index] = attr;
	return 0;
}

static bool has_no_counter(int code)
{
	return code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP;
}

/* Arm's kernels take any precise_ip and ignore it (6.1): to ask would only look like precision. */
#if defined(__aarch64__)
enum { MOST_PRECISE = 0 };
#else
enum { MOST_PRECISE = 2 };
#endif

/* No software event knows where the CPU was, though the kernel takes precision for whatever it is asked. */
static bool may_be_precise(const struct event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT &&
	       event->type != PERF_TYPE_BREAKPOINT && !event->probe[0];
}

/* Cycles as precise as the machine can: skid moves samples to later instructions. */
static int probe_precise(struct sampler *sampler, size_t index)
{
	const struct event *event = &sampler->events[index];
	int result = -EOPNOTSUPP;
	const bool is_open = event->most_precise || (event->cycles && !event->precise);
	const int most = event->most_precise && !may_be_precise(event) ? 0
			 : event->most_precise ? MOST_PRECISE + (MOST_PRECISE > 0)
			 : is_open	       ? MOST_PRECISE
					       : event->precise;
	const int least = is_open ? 0 : event->precise;
	for (int precise = most; precise >= least && result; precise--) {
		sampler->attrs[index].precise_ip = (unsigned)precise & 3;
		result = probe(sampler, index);
		if (!has_no_counter(result) && result != -EINVAL)
			break;
	}
	return result;
}

static int fall_back_to_clock(struct sampler *sampler, size_t index, struct error *error)
{
	static const char clock[] = "cpu-clock";
	const struct event asked = sampler->events[index];
	struct event *event = &sampler->events[index];
	event_parse(clock, strlen(clock), event, error);
	event->user = asked.user;
	event->kernel = asked.kernel;
	event->hypervisor = asked.hypervisor;
	sampler->stands_in[index] = true;
	sampler->attrs[index].size = 0;
	ladder_fill_attr(sampler, index);
	return sampler_note_event_fallback(sampler, index, error,
					   SAMPLER_NO_COUNTER
					   ": cpu-clock stands in for " FALLBACK_EVENTS);
}

static bool is_forbidden(int code)
{
	return code == -EACCES || code == -EPERM;
}

/* *result is what the kernel said about the event: now without the kernel's part. */
static int fall_back_to_user(struct sampler *sampler, size_t index, int *result,
			     struct error *error)
{
	sampler->user_only = true;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		ladder_fill_attr(sampler, i);
	*result = probe_precise(sampler, index);
	/* Still forbidden: it was not about the kernel. */
	if (is_forbidden(*result))
		return 0;
	return sampler_note_fallback(sampler, error,
				     "this user may not sample the kernel "
				     "(kernel.perf_event_paranoid = %ld): user code only",
				     permission_level());
}

static int descend(struct sampler *sampler, size_t index, struct error *error)
{
	const struct event *event = &sampler->events[index];
	int result = probe_precise(sampler, index), failed = 0;
	if (is_forbidden(result) && !sampler->user_only && event->kernel && event->user &&
	    first_pid(sampler) >= 0)
		failed = fall_back_to_user(sampler, index, &result, error);
	if (!failed && has_no_counter(result) && event->cycles) {
		failed = fall_back_to_clock(sampler, index, error);
		if (!failed)
			result = probe(sampler, index);
	}
	if (failed)
		return failed;
	return result ? advise_open(sampler, index, first_pid(sampler), result, error) : 0;
}

/* Most precise (P) is fine with none. */
static int note_imprecise(struct sampler *sampler, size_t index, struct error *error)
{
	if (!sampler->options.events[index].precise || may_be_precise(&sampler->events[index]))
		return 0;
	sampler->attrs[index].precise_ip = 0;
	return sampler_note_event_fallback(
		sampler, index, error,
		"not precise, as only the CPU's counters can be: " FALLBACK_EVENTS);
}

/* Refuses what would open and show nothing. */
static int refuse_empty(const struct sampler *sampler, size_t index, struct error *error)
{
	const struct event *event = &sampler->events[index];
	if (!event->user && sampler->user_only)
		return advise_open(sampler, index, first_pid(sampler), -EACCES, error);
	if (event->happens_in_user && !event->user) {
		error_set(error, -EINVAL,
			  "'%s' happens in user code: the kernel shows nothing of it",
			  event->asked);
		return error_remedy(error, "leave the modifier out");
	}
	if (!event->happens_in_kernel || (event->kernel && !sampler->user_only))
		return 0;
	permission_refuse(error, -EACCES,
			  event->asked_user_only ? SAMPLER_NOT_REFUSED : SAMPLER_REFUSED_KERNEL,
			  "'%s' happens in the kernel: user code alone shows nothing of it",
			  event->asked);
	if (event->asked_user_only)
		error_remedy(error, "leave the modifier :u out");
	return -EACCES;
}

/*
 * Software events of one kind hit at one moment, and the kernel (6.18) writes the first one's id into
 * the records of all: nobody can tell which record is whose. Clocks tick on their own.
 */
static int refuse_inseparable(const struct sampler *sampler, size_t index, struct error *error)
{
	const struct event *event = &sampler->events[index];
	for (size_t i = 0; i < index; i++) {
		const struct event *other = &sampler->events[i];
		bool is_same = event->type == PERF_TYPE_SOFTWARE && other->type == event->type &&
			       other->config == event->config && !event->clock;
		bool meets = (event->user && other->user) || (event->kernel && other->kernel);
		if (!is_same || !meets)
			continue;
		error_set(error, -EINVAL, "the kernel cannot tell '%s' and '%s' apart",
			  other->asked, event->asked);
		return error_remedy(error,
				    "record one of them; a report shows user and kernel apart with "
				    "--user and --kernel");
	}
	return 0;
}

/* ---- groups ---- */

uint32_t ladder_group_leader(const struct sampler *sampler, uint32_t event)
{
	const uint8_t group = sampler->options.events[event].group;
	for (uint32_t i = 0; group && i < event; i++)
		if (sampler->options.events[i].group == group)
			return i;
	return event;
}

static int cannot_group(const struct sampler *sampler, uint32_t event, int code,
			struct error *error)
{
	error_set(error, code, "'%s' cannot be counted together with '%s': %s",
		  sampler->options.events[event].asked,
		  sampler->options.events[ladder_group_leader(sampler, event)].asked,
		  code == -EINVAL
			  ? "the CPU has too few counters, or the events are of different PMUs"
			  : strerror(-code));
	return error_remedy(error, "leave out the braces, or some of the events between them");
}

/* Each event opens alone; now all of a group together. */
static int probe_groups(const struct sampler *sampler, struct error *error)
{
	int fds[SAMPLER_MAX_EVENTS], result = 0;
	uint32_t nr = 0;
	for (; !result && nr < sampler->options.nr_events; nr++) {
		const uint32_t first = ladder_group_leader(sampler, nr);
		struct perf_event_attr attr = sampler->attrs[nr];
		fds[nr] = -1;
		if (!sampler->options.events[nr].group)
			continue;
		/* Arm's kernels (6.1) take any group of events that are off, and never count one that is too large. */
		attr.enable_on_exec = 1;
		fds[nr] = sampler_open_on(sampler, &attr, first_pid(sampler), sampler->rings[0].cpu,
					  first == nr ? -1 : fds[first]);
		/* A leader that has ended: its threads will tell. */
		if (fds[nr] == -ESRCH && first == nr)
			break;
		if (fds[nr] < 0)
			result = cannot_group(sampler, nr, fds[nr], error);
	}
	while (nr-- > 0)
		if (fds[nr] >= 0)
			close(fds[nr]);
	return result;
}

/* The name with the modifiers that say what is really counted. */
static void name_opened(struct sampler *sampler, size_t index)
{
	const struct event *event = &sampler->events[index];
	const struct perf_event_attr *attr = &sampler->attrs[index];
	struct sampler_opened *opened = &sampler->opened[index];
	bool whole = event->user && event->kernel && !sampler->user_only;
	char modifiers[9];
	snprintf(modifiers, sizeof(modifiers), "%s%s%s%s%.*s",
		 whole || attr->exclude_user ? "" : "u", whole || attr->exclude_kernel ? "" : "k",
		 whole || attr->exclude_hv ? "" : "h", attr->exclude_guest ? "H" : "",
		 (int)attr->precise_ip, "ppp");
	snprintf(opened->name, sizeof(opened->name), "%.200s%s%s", event->name,
		 modifiers[0] ? ":" : "", modifiers);
	opened->clock = event->clock;
	opened->unit = event_unit(event->type, event->config);
	if (event->probe[0] || event->function[0])
		opened->unit = WEIGHT_HITS;
}

int ladder_descend(struct sampler *sampler, struct error *error)
{
	size_t nr = sampler->options.nr_events;
	for (size_t i = 0; i < nr; i++)
		sampler->events[i] = sampler->options.events[i];
	/* Only all events being user-only makes the whole profile so. */
	sampler->user_only = true;
	for (size_t i = 0; i < nr; i++)
		sampler->user_only = sampler->user_only && sampler->events[i].asked_user_only;
	/* Any dump size and period do for the probe: they are chosen when it is known what opens. */
	sampler->dump_bytes = 8192;
	for (size_t i = 0; i < nr; i++) {
		sampler->opened[i].period = 1000000;
		ladder_fill_attr(sampler, i);
	}
	for (size_t i = 0; i < nr; i++) {
		int result = descend(sampler, i, error);
		if (!result)
			result = note_imprecise(sampler, i, error);
		if (!result)
			result = refuse_empty(sampler, i, error);
		if (!result)
			result = refuse_inseparable(sampler, i, error);
		if (result)
			return result;
	}
	for (size_t i = 0; i < nr; i++)
		name_opened(sampler, i);
	return probe_groups(sampler, error);
}

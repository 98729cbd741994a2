/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The cause is set; whose rules it comes from. */
static void refused_by(struct error *error, enum sampler_refusal refusal)
{
	error->refusal = (int)refusal;
}

static long paranoid_level(void)
{
	return machine_sysctl("kernel/perf_event_paranoid", 2);
}

/* The kernel's own rules allow it: whoever refuses it is somebody else. */
static bool allowed_by_rules(const struct sampler *sampler, size_t event, int32_t pid, int code)
{
	const struct event *opened = &sampler->options.events[event];
	const long paranoid = paranoid_level();
	/* By those rules it would be EACCES (kernel/events/core.c). */
	if (code == -EPERM || machine_may_sample())
		return true;
	if (pid < 0)
		return paranoid < 1;
	return paranoid < 2 ||
	       (paranoid == 2 && (!opened->kernel || (sampler->user_only && opened->user)));
}

/* Not by the rules that can be read: a container's filter, or a security module. */
static int advise_outsider(int code, struct error *error)
{
	if (machine_is_filtered()) {
		error_set(error, code,
			  "a seccomp filter, as containers have, refuses perf_event_open: %s",
			  strerror(-code));
		error_remedy(error, "allow it (docker run --security-opt seccomp=FILE --cap-add "
				    "PERFMON), or run ctop outside of the container");
		refused_by(error, SAMPLER_REFUSED_FILTER);
		return code;
	}
	error_set(error, code,
		  "a security module refuses perf_event_open, which "
		  "kernel.perf_event_paranoid = %ld allows: %s",
		  paranoid_level(), strerror(-code));
	error_remedy(error, "a container's filter, SELinux or lockdown does that: its log is in "
			    "journalctl -k; or run it with sudo, outside of a container");
	refused_by(error, SAMPLER_REFUSED_MODULE);
	return code;
}

/* Some distributions' kernels have levels above 2. */
static const char *whose_level(long paranoid)
{
	return paranoid == 3  ? ", as Debian and Android have it,"
	       : paranoid > 3 ? ", as Ubuntu has it,"
			      : "";
}

static int advise_level(int code, struct error *error)
{
	const long paranoid = paranoid_level();
	error_set(error, code,
		  "kernel.perf_event_paranoid = %ld%s allows no sampling without privilege",
		  paranoid, whose_level(paranoid));
	error_remedy(error, "run it with sudo, or: sudo sysctl kernel.perf_event_paranoid=2");
	refused_by(error, SAMPLER_REFUSED_ALL);
	return code;
}

static const char *code_name(int code)
{
	return code == -EPERM ? "EPERM" : code == -EACCES ? "EACCES" : "ENOSYS";
}

int advise_ring(int code, struct error *error)
{
	const bool is_level = code == -EACCES && !machine_may_sample() && paranoid_level() > 2;
	if (is_level || code != -ENOSYS || machine_is_filtered()) {
		(is_level ? advise_level : advise_outsider)(code, error);
		snprintf(error->tried, sizeof(error->tried),
			 "perf_event_open(a ring for records) -> %s", code_name(code));
		return code;
	}
	error_set(error, code, "this kernel has no perf_event_open");
	error_remedy(error, "it needs CONFIG_PERF_EVENTS");
	return code;
}

static int advise_cpus(const struct sampler *sampler, int code, struct error *error)
{
	error_set(error, code,
		  "sampling %s is not allowed to this user "
		  "(kernel.perf_event_paranoid = %ld)",
		  sampler->options.cgroup_fd > 0 ? "a cgroup" : "whole CPUs", paranoid_level());
	error_remedy(error, "run it with sudo, or name a process of your own: -p PID");
	refused_by(error, SAMPLER_REFUSED_CPUS);
	return code;
}

static int advise_permission(const struct sampler *sampler, size_t event, int32_t pid, int code,
			     struct error *error)
{
	const char *asked = sampler->options.events[event].asked;
	const long paranoid = paranoid_level();
	const bool is_allowed = allowed_by_rules(sampler, event, pid, code);
	if (pid < 0)
		return is_allowed ? advise_outsider(code, error)
				  : advise_cpus(sampler, code, error);
	if (sampler->options.events[event].probe[0] && geteuid() != 0) {
		error_set(error, code, "'%s' changes code of the machine: that needs CAP_SYS_ADMIN",
			  asked);
		error_remedy(error, "run it with sudo");
		refused_by(error, SAMPLER_REFUSED_PROBE);
		return code;
	}
	struct process_facts facts = machine_process(pid);
	const bool is_bound = !machine_may_sample() && code != -EPERM;
	if (facts.state == PROCESS_KERNEL && is_bound) {
		error_set(error, code,
			  "%d is a kernel thread, and this user may not sample the kernel", pid);
		error_remedy(error, "run it with sudo");
		refused_by(error, SAMPLER_REFUSED_CLOSED);
	} else if (facts.uid == geteuid() && facts.effective_uid != facts.uid && is_bound) {
		error_set(error, code,
			  "process %d is setuid: it runs with the rights of uid %u, not yours", pid,
			  facts.effective_uid);
		error_remedy(error, "run it with sudo");
		refused_by(error, SAMPLER_REFUSED_CLOSED);
	} else if (facts.uid == geteuid() && facts.closed && is_bound) {
		error_set(error, code,
			  "process %d has closed itself to other processes (it is not dumpable)",
			  pid);
		error_remedy(error, "run it with sudo");
		refused_by(error, SAMPLER_REFUSED_CLOSED);
	} else if (facts.uid != geteuid() && is_bound) {
		error_set(error, code, "process %d belongs to another user (uid %u, you are %u)",
			  pid, facts.uid, geteuid());
		error_remedy(error, "run it with sudo, or as that user");
		refused_by(error, SAMPLER_REFUSED_OTHERS);
	} else if (is_bound && facts.apart && !machine_in_first_user_namespace()) {
		error_set(error, code,
			  "process %d is outside of this user namespace, whose root has no rights "
			  "over it",
			  pid);
		error_remedy(error, "run ctop outside of the container");
		refused_by(error, SAMPLER_REFUSED_CONTAINER);
	} else if (is_allowed) {
		return advise_outsider(code, error);
	} else if (paranoid > 2) {
		return advise_level(code, error);
	} else {
		error_set(error, code,
			  "'%s' samples the kernel, which is not allowed to this user "
			  "(kernel.perf_event_paranoid = %ld)",
			  asked, paranoid);
		error_remedy(error,
			     "run it with sudo, or: sudo sysctl kernel.perf_event_paranoid=1");
		refused_by(error, SAMPLER_REFUSED_KERNEL);
	}
	return code;
}

/* A cgroup's folder was opened; what the kernel says of it as one to be counted. */
static int advise_cgroup(int code, struct error *error)
{
	if (code == -EINVAL) {
		error_set(error, code, "this kernel cannot count by cgroup");
		error_remedy(error, "it needs CONFIG_CGROUP_PERF; -p PID,PID names processes");
	} else {
		error_set(error, code, "the kernel does not count by cgroups of version 2: %s",
			  strerror(-code));
		error_remedy(error, "a hierarchy of version 1 may have perf_event: see "
				    "/proc/cgroups; -p PID,PID names processes");
	}
	return code;
}

/* The kernel refuses the place. */
static int advise_probe(const struct event *event, int code, struct error *error)
{
	if (code == -ENOENT) {
		error_set(error, code, "there is no %s for '%s'",
			  event->happens_in_user ? "such file" : "such function in the kernel",
			  event->asked);
		error_remedy(error,
			     event->happens_in_user
				     ? "the path is looked up in this mount namespace: ls -l %s"
				     : "grep -w %s /proc/kallsyms",
			     event->probe);
		return code;
	}
	error_set(error, code, "the kernel puts no probe at '%s': %s", event->asked,
		  strerror(-code));
	error_remedy(error, "the offset is one of the file's, at the beginning of an instruction");
	return code;
}

static bool is_of_no_cpu(const struct event *event)
{
	return event->type != PERF_TYPE_HARDWARE && event->type != PERF_TYPE_SOFTWARE &&
	       event->type != PERF_TYPE_HW_CACHE && event->type != PERF_TYPE_RAW &&
	       event->type != PERF_TYPE_TRACEPOINT;
}

/* Without the cgroup the kernel takes the event: it is the cgroup that it does not. */
static bool event_opens_on_cpu(const struct sampler *sampler, size_t event)
{
	int fd = perf_open(&sampler->attrs[event], -1, sampler->rings[0].cpu);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* "perf_event_open(cycles:u) -> EACCES (also tried with the kernel's part)" */
static void tell_attempt(const struct sampler *sampler, size_t event, int code, struct error *error)
{
	const struct event *asked = &sampler->options.events[event];
	const char *name = sampler->stands_in[event] ? "cpu-clock" : asked->asked;
	const bool stepped = sampler->user_only && !asked->asked_user_only;
	snprintf(error->tried, sizeof(error->tried), "perf_event_open(%.60s%s) -> %s%s", name,
		 stepped && !strchr(name, ':') ? ":u" : "", code_name(code),
		 stepped ? " (also tried with the kernel's part)" : "");
}

int advise_open(const struct sampler *sampler, size_t event, int32_t pid, int code,
		struct error *error)
{
	const struct event *opened = &sampler->options.events[event];
	const char *asked = opened->asked;
	bool is_place = code == -ENOENT || code == -EINVAL || code == -EIO || code == -EILSEQ ||
			code == -EOPNOTSUPP || code == -ENOEXEC;
	if (opened->probe[0] && is_place)
		return advise_probe(opened, code, error);
	if (code == -EINVAL && opened->breakpoint == HW_BREAKPOINT_R) {
		error_set(error, code, "this CPU cannot watch for reads alone: '%s'", asked);
		error_remedy(error, "watch for reads and writes: :rw");
		return code;
	}
	if (code == -EINVAL && is_of_no_cpu(opened)) {
		error_set(error, code, "'%s' can only be counted, not sampled", asked);
		error_remedy(error, "'ctop list' shows what can be sampled");
		return code;
	}
	const bool is_about_cgroup = code == -EBADF || code == -EINVAL || code == -ENOENT;
	if (pid < 0 && sampler->options.cgroup_fd > 0 && is_about_cgroup &&
	    event_opens_on_cpu(sampler, event))
		return advise_cgroup(code, error);
	switch (-code) {
	case EACCES:
	case EPERM:
		advise_permission(sampler, event, pid, code, error);
		tell_attempt(sampler, event, code, error);
		return code;
	case ESRCH:
		error_set(error, code, "process %d has ended", pid);
		error_remedy(error, "ps -e lists the processes");
		return code;
	case EMFILE:
	case ENFILE:
		error_set(error, code, "no more descriptors: %s", strerror(-code));
		error_remedy(error, code == -EMFILE ? "raise the limit: ulimit -n"
						    : "raise it: sudo sysctl fs.file-max");
		return code;
	case ENOMEM:
		error_set(error, code, "out of memory");
		error_remedy(error, "try smaller rings: -m 64");
		return code;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		error_set(error, code, "this machine cannot count '%s'", asked);
		error_remedy(error, "a virtual machine often has no counters: "
				    "cpu-clock, task-clock and page-faults are always there");
		return code;
	case EBUSY:
		error_set(error, code, "the counters for '%s' are taken", asked);
		error_remedy(error, "end other profilers, or the NMI watchdog: "
				    "sudo sysctl kernel.nmi_watchdog=0");
		return code;
	case ENOSYS:
		return advise_ring(code, error);
	default:
		error_set(error, code, "the kernel refuses '%s': %s", asked, strerror(-code));
		error_remedy(error, "try -e cpu-clock, and --call-graph no");
		return code;
	}
}

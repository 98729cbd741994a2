/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kernel's own rules allow it: whoever refuses it is somebody else. */
static bool allowed_by_rules(const struct sampler *sampler, size_t event, int32_t pid, int code)
{
	const struct event *opened = &sampler->options.events[event];
	const bool in_kernel = opened->kernel && !(sampler->user_only && opened->user);
	/* By those rules it would be EACCES (kernel/events/core.c). */
	return code == -EPERM || machine_may_sample() ||
	       permission_is_open(pid < 0     ? PERMISSION_CPUS
				  : in_kernel ? PERMISSION_KERNEL
					      : PERMISSION_OWN);
}

/* Not by the rules that can be read: a container's filter, or a security module. */
static int advise_outsider(int code, struct error *error)
{
	if (machine_is_filtered())
		return permission_refuse(
			error, code, SAMPLER_REFUSED_FILTER,
			"a seccomp filter, as containers have, refuses perf_event_open: %s",
			strerror(-code));
	return permission_refuse(error, code, SAMPLER_REFUSED_MODULE,
				 "a security module refuses perf_event_open, which "
				 "kernel.perf_event_paranoid = %ld allows: %s",
				 permission_level(), strerror(-code));
}

/* Some distributions' kernels have levels above 2. */
static const char *whose_level(long level)
{
	return level == 3  ? ", as Debian and Android have it,"
	       : level > 3 ? ", as Ubuntu has it,"
			   : "";
}

static int advise_level(int code, struct error *error)
{
	const long level = permission_level();
	return permission_refuse(
		error, code, SAMPLER_REFUSED_ALL,
		"kernel.perf_event_paranoid = %ld%s allows no sampling without privilege", level,
		whose_level(level));
}

static const char *code_name(int code)
{
	return code == -EPERM ? "EPERM" : code == -EACCES ? "EACCES" : "ENOSYS";
}

int advise_ring(int code, struct error *error)
{
	const enum sampler_refusal refusal = permission_refused(code);
	if (refusal == SAMPLER_NOT_REFUSED) {
		error_set(error, code, "this kernel has no perf_event_open");
		return error_remedy(error, "it needs CONFIG_PERF_EVENTS");
	}
	(refusal == SAMPLER_REFUSED_ALL ? advise_level : advise_outsider)(code, error);
	snprintf(error->tried, sizeof(error->tried), "perf_event_open(a ring for records) -> %s",
		 code_name(code));
	return code;
}

/* The kernel's rules about this process, whatever the level; 0: it is not about it. */
static int advise_process(int32_t pid, int code, struct error *error)
{
	const struct process_facts facts = machine_process(pid);
	if (facts.state == PROCESS_KERNEL)
		return permission_refuse(
			error, code, SAMPLER_REFUSED_CLOSED,
			"%d is a kernel thread, and this user may not sample the kernel", pid);
	if (facts.uid != geteuid())
		return permission_refuse(error, code, SAMPLER_REFUSED_OTHERS,
					 "process %d belongs to another user (uid %u, you are %u)",
					 pid, facts.uid, geteuid());
	if (facts.effective_uid != facts.uid)
		return permission_refuse(
			error, code, SAMPLER_REFUSED_CLOSED,
			"process %d is setuid: it runs with the rights of uid %u, not yours", pid,
			facts.effective_uid);
	if (facts.closed)
		return permission_refuse(
			error, code, SAMPLER_REFUSED_CLOSED,
			"process %d is closed to other processes (it is not dumpable)", pid);
	if (facts.apart && !machine_in_first_user_namespace())
		return permission_refuse(
			error, code, SAMPLER_REFUSED_CONTAINER,
			"process %d is outside of this user namespace, whose root has no rights "
			"over it",
			pid);
	return 0;
}

static int advise_permission(const struct sampler *sampler, size_t event, int32_t pid, int code,
			     struct error *error)
{
	const char *asked = sampler->options.events[event].asked;
	const bool is_allowed = allowed_by_rules(sampler, event, pid, code);
	if (pid < 0 && !is_allowed)
		return permission_refuse(error, code, SAMPLER_REFUSED_CPUS,
					 "sampling %s is not allowed for this user "
					 "(kernel.perf_event_paranoid = %ld)",
					 sampler->options.cgroup_fd > 0 ? "a cgroup" : "whole CPUs",
					 permission_level());
	if (pid >= 0 && sampler->options.events[event].probe[0] && geteuid() != 0)
		return permission_refuse(
			error, code, SAMPLER_REFUSED_PROBE,
			"'%s' changes code of the machine: that needs CAP_SYS_ADMIN", asked);
	if (pid >= 0 && !machine_may_sample() && code != -EPERM && advise_process(pid, code, error))
		return code;
	if (is_allowed)
		return advise_outsider(code, error);
	if (!permission_is_open(PERMISSION_OWN))
		return advise_level(code, error);
	return permission_refuse(error, code, SAMPLER_REFUSED_KERNEL,
				 "'%s' samples the kernel, which is not allowed for this user "
				 "(kernel.perf_event_paranoid = %ld)",
				 asked, permission_level());
}

/* A cgroup's directory was opened; what the kernel says of it as one to be counted. */
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
		return error_remedy(
			error,
			event->happens_in_user
				? "the path is looked up in this mount namespace: ls -l %s"
				: "grep -w %s /proc/kallsyms",
			event->probe);
	}
	error_set(error, code, "the kernel rejects the probe '%s': %s", event->asked,
		  strerror(-code));
	return error_remedy(error,
			    "the offset is one of the file's, at the beginning of an instruction");
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
	const bool fell_back = sampler->user_only && !asked->asked_user_only;
	snprintf(error->tried, sizeof(error->tried), "perf_event_open(%.60s%s) -> %s%s", name,
		 fell_back && !strchr(name, ':') ? ":u" : "", code_name(code),
		 fell_back ? " (also tried with the kernel's part)" : "");
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
		return error_remedy(error, "watch for reads and writes: :rw");
	}
	if (code == -EINVAL && is_of_no_cpu(opened)) {
		error_set(error, code, "'%s' can only be counted, not sampled", asked);
		return error_remedy(error, "'ctop list' shows what can be sampled");
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
		return error_remedy(error, "ps -e lists the processes");
	case EMFILE:
	case ENFILE:
		error_set(error, code, "no more descriptors: %s", strerror(-code));
		return error_remedy(error, code == -EMFILE ? "raise the limit: ulimit -n"
							   : "raise it: sudo sysctl fs.file-max");
	case ENOMEM:
		error_set(error, code, "out of memory");
		return error_remedy(error, "try smaller rings: -m 64");
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		error_set(error, code, "this machine cannot count '%s'", asked);
		return error_remedy(error,
				    "a virtual machine often has no counters: "
				    "cpu-clock, task-clock and page-faults are always there");
	case ENOSPC:
		error_set(error, code, "no breakpoint register is left for '%s'", asked);
		return error_remedy(error, "watch fewer addresses (x86 has 4 registers), or end "
					   "what else watches some: gdb, perf");
	case EBUSY:
		error_set(error, code, "the counters for '%s' are taken", asked);
		return error_remedy(error, "end other profilers, or the NMI watchdog: "
					   "sudo sysctl kernel.nmi_watchdog=0");
	case ENOSYS:
		return advise_ring(code, error);
	default:
		error_set(error, code, "the kernel refuses '%s': %s", asked, strerror(-code));
		return error_remedy(error, "try -e cpu-clock, and --call-graph no");
	}
}

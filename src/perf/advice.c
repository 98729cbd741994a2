/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int advise_permission(const struct sampler *sampler, size_t event, int32_t pid, int code,
			     struct error *error)
{
	long paranoid = machine_sysctl("kernel/perf_event_paranoid", 2);
	if (pid < 0) {
		error_set(error, code,
			  "sampling whole CPUs is not allowed to this user "
			  "(kernel.perf_event_paranoid = %ld)",
			  paranoid);
		error_remedy(error, "run it with sudo, or name a process of your own: -p PID");
		return code;
	}
	if (sampler->options.events[event].probe[0] && geteuid() != 0) {
		error_set(error, code, "'%s' changes code of the machine: that needs CAP_SYS_ADMIN",
			  sampler->options.events[event].asked);
		error_remedy(error, "run it with sudo");
		return code;
	}
	struct process_facts facts = machine_process(pid);
	if (facts.state == PROCESS_KERNEL) {
		error_set(error, code,
			  "%d is a kernel thread, and this user may not sample the kernel", pid);
		error_remedy(error, "run it with sudo");
	} else if (facts.uid == geteuid() && facts.effective_uid != facts.uid) {
		error_set(error, code,
			  "process %d is setuid: it runs with the rights of uid %u, not yours", pid,
			  facts.effective_uid);
		error_remedy(error, "run it with sudo");
	} else if (facts.uid == geteuid() && facts.closed && geteuid() != 0) {
		error_set(error, code,
			  "process %d has closed itself to other processes (it is not dumpable)",
			  pid);
		error_remedy(error, "run it with sudo");
	} else if (facts.uid != geteuid() && geteuid() != 0) {
		error_set(error, code, "process %d belongs to another user (uid %u, you are %u)",
			  pid, facts.uid, geteuid());
		error_remedy(error, "run it with sudo, or as that user");
	} else if (paranoid > 2) {
		error_set(error, code,
			  "kernel.perf_event_paranoid = %ld allows no sampling without privilege",
			  paranoid);
		error_remedy(error,
			     "run it with sudo, or: sudo sysctl kernel.perf_event_paranoid=2");
	} else if (paranoid > 1 && geteuid() != 0 && !sampler->options.events[event].user) {
		error_set(error, code,
			  "'%s' samples the kernel, which is not allowed to this user "
			  "(kernel.perf_event_paranoid = %ld)",
			  sampler->options.events[event].asked, paranoid);
		error_remedy(error,
			     "run it with sudo, or: sudo sysctl kernel.perf_event_paranoid=1");
	} else {
		error_set(error, code, "the kernel refuses %s on process %d: %s",
			  sampler->options.events[event].asked, pid, strerror(-code));
		error_remedy(error, "a setuid program, seccomp or an LSM may forbid it: "
				    "run it with sudo, outside of a container");
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

int advise_open(const struct sampler *sampler, size_t event, int32_t pid, int code,
		struct error *error)
{
	const struct event *opened = &sampler->options.events[event];
	const char *asked = opened->asked;
	bool is_place = code == -ENOENT || code == -EINVAL || code == -EIO || code == -EILSEQ ||
			code == -EOPNOTSUPP || code == -ENOEXEC;
	if (opened->probe[0] && is_place)
		return advise_probe(opened, code, error);
	if (code == -EINVAL && is_of_no_cpu(opened)) {
		error_set(error, code, "'%s' can only be counted, not sampled", asked);
		error_remedy(error, "'ctop list' shows what can be sampled");
		return code;
	}
	switch (-code) {
	case EACCES:
	case EPERM:
		return advise_permission(sampler, event, pid, code, error);
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
		error_set(error, code, "this kernel has no perf_event_open");
		error_remedy(error,
			     "it needs CONFIG_PERF_EVENTS, and no seccomp filter against it");
		return code;
	default:
		error_set(error, code, "the kernel refuses '%s': %s", asked, strerror(-code));
		error_remedy(error, "try -e cpu-clock, and --call-graph no");
		return code;
	}
}

/* SPDX-License-Identifier: MIT */
#include <ctop/perf/permission.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <ctop/perf/machine.h>

#define SET_LEVEL(level) "sudo sysctl kernel.perf_event_paranoid=" #level

const struct permission_row permission_rows[NR_PERMISSIONS] = {
	[PERMISSION_OWN] = {2, SET_LEVEL(2), "own processes, user code", "user code",
			    "no sampling without privilege"},
	[PERMISSION_KERNEL] = {1, SET_LEVEL(1), "own processes, the kernel's part too",
			       "the kernel's part", "own processes, user code only"},
	[PERMISSION_CPUS] = {0, SET_LEVEL(0), "whole CPUs; stacks of own processes only", "-a",
			     "own processes, no whole CPUs"},
};

#define WAY(name)	  (1u << WAY_##name)
#define WAYS_TO_PRIVILEGE (WAY(CAPABILITIES) | WAY(ROOT))

const struct refusal_row refusal_rows[NR_SAMPLER_REFUSALS] = {
	[SAMPLER_NOT_REFUSED] = {"", 0, PERMISSION_OWN},
	[SAMPLER_REFUSED_ALL] = {"run it with sudo, or: " SET_LEVEL(2),
				 WAYS_TO_PRIVILEGE | WAY(LEVEL), PERMISSION_OWN},
	[SAMPLER_REFUSED_KERNEL] = {"run it with sudo, or: " SET_LEVEL(1),
				    WAYS_TO_PRIVILEGE | WAY(LEVEL), PERMISSION_KERNEL},
	[SAMPLER_REFUSED_CPUS] = {"run it with sudo, or name a process of your own: -p PID",
				  WAYS_TO_PRIVILEGE | WAY(LEVEL), PERMISSION_CPUS},
	[SAMPLER_REFUSED_OTHERS] = {"run it with sudo, or as that user",
				    WAY(OWNER) | WAYS_TO_PRIVILEGE, PERMISSION_OWN},
	[SAMPLER_REFUSED_CLOSED] = {"run it with sudo", WAYS_TO_PRIVILEGE, PERMISSION_OWN},
	[SAMPLER_REFUSED_CONTAINER] = {"run ctop outside of the container", WAY(LEAVE),
				       PERMISSION_OWN},
	[SAMPLER_REFUSED_FILTER] = {"allow it (docker run --security-opt seccomp=FILE --cap-add "
				    "PERFMON), or run ctop outside of the container",
				    WAY(PROFILE) | WAY(LEAVE), PERMISSION_OWN},
	[SAMPLER_REFUSED_MODULE] =
		{"a container's filter, SELinux or lockdown does that: its log is in "
		 "journalctl -k; or run it with sudo, outside of a container",
		 WAY(LOG) | WAY(LEAVE), PERMISSION_OWN},
	[SAMPLER_REFUSED_PROBE] = {"run it with sudo", WAY(ROOT), PERMISSION_OWN},
};

long permission_level(void)
{
	return machine_sysctl("kernel/perf_event_paranoid", 2);
}

bool permission_is_open(enum permission permission)
{
	return permission_level() <= permission_rows[permission].level;
}

enum permission permission_lacking(void)
{
	enum permission permission = PERMISSION_OWN;
	if (machine_may_sample())
		return NR_PERMISSIONS;
	while (permission < NR_PERMISSIONS && permission_is_open(permission))
		permission++;
	return permission;
}

enum sampler_refusal permission_refused(int code)
{
	/* The kernel's own levels answer with EACCES. */
	if (code == -EACCES && !machine_may_sample() && !permission_is_open(PERMISSION_OWN))
		return SAMPLER_REFUSED_ALL;
	if (code != -EACCES && code != -EPERM && code != -ENOSYS)
		return SAMPLER_NOT_REFUSED;
	if (machine_is_filtered())
		return SAMPLER_REFUSED_FILTER;
	return code == -ENOSYS ? SAMPLER_NOT_REFUSED : SAMPLER_REFUSED_MODULE;
}

int permission_refuse(struct error *error, int code, enum sampler_refusal refusal,
		      const char *format, ...)
{
	char cause[sizeof(error->cause)];
	va_list args;
	va_start(args, format);
	vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	error_set(error, code, "%s", cause);
	error_remedy(error, "%s", refusal_rows[refusal].remedy);
	error->refusal = (int)refusal;
	return code;
}

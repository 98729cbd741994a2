/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_MACHINE_H
#define CTOP_PERF_MACHINE_H

/* What this machine lets this process do, by /proc and the process's own rights. Main only. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number from a file below /proc/sys; fallback when it cannot be read. */
long machine_sysctl(const char *name, long fallback);
/* False in containers that have users of their own: root's rights end there. */
bool machine_in_first_user_namespace(void);
/* Has the capability (linux/capability.h), where it counts for the kernel itself. */
bool machine_has_capability(unsigned capability);
/* CAP_PERFMON or CAP_SYS_ADMIN: perf_event_paranoid does not apply. */
bool machine_may_sample(void);
/* A seccomp filter stands between this process and the kernel. */
bool machine_is_filtered(void);
/* The kernel's functions have no addresses for this user. */
bool machine_hides_kernel(void);

#endif

/* SPDX-License-Identifier: MIT */
#include <ctop/system/trace_refusal.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

enum { NO_YAMA = -1 };

static int ptrace_scope(void)
{
	char text[8];
	const int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NO_YAMA;
	const ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	return size > 0 ? atoi(text) : NO_YAMA;
}

enum trace_refusal trace_refusal_of(int scope, bool may_trace_all, bool is_root)
{
	if (scope >= 3)
		return TRACE_REFUSED_TO_ALL;
	if (may_trace_all)
		return is_root ? TRACE_REFUSED_TO_ROOT : TRACE_REFUSED;
	if (is_root)
		return TRACE_REFUSED_IN_CONTAINER;
	return scope == 2   ? TRACE_REFUSED_TO_USERS
	       : scope == 1 ? TRACE_REFUSED_TO_OTHERS
			    : TRACE_REFUSED;
}

bool trace_needs_ancestor(void)
{
	return ptrace_scope() == 1 && !privilege_has(CAP_SYS_PTRACE);
}

enum trace_refusal trace_refusal_find(void)
{
	return trace_refusal_of(ptrace_scope(), privilege_has(CAP_SYS_PTRACE), geteuid() == 0);
}

const char *trace_refusal_words(uint64_t refusal)
{
	static const char *const words[NR_TRACE_REFUSALS] = {
		[TRACE_REFUSED] =
			"the program is another user's, or hides itself: run ctop as root",
		[TRACE_REFUSED_TO_OTHERS] =
			"kernel.yama.ptrace_scope is 1, and ctop has not started the program: "
			"start it with ctop -- CMD, run ctop as root, or sudo sysctl "
			"kernel.yama.ptrace_scope=0",
		[TRACE_REFUSED_TO_USERS] = "kernel.yama.ptrace_scope is 2: run ctop as root",
		[TRACE_REFUSED_TO_ALL] = "kernel.yama.ptrace_scope is 3, until the machine is "
					 "started again with another: nobody may",
		[TRACE_REFUSED_IN_CONTAINER] = "this root has no CAP_SYS_PTRACE: give it to the "
					       "container (docker run --cap-add SYS_PTRACE)",
		[TRACE_REFUSED_TO_ROOT] =
			"the kernel keeps it even from root, as security modules do (cat "
			"/sys/kernel/security/lsm): what these log says which",
	};
	return refusal < NR_TRACE_REFUSALS ? words[refusal] : NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * Runs a command to which the kernel refuses perf_event_open, as some distributions' kernels and containers'
 * seccomp filters do:
 *
 *     refuse EACCES|EPERM|ENOSYS COMMAND [ARG...]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned errno_of(const char *name)
{
	return !strcmp(name, "EACCES") ? EACCES : !strcmp(name, "EPERM") ? EPERM : ENOSYS;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errno_of(argv[1])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("refuse: seccomp");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror("refuse: exec");
	return 1;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/base/privilege.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static uint64_t effective(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3] = {{0}};
	syscall(SYS_capget, &header, words);
	return words[0].effective | (uint64_t)words[1].effective << 32;
}

static bool is_effective(unsigned capability)
{
	return effective() >> capability & 1;
}

/* In a child: what is given up by a case is given up there. 0, or the line that failed. */
static int outcome_of(int (*act)(void))
{
	pid_t child = fork();
	if (child == 0)
		_exit(act());
	int status = -1;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return __LINE__ % 255 + 1;                                                 \
	} while (0)

static int raise_and_restore(void)
{
	privilege_begin();
	const uint64_t quiet = effective();
	NEED(!is_effective(CAP_SYS_PTRACE) && !is_effective(CAP_SYSLOG));
	NEED(privilege_has(CAP_SYS_PTRACE)); /* permitted, not effective */
	errno = EXDEV;
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	NEED(is_effective(CAP_SYS_PTRACE) && !is_effective(CAP_SYSLOG));
	/* One within the other, with a capability in common. */
	struct privilege_before within = privilege_raise(PRIVILEGE_SAMPLE);
	privilege_restore(&within);
	NEED(is_effective(CAP_SYS_PTRACE));
	privilege_restore(&before);
	NEED(effective() == quiet && errno == EXDEV);
	for (int i = 0; i < NR_PRIVILEGES; i++) {
		before = privilege_raise((enum privilege)i);
		NEED(effective() != quiet);
		privilege_restore(&before);
		NEED(effective() == quiet);
	}
	NEED(privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, "/no/such/file", O_RDONLY) == -1);
	NEED(errno == ENOENT && effective() == quiet);
	return 0;
}

static int as_a_plain_user(void)
{
	NEED(setuid(54321) == 0);
	privilege_begin();
	struct privilege_before before = privilege_raise(PRIVILEGE_SAMPLE);
	NEED(effective() == 0 && !before.changed && !privilege_has(CAP_PERFMON));
	privilege_restore(&before);
	NEED(effective() == 0);
	return 0;
}

static void they_are_raised_for_a_moment(void)
{
	if (geteuid() != 0 || !privilege_has(CAP_SYS_ADMIN) || !privilege_has(CAP_SYSLOG) ||
	    !privilege_has(CAP_SYS_PTRACE) || !privilege_has(CAP_IPC_LOCK))
		SKIP("needs root");
	CHECK_EQ(outcome_of(raise_and_restore), 0);
}

static void what_is_not_permitted_is_not_raised(void)
{
	if (geteuid() != 0 || !privilege_has(CAP_SETUID))
		SKIP("needs root");
	CHECK_EQ(outcome_of(as_a_plain_user), 0);
}

int main(void)
{
	RUN(they_are_raised_for_a_moment);
	RUN(what_is_not_permitted_is_not_raised);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include <ctop/base/jail.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/fault.h>

/* The kernel's overflow id: what distributions name nobody. */
enum { NOBODY = 65534 };

/* Where a child keeps the write end of its report until exec closes it. */
enum { REPORT_FD = JAIL_CHANNEL_FD + 1 };

/* Tells the child which process must be its parent; 1 is no sign of an orphan in a container. */
#define PARENT_VARIABLE "CTOP_PARENT"

/* All that a child sees of the environment: what its loader and a sanitizer need to start. */
static const char *const passed_variables[] = {
	"LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS",
#ifdef CTOP_FAULTS
	FAULT_VARIABLE,
#endif
};

enum { NR_PASSED = sizeof(passed_variables) / sizeof(*passed_variables) };

/* What the child of fork needs for exec, made before the fork. */
struct start {
	char role[64];
	char parent[32];
	char *environment[NR_PASSED + 2];
	int channel_fd;
	int report_fd;
};

static int start_prepare(struct start *start, const char *role)
{
	int length = snprintf(start->role, sizeof(start->role), "--child=%s", role);
	if (length < 0 || (size_t)length >= sizeof(start->role))
		return -EINVAL;
	snprintf(start->parent, sizeof(start->parent), PARENT_VARIABLE "=%d", (int)getpid());
	size_t nr = 0;
	start->environment[nr++] = start->parent;
	for (char **variable = environ; variable && *variable; variable++) {
		for (size_t i = 0; i < NR_PASSED && nr < NR_PASSED + 1; i++) {
			size_t name = strlen(passed_variables[i]);
			if (!strncmp(*variable, passed_variables[i], name) &&
			    (*variable)[name] == '=')
				start->environment[nr++] = *variable;
		}
	}
	start->environment[nr] = NULL;
	return 0;
}

static int reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &action, NULL); /* fails for KILL, STOP and libc's own */
	sigset_t none;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) ? -errno : 0;
}

/* 0: /dev/null, 1: stderr, 2 as it was, then the channel and the report; nothing else. */
static int arrange_descriptors(struct start *start)
{
	/* Out of the way first: with stdio closed in the parent, either may be any of 0-4. */
	int channel = fcntl(start->channel_fd, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	int report = fcntl(start->report_fd, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	if (channel < 0 || report < 0 || dup3(report, REPORT_FD, O_CLOEXEC) < 0)
		return -errno;
	start->report_fd = REPORT_FD;
	if (dup2(channel, JAIL_CHANNEL_FD) < 0)
		return -errno;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || (null != STDIN_FILENO && dup2(null, STDIN_FILENO) < 0))
		return -errno;
	if (null == STDIN_FILENO && fcntl(null, F_SETFD, 0))
		return -errno;
	/* With stdio closed in the parent, 2 is free or one of its own, which exec would close. */
	int flags = fcntl(STDERR_FILENO, F_GETFD);
	if ((flags < 0 || flags & FD_CLOEXEC) && dup2(STDIN_FILENO, STDERR_FILENO) < 0)
		return -errno;
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return -errno;
	if (syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0)) {
		/* Refused by an older kernel or a container's filter: one by one. */
		long end = sysconf(_SC_OPEN_MAX);
		for (int fd = REPORT_FD + 1; fd < end; fd++)
			close(fd);
	}
	return 0;
}

/* In the child of fork; comes back only when a step failed, with -errno. */
static int become(struct start *start)
{
	char name[] = "ctop";
	char *const arguments[] = {name, start->role, NULL};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* Before signals can reach it: from here on the terminal's ^C, ^Z and hang-up do not. */
	if (setsid() < 0)
		return -errno;
	int error = reset_signals();
	if (error)
		return error;
	error = arrange_descriptors(start);
	if (error)
		return error;
	execve("/proc/self/exe", arguments, start->environment);
	return -errno;
}

/* Waits until the child's exec closed the report (0), or a failed step wrote its -errno into it. */
static int read_report(int report_fd)
{
	int error = 0;
	ssize_t got;
	do
		got = read(report_fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	return got == (ssize_t)sizeof(error) && error < 0 ? error : -EIO;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int jail_spawn(const char *role, int channel_fd, pid_t *pid, int *pid_fd)
{
	struct start start = {.channel_fd = channel_fd};
	int error = start_prepare(&start, role);
	if (error)
		return error;
	int report[2];
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	start.report_fd = report[1];

	/* No handler of ours may run in the child. */
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t child = fork();
	if (child == 0) {
		error = become(&start);
		ssize_t told = write(start.report_fd, &error, sizeof(error));
		_exit(told == (ssize_t)sizeof(error) ? 126 : 127);
	}
	error = child < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(report[1]);
	if (!error) {
		error = read_report(report[0]);
		int fd = error ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
		if (!error && fd < 0)
			error = -errno;
		if (error) {
			kill(child, SIGKILL);
			reap(child);
		} else {
			*pid = child;
			*pid_fd = fd;
		}
	}
	close(report[0]);
	return error;
}

/*
 * From root to nobody. Where root is root of a user namespace only, nobody may
 * have no number there (EINVAL); where root was stripped of the capability, it
 * can't change (EPERM). Such a root is an ordinary user outside, and stays one
 * here, without capabilities.
 */
static int drop_ids(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) && errno != EPERM)
		return -errno;
	if (setresgid(NOBODY, NOBODY, NOBODY) && errno != EPERM && errno != EINVAL)
		return -errno;
	if (setresuid(NOBODY, NOBODY, NOBODY) && errno != EPERM && errno != EINVAL)
		return -errno;
	return 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capset, &header, none))
		return -errno;
	/* Ambient ones went with the permitted ones. */
	return 0;
}

/* What exec could give back; needs CAP_SETPCAP, and no_new_privs stands behind it where it is missing. */
static void drop_bounding_set(void)
{
	for (unsigned long capability = 0; capability < 64; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			break;
}

/* Lowers a limit for good; one that is lower already stays. 0 or -errno. */
static int lower_limit(__rlimit_resource_t resource, rlim_t wanted)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit))
		return -errno;
	if (wanted < limit.rlim_max)
		limit.rlim_max = wanted;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) ? -errno : 0;
}

static int die_with_parent(bool outlives)
{
	const char *parent = getenv(PARENT_VARIABLE);
	char *end = NULL;
	long pid = parent ? strtol(parent, &end, 10) : 0;
	if (pid <= 0 || *end)
		return -EINVAL;
	if (prctl(PR_SET_PDEATHSIG, outlives ? 0 : SIGKILL, 0, 0, 0))
		return -errno;
	/* It may have died before we asked; then somebody else adopted us. */
	return getppid() == pid ? 0 : -ESRCH;
}

int jail_enter(const struct jail_limits *limits)
{
	drop_bounding_set();
	int error = drop_ids();
	if (!error)
		error = drop_capabilities();
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = -errno;
	/* These two come after the ids: changing them resets both. */
	if (!error && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		error = -errno;
	if (!error)
		error = die_with_parent(limits->outlives_parent);
	if (!error)
		error = lower_limit(RLIMIT_CORE, 0);
	if (!error)
		error = lower_limit(RLIMIT_NOFILE, limits->nr_descriptors);
	if (!error && limits->heap_bytes)
		error = lower_limit(RLIMIT_DATA, limits->heap_bytes);
	return error;
}

void jail_protect_main(void)
{
	/* The only failure is an argument out of range. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

bool jail_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                     \
	__has_feature(memory_sanitizer)
	return true;
#else
	return false;
#endif
}

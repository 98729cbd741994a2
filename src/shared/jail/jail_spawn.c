/* SPDX-License-Identifier: MIT */
#include <ctop/jail/jail.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/fault.h>
#include <ctop/base/privilege.h>
#include <ctop/base/promptness.h>
#include <ctop/ipc/channel.h>

/* Where a child keeps the write end of its report until exec closes it. */
enum { REPORT_FD = JAIL_CHANNEL_FD + 1 };
/* A few lines of last words. */
enum { STDERR_BYTES = 4096 };

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
	char *environment[NR_PASSED + 1];
	int channel_fd;
	int stderr_fd; /* -1: ours */
	int report_fd;
};

static int start_prepare(struct start *start, const char *role)
{
	int length = snprintf(start->role, sizeof(start->role), "--child=%s", role);
	if (length < 0 || (size_t)length >= sizeof(start->role))
		return -EINVAL;
	size_t nr = 0;
	/* Not every libc takes from the environment what must not steer a program with more privileges than its user. */
	char **variable = getauxval(AT_SECURE) ? NULL : environ;
	for (; variable && *variable; variable++) {
		for (size_t i = 0; i < NR_PASSED && nr < NR_PASSED; i++) {
			size_t name = strlen(passed_variables[i]);
			if (!strncmp(*variable, passed_variables[i], name) &&
			    (*variable)[name] == '=')
				start->environment[nr++] = *variable;
		}
	}
	start->environment[nr] = NULL;
	return 0;
}

/* ---- in the child of fork ---- */

static int reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &action, NULL); /* fails for KILL, STOP and libc's own */
	sigset_t none;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) ? -errno : 0;
}

/*
 * All from `first` on, where close_range() is refused by an older kernel or a container's filter. The limit may be a
 * thousand million: what is open stands in /proc, in whose order the next one is found whatever was closed meanwhile.
 * No opendir(): it allocates, which the child of a fork must not.
 */
static void close_one_by_one(int first)
{
	_Alignas(struct dirent64) char entries[2048];
	int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t got = -1;
	while (directory >= 0 && (got = getdents64(directory, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *entry = (const void *)(entries + at);
			int fd = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
			if (fd >= first && fd != directory)
				close(fd);
			at += entry->d_reclen;
		}
	}
	if (got < 0) {
		long end = sysconf(_SC_OPEN_MAX);
		for (int fd = first; fd < end; fd++)
			close(fd);
	} else if (directory >= first) {
		close(directory);
	}
}

/* 0 and 1: /dev/null, 2: the pipe, then the channel and the report; nothing else. */
static int arrange_descriptors(struct start *start)
{
	/* Out of the way first: with stdio closed in the parent, any may be any of 0-4. */
	int channel = fcntl(start->channel_fd, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	int report = fcntl(start->report_fd, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		null = fcntl(null, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	int errors = start->stderr_fd >= 0 ? start->stderr_fd : STDERR_FILENO;
	/* Ours may be closed, or a descriptor that exec would close. */
	int flags = fcntl(errors, F_GETFD);
	if (start->stderr_fd < 0 && (flags < 0 || flags & FD_CLOEXEC))
		errors = null;
	errors = fcntl(errors, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	if (channel < 0 || report < 0 || null < 0 || errors < 0)
		return -errno;
	if (dup3(report, REPORT_FD, O_CLOEXEC) < 0)
		return -errno;
	start->report_fd = REPORT_FD;
	if (dup2(channel, JAIL_CHANNEL_FD) < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
		return -errno;
	if (syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0))
		close_one_by_one(REPORT_FD + 1);
	return 0;
}

/*
 * The capabilities that main may use stay permitted through exec: a process that has them can be traced only by who
 * has them, too, and from exec to its first act it has no other protection. Where they are the file's or root's, exec
 * gives them again by itself.
 */
static void keep_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capget, &header, sets))
		return;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = sets[i].inheritable = sets[i].permitted;
	if (syscall(SYS_capset, &header, sets))
		return;
	for (unsigned long capability = 0; capability < 64; capability++)
		if (sets[capability / 32].permitted >> capability % 32 & 1)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
}

/* Comes back only when a step failed, with -errno. */
static int become(struct start *start)
{
	char name[] = "ctop";
	char *const arguments[] = {name, start->role, NULL};
	/* Main waits for it, and the rings may. Whether it stays so is its role's business (jail_enter()). */
	promptness_ask();
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
	keep_capabilities();
	execve("/proc/self/exe", arguments, start->environment);
	return -errno;
}

/* ---- main ---- */

/*
 * As fork(), into a pid namespace of its own where that is allowed. Not by way of a user namespace: whoever has the id of
 * its maker may trace everything in it, dumpable or not, so that it would open what it is to close.
 */
static pid_t fork_apart(void)
{
	/*
	 * A sanitizer's run time looks at its own threads from outside. Without the capability the kernel refuses when all is
	 * copied, and a fork() copies it once more.
	 */
	bool apart = !jail_sanitized() && !fault_kills() && privilege_has(CAP_SYS_ADMIN);
	struct privilege_before before = privilege_raise(PRIVILEGE_JAIL);
	long child = apart ? syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0) : -1;
	privilege_restore(&before);
	return child < 0 ? fork() : (pid_t)child;
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

/* In which a process that was sent SIGKILL ends, unless it hangs in somebody's file system. */
enum { MOMENT_MS = 1000 };

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void close_both(int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Starts the process; both of what is prepared for it stay the caller's. 0 or -errno. */
static int spawn(struct start *start, struct jail_child *child)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	start->report_fd = report[1];

	/* No handler of ours may run in the child. */
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork_apart();
	if (pid == 0) {
		int failed = become(start);
		ssize_t told = write(start->report_fd, &failed, sizeof(failed));
		_exit(told == (ssize_t)sizeof(failed) ? 126 : 127);
	}
	int error = pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(report[1]);
	if (!error) {
		error = read_report(report[0]);
		int fd = error ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
		if (!error && fd < 0)
			error = -errno;
		if (error) {
			kill(pid, SIGKILL);
			reap(pid);
		}
		child->pid = pid;
		child->pid_fd = fd;
	}
	close(report[0]);
	return error;
}

/* A pipe that blocks neither end, and holds little. A sanitizer's reports are our own business. */
static int open_stderr(int ends[2])
{
	ends[0] = ends[1] = -1;
	if (jail_sanitized())
		return 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	fcntl(ends[1], F_SETPIPE_SZ, STDERR_BYTES); /* else it is larger */
	return 0;
}

int jail_spawn(const char *role, struct jail_child *child)
{
	struct start start;
	int main_fd = -1, errors[2] = {-1, -1};
	int result = start_prepare(&start, role);
	*child = (struct jail_child){.pid_fd = -1, .stderr_fd = -1};
	if (result)
		return result;
	result = channel_pair(&main_fd, &start.channel_fd);
	if (result)
		return result;
	child->channel = channel_new(main_fd, CHANNEL_MAIN);
	result = child->channel ? open_stderr(errors) : -ENOMEM;
	start.stderr_fd = errors[1];
	if (!result)
		result = spawn(&start, child);
	close(start.channel_fd);
	if (result) {
		close_both(errors);
		channel_free(child->channel);
		*child = (struct jail_child){.pid_fd = -1, .stderr_fd = -1};
		return result;
	}
	if (errors[1] >= 0)
		close(errors[1]);
	child->stderr_fd = errors[0];
	channel_hold(child->channel);
	return 0;
}

void jail_end(struct jail_child *child)
{
	if (child->pid > 0) {
		/* Ours until it is waited for. One that hangs in the kernel is left to whoever reaps after us. */
		struct pollfd gone = {.fd = child->pid_fd, .events = POLLIN};
		kill(child->pid, SIGKILL);
		poll(&gone, 1, MOMENT_MS);
		waitpid(child->pid, NULL, WNOHANG);
	}
	int fds[2] = {child->pid_fd, child->stderr_fd};
	close_both(fds);
	channel_free(child->channel);
	*child = (struct jail_child){.pid_fd = -1, .stderr_fd = -1};
}

void jail_protect_main(void)
{
	/* The only failure is an argument out of range. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

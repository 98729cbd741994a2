/* SPDX-License-Identifier: MIT */
/* How a child is started, whatever its parent is like, and how it ends. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "jail_report.h"

static void a_child_is_started_as_agreed(void)
{
	struct jail_child child;
	struct report report;
	CHECK_EQ(setenv("CTOP_TEST_SECRET", "token", 1), 0);
	CHECK(dup2(STDOUT_FILENO, 20) == 20); /* not close-on-exec: would be inherited */
	CHECK(dup2(STDOUT_FILENO, 50) == 50);
	CHECK_EQ(jail_spawn("report", &child), 0);
	close(20);
	close(50);
	CHECK(read_report(&child, &report));
	CHECK_EQ(report.nr_arguments, 2);
	CHECK_STR(report.name, "ctop");
	CHECK_EQ(report.descriptors, 0xf);
	CHECK_EQ(report.close_on_exec, 0);
	CHECK(report.stdin_is_null);
	CHECK(report.stdout_is_null);
	CHECK(report.stderr_is_pipe == !jail_sanitized());
	CHECK(!report.has_secret);
	CHECK(ends(child.pid_fd));
	int status = -1;
	CHECK_EQ(waitpid(child.pid, &status, 0), child.pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	child.pid = 0;
	jail_end(&child);
}

/* Of this process and its children from now on. */
static bool install(struct sock_filter *filter, size_t nr)
{
	const struct sock_fprog program = {(unsigned short)nr, filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { NOBODY_HAS_FD = 2000 };

/* As an older kernel or a container's filter; and whoever tries numbers that nobody has is killed. */
static bool refuse_close_range(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NOBODY_HAS_FD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return install(filter, sizeof(filter) / sizeof(*filter));
}

static void what_is_open_is_closed_without_close_range_too(void)
{
	pid_t refused = fork();
	if (refused == 0) {
		struct jail_child child;
		struct report report;
		struct rlimit limit;
		/* As many as it may, which is far more than there are. */
		if (getrlimit(RLIMIT_NOFILE, &limit))
			_exit(1);
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) || !refuse_close_range())
			_exit(2);
		/* More than are read at once, and with gaps. */
		for (int fd = 10; fd < 600; fd += fd % 7 ? 1 : 3)
			if (dup2(STDOUT_FILENO, fd) < 0)
				_exit(3);
		if (jail_spawn("report", &child))
			_exit(4);
		if (!read_report(&child, &report))
			_exit(5);
		_exit(report.descriptors == 0xf && !report.nr_above ? 0 : 6);
	}
	int status = -1;
	CHECK_EQ(waitpid(refused, &status, 0), refused);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void a_child_has_signals_as_they_were_made(void)
{
	struct jail_child child;
	struct report report;
	char value[256];
	sigset_t blocked, before, after;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	CHECK_EQ(jail_spawn("stay", &child), 0);
	sigprocmask(SIG_SETMASK, &before, &after);
	CHECK(sigismember(&after, SIGUSR1)); /* the parent's own mask came back */
	CHECK(!sigismember(&after, SIGTERM));
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	CHECK(read_report(&child, &report));
	CHECK_STR(status_line(child.pid, "SigBlk", value), "0000000000000000");
	/* 32 and 33 are libc's own: it lets nobody change them, and whoever started us may have. */
	CHECK_EQ(strtoull(status_line(child.pid, "SigIgn", value), NULL, 16) & ~(UINT64_C(3) << 31),
		 0);
	jail_end(&child);
}

static void a_child_dies_with_its_parent(void)
{
	/* test -> parent -> child; the orphan comes back to us, so that we see how it died. */
	int report_pipe[2];
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	CHECK_EQ(pipe2(report_pipe, O_CLOEXEC), 0);
	pid_t parent = fork();
	if (parent == 0) {
		struct jail_child child;
		struct report report;
		if (jail_spawn("stay", &child) || !read_report(&child, &report) || report.entered)
			_exit(1);
		if (write(report_pipe[1], &child.pid, sizeof(child.pid)) != sizeof(child.pid))
			_exit(1);
		for (;;)
			pause();
	}
	close(report_pipe[1]);
	pid_t child = 0;
	CHECK_EQ(read(report_pipe[0], &child, sizeof(child)), sizeof(child));
	close(report_pipe[0]);
	int pid_fd = (int)syscall(SYS_pidfd_open, child, 0);
	CHECK(pid_fd >= 0);
	struct pollfd alive = {.fd = pid_fd, .events = POLLIN};
	CHECK_EQ(poll(&alive, 1, 0), 0);
	kill(parent, SIGKILL);
	CHECK(ends(pid_fd));
	close(pid_fd);
	int status = 0;
	CHECK_EQ(waitpid(parent, NULL, 0), parent);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* Whose parent is gone, and who was not started by jail_spawn(), learns it from the hello. */
static void an_orphan_is_not_heard(void)
{
	int main_fd, child_fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	close(main_fd);
	struct channel *channel = channel_new(child_fd, CHANNEL_CHILD);
	CHECK_EQ(channel_say_hello(channel, 0), -EPIPE);
	channel_free(channel);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	channel = channel_new(null, CHANNEL_CHILD);
	CHECK_EQ(channel_say_hello(channel, 0), -ENOTSOCK);
	channel_free(channel);
}

static void a_start_that_fails_says_why_and_leaves_nothing(void)
{
	if (geteuid() != 0)
		SKIP("chroot needs root");
	char empty[] = "/tmp/ctop-test-XXXXXX";
	CHECK(mkdtemp(empty));
	pid_t changed = fork();
	if (changed == 0) {
		/* Neither /dev/null nor /proc/self/exe is there. */
		struct jail_child child;
		if (chroot(empty))
			_exit(100);
		int error = jail_spawn("report", &child);
		bool left = waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
		_exit(left ? 101 : -error);
	}
	int status = -1;
	CHECK_EQ(waitpid(changed, &status, 0), changed);
	rmdir(empty);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), ENOENT);
}

static void a_role_too_long_is_refused(void)
{
	struct jail_child child;
	char role[200];
	memset(role, 'r', sizeof(role) - 1);
	role[sizeof(role) - 1] = '\0';
	CHECK_EQ(jail_spawn(role, &child), -EINVAL);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

static void a_parent_without_stdio_starts_children_too(void)
{
	/* The channel's descriptors are then 0 and 1, where the child's stdio goes. */
	pid_t closed = fork();
	if (closed == 0) {
		struct jail_child child;
		struct report report;
		close(0);
		close(1);
		close(2);
		if (jail_spawn("report", &child))
			_exit(1);
		if (!read_report(&child, &report))
			_exit(2);
		_exit(report.entered || report.descriptors != 0xf || !report.stdin_is_null ? 3 : 0);
	}
	int status = -1;
	CHECK_EQ(waitpid(closed, &status, 0), closed);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void main_is_not_dumpable_once_protected(void)
{
	pid_t child = fork();
	if (child == 0) {
		jail_protect_main();
		/* A process that is not dumpable can still start its children. */
		struct jail_child jailed;
		struct report report;
		bool works = !jail_spawn("report", &jailed) && read_report(&jailed, &report) &&
			     !report.entered;
		_exit(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 && works ? 0 : 1);
	}
	int status = -1;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Whoever tries is killed. */
static bool forbid_pid_namespaces(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWPID, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return install(filter, sizeof(filter) / sizeof(*filter));
}

/* A clone() that is refused has copied all that a fork() copies first, and thousands of descriptors are many. */
static void no_namespace_is_tried_without_privilege(void)
{
	if (geteuid() != 0)
		SKIP("only root can become somebody else");
	pid_t nobody = fork();
	if (nobody == 0) {
		struct jail_child child;
		struct report report;
		if (setresuid(65534, 65534, 65534) || !forbid_pid_namespaces())
			_exit(1);
		_exit(!jail_spawn("report", &child) && read_report(&child, &report) ? 0 : 2);
	}
	int status = -1;
	CHECK_EQ(waitpid(nobody, &status, 0), nobody);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* For tests/security/attackers.py, which attacks them: one child after the other, until standard input ends. */
static int start_many(void)
{
	struct jail_child child;
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	jail_protect_main();
	while (poll(&input, 1, 0) == 0) {
		struct report report;
		int result = jail_spawn("report", &child);
		if (result || !read_report(&child, &report) || report.entered)
			return 1;
		jail_end(&child);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--starts"))
		return start_many();
	if (is_child(argc, argv))
		return child_main(argc, argv);
	RUN(a_child_is_started_as_agreed);
	RUN(what_is_open_is_closed_without_close_range_too);
	RUN(a_child_has_signals_as_they_were_made);
	RUN(a_child_dies_with_its_parent);
	RUN(an_orphan_is_not_heard);
	RUN(a_start_that_fails_says_why_and_leaves_nothing);
	RUN(a_role_too_long_is_refused);
	RUN(a_parent_without_stdio_starts_children_too);
	RUN(main_is_not_dumpable_once_protected);
	RUN(no_namespace_is_tried_without_privilege);
	return test_done();
}

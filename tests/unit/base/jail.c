/* SPDX-License-Identifier: MIT */
/*
 * The test is its own child: jail_spawn() executes this program again as
 * `ctop --child=ROLE`, which main() sends to child_main().
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/channel.h>
#include <ctop/base/jail.h>

#include "test.h"

enum { HEAP_BYTES = 64 << 20, NR_DESCRIPTORS = 40, TIMEOUT_MS = 60000 };

/* What only the child itself can see of its jail. */
struct report {
	int entered; /* jail_enter()'s answer */
	int dumpable;
	uint64_t descriptors; /* bit n: n is open */
	uint64_t close_on_exec;
	unsigned nr_above; /* open, and no bit above */
	bool stdin_is_null, stdout_is_null, stderr_is_pipe;
	unsigned walls;
	uint32_t user, group;
	bool has_secret;
	bool heap_is_bounded;
	bool can_become_root;
	bool is_first;	      /* of its pid namespace */
	bool signals_parent;  /* or could */
	int root_error;	      /* of a look into the root folder, positive; 0: it is open to it */
	int passwd_error;     /* of an attempt to open /etc/passwd */
	int nr_interfaces_up; /* a new network namespace has none, loopback included */
	int nr_arguments;
	char name[16];
	struct rlimit nofile, core;
};

static bool is_null(const struct stat *file)
{
	return S_ISCHR(file->st_mode) && file->st_rdev == makedev(1, 3);
}

static int error_of_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	int error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

static int count_interfaces_up(void)
{
	struct ifaddrs *all;
	int nr = 0;
	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next)
		nr += (one->ifa_flags & IFF_UP) != 0;
	freeifaddrs(all);
	return nr;
}

static void look_at_walls(struct report *report)
{
	const pid_t parent = getppid(); /* 0: beyond its pid namespace */
	report->is_first = getpid() == 1;
	report->signals_parent = parent > 0 && kill(parent, 0) == 0;
	report->root_error = error_of_open("/", O_RDONLY | O_DIRECTORY);
	report->passwd_error = error_of_open("/etc/passwd", O_RDONLY);
	report->nr_interfaces_up = count_interfaces_up();
}

static struct report look_around(int argc, char **argv, int entered, unsigned walls)
{
	struct report report = {.entered = entered, .nr_arguments = argc, .walls = walls};
	snprintf(report.name, sizeof(report.name), "%s", argv[0]);
	report.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	for (int fd = 0; fd < 64; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags >= 0)
			report.descriptors |= UINT64_C(1) << fd;
		if (flags > 0)
			report.close_on_exec |= UINT64_C(1) << fd;
	}
	for (int fd = 64; fd < 1024; fd++)
		report.nr_above += fcntl(fd, F_GETFD) >= 0;
	struct stat in = {0}, out = {0}, err = {0};
	report.stdin_is_null = !fstat(0, &in) && is_null(&in);
	report.stdout_is_null = !fstat(1, &out) && is_null(&out);
	report.stderr_is_pipe = !fstat(2, &err) && S_ISFIFO(err.st_mode);
	report.user = geteuid();
	report.group = getegid();
	report.has_secret = getenv("CTOP_TEST_SECRET") != NULL;
	void *volatile too_much = malloc(HEAP_BYTES + (1 << 20));
	report.heap_is_bounded = !too_much;
	free(too_much);
	report.can_become_root = geteuid() != 0 && setresuid(0, 0, 0) == 0;
	getrlimit(RLIMIT_NOFILE, &report.nofile);
	getrlimit(RLIMIT_CORE, &report.core);
	look_at_walls(&report);
	return report;
}

static int child_main(int argc, char **argv)
{
	const struct jail_limits limits = {.heap_bytes = jail_sanitized() ? 0 : HEAP_BYTES,
					   .nr_descriptors = NR_DESCRIPTORS};
	unsigned walls = 0;
	int entered = jail_enter(&limits, &walls);
	struct report report = look_around(argc, argv, entered, walls);
	struct channel *channel = channel_new(JAIL_CHANNEL_FD, CHANNEL_CHILD);
	if (!channel || channel_say_hello(channel, walls) ||
	    channel_send(channel, &report, sizeof(report), -1))
		_exit(1);
	if (!strcmp(argv[1], "--child=report"))
		_exit(0);
	/* role "stay": deaf to the channel, so that only the parent's end can end it */
	for (;;)
		pause();
}

/* False when nothing came: the child's end, or a minute, passed first. */
static bool read_report(const struct jail_child *child, struct report *report)
{
	struct pollfd poll_fd = {.fd = channel_fd(child->channel), .events = POLLIN};
	int fd;
	return !channel_await_hello(child->channel, TIMEOUT_MS) &&
	       poll(&poll_fd, 1, TIMEOUT_MS) == 1 &&
	       channel_receive(child->channel, report, sizeof(*report), &fd) ==
		       (ssize_t)sizeof(*report);
}

static bool ends(int pid_fd)
{
	struct pollfd poll_fd = {.fd = pid_fd, .events = POLLIN};
	return poll(&poll_fd, 1, TIMEOUT_MS) == 1;
}

/* The value of one line of /proc/PID/status, white space squeezed to single blanks. */
static const char *status_line(pid_t pid, const char *key, char value[256])
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	CHECK(file);
	value[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		size_t length = strlen(key);
		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		char *at = value;
		for (char *save, *word = strtok_r(line + length + 1, " \t\n", &save); word;
		     word = strtok_r(NULL, " \t\n", &save))
			at += snprintf(at, (size_t)(value + 256 - at), "%s%s",
				       at == value ? "" : " ", word);
	}
	fclose(file);
	return value;
}

/* Whether that works here: found out by a process of its own. */
static bool can(bool (*try)(void))
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		_exit(try() ? 0 : 1);
	int status = -1;
	CHECK_EQ(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Root of a user namespace without that id, or root without the capability, can't. */
static bool become_nobody(void)
{
	return geteuid() == 0 && !setresuid(65534, 65534, 65534);
}

static bool become_somebody(void)
{
	const uid_t id = 0x78000000;
	return geteuid() == 0 && !setresgid(id, id, id) && !setresuid(id, id, id);
}

static bool leave_namespaces(void)
{
	enum { ALL = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS };
	return !unshare(ALL) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("test", "/proc", "tmpfs", MS_RDONLY, NULL);
}

/* 0: the kernel has none. */
static long landlock_version(void)
{
	enum { CREATE_RULESET = 444, VERSION = 1 };
	long version = syscall(CREATE_RULESET, NULL, (size_t)0, VERSION);
	return version < 0 ? 0 : version;
}

static bool may_drop_bounding_set(void)
{
	char value[256];
	enum { CAP_SETPCAP_BIT = 1 << 8 };
	return strtoull(status_line(getpid(), "CapEff", value), NULL, 16) & CAP_SETPCAP_BIT;
}

static void a_child_has_no_privileges(void)
{
	struct jail_child child;
	struct report report;
	char value[256], ids[64];
	CHECK_EQ(jail_spawn("stay", &child), 0);
	CHECK(read_report(&child, &report));
	CHECK_EQ(report.entered, 0);
	CHECK(!report.can_become_root);
	CHECK_EQ(report.dumpable, 0);
	if (may_drop_bounding_set())
		CHECK_STR(status_line(child.pid, "CapBnd", value), "0000000000000000");
	if (can(become_nobody)) {
		/* Somebody that nobody else is. */
		CHECK(report.walls & JAIL_OWN_ID ? report.user >= 0x78000000
						 : report.user == 65534);
		CHECK_EQ(report.group, report.user);
		snprintf(ids, sizeof(ids), "%u %u %u %u", report.user, report.user, report.user,
			 report.user);
		CHECK_STR(status_line(child.pid, "Uid", value), ids);
		CHECK_STR(status_line(child.pid, "Gid", value), ids);
		CHECK_STR(status_line(child.pid, "Groups", value), "");
	}
	CHECK_STR(status_line(child.pid, "CapInh", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "CapPrm", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "CapEff", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "CapAmb", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "NoNewPrivs", value), "1");
	CHECK_EQ(getsid(child.pid), child.pid); /* ^C and hang-ups pass it by */
	jail_end(&child);
}

/* Whatever wall is possible here stands, and is what it is said to be. */
static void a_child_has_walls(void)
{
	struct jail_child child;
	struct report report;
	if (jail_sanitized())
		SKIP("the sanitizer's run time needs files and threads");
	const bool has_namespaces = can(leave_namespaces), has_own_id = can(become_somebody);
	const long version = landlock_version();
	if (!has_namespaces && !has_own_id && !version)
		SKIP("no wall is possible here");
	CHECK_EQ(jail_spawn("report", &child), 0);
	CHECK(read_report(&child, &report));
	if (has_namespaces) {
		CHECK(report.walls & JAIL_NAMESPACES);
		CHECK(report.walls & JAIL_EMPTY_ROOT);
		CHECK(report.is_first);
		CHECK_EQ(report.passwd_error, ENOENT);
		CHECK_EQ(report.nr_interfaces_up, 0);
	}
	if (version) {
		CHECK(report.walls & JAIL_LANDLOCK);
		CHECK_EQ(report.root_error, EACCES);
	}
	if (has_own_id) {
		CHECK(report.walls & JAIL_OWN_ID);
		CHECK(report.user >= 0x78000000);
	}
	if (version >= 6)
		CHECK(report.walls & JAIL_SCOPES);
	if (has_namespaces || has_own_id || version >= 6)
		CHECK(!report.signals_parent);
	jail_end(&child);
}

static void a_child_has_limits(void)
{
	struct jail_child child;
	struct report report;
	CHECK_EQ(jail_spawn("report", &child), 0);
	CHECK(read_report(&child, &report));
	CHECK_EQ(report.core.rlim_cur, 0);
	CHECK_EQ(report.core.rlim_max, 0);
	CHECK_EQ(report.nofile.rlim_cur, NR_DESCRIPTORS);
	CHECK_EQ(report.nofile.rlim_max, NR_DESCRIPTORS);
	CHECK(report.heap_is_bounded == !jail_sanitized());
	jail_end(&child);
}

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
	const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
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

/* -errno, or 0 or more. */
static long asked(long answer)
{
	return answer < 0 ? -errno : answer;
}

/* What a filtered child gets for what it asks; the number of the first surprise, or 0. */
static int ask_for_everything(int pipe_fd)
{
	char *const arguments[] = {NULL};
	struct stat stat;
	char path[64];
	int page = (int)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	/* Others' files are not there. */
	if (asked(open("/etc/passwd", O_RDONLY)) != -ENOENT)
		return 1;
	if (asked(access("/", R_OK)) != -ENOENT ||
	    asked(readlink("/proc/self/exe", path, sizeof(path))) != -ENOENT)
		return 2;
	if (asked(fstatat(AT_FDCWD, "/", &stat, 0)) != -ENOENT)
		return 3;
	/* Nor the net, other processes, other programs. */
	if (asked(syscall(SYS_socket, 1, 1, 0)) != -EPERM || asked(kill(getppid(), 0)) != -EPERM)
		return 4;
	if (asked(execve("/proc/self/exe", arguments, arguments)) != -EPERM)
		return 5;
	if (asked(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) != -EPERM)
		return 6;
	if (asked(syscall(SYS_ptrace, 16, getppid(), 0, 0)) != -EPERM ||
	    asked(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0)) != -EPERM)
		return 7;
	if (asked(syscall(SYS_tgkill, getppid(), getppid(), 0)) != -EPERM ||
	    asked(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0)) != 0)
		return 8;
	/* Memory, but no code. */
	if (memory == MAP_FAILED || asked(mprotect(memory, (size_t)page, PROT_READ)) != 0)
		return 9;
	if (asked(mprotect(memory, (size_t)page, PROT_READ | PROT_EXEC)) != -EPERM ||
	    mmap(NULL, (size_t)page, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 10;
	/* What it was given works. */
	if (write(pipe_fd, "x", 1) != 1 || fstat(pipe_fd, &stat) || munmap(memory, (size_t)page))
		return 11;
	free(malloc(4 << 20));
	return 0;
}

static void a_filter_leaves_what_a_child_needs(void)
{
	if (jail_sanitized())
		SKIP("the sanitizer's run time needs more");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		SKIP("this kernel has no seccomp");
	int fds[2], status = 0;
	CHECK_EQ(pipe(fds), 0);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || jail_filter(JAIL_READS | JAIL_WRITES))
			_exit(100);
		int surprise = ask_for_everything(fds[1]);
		if (surprise)
			_exit(surprise);
		abort(); /* works as ever: nothing is killed for asking, but this is its own wish */
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	close(fds[0]);
	close(fds[1]);
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
	if (argc == 2 && !strncmp(argv[1], "--child=", 8))
		return child_main(argc, argv);
	RUN(a_child_has_no_privileges);
	RUN(a_child_has_walls);
	RUN(a_child_has_limits);
	RUN(a_child_is_started_as_agreed);
	RUN(what_is_open_is_closed_without_close_range_too);
	RUN(a_child_has_signals_as_they_were_made);
	RUN(a_child_dies_with_its_parent);
	RUN(an_orphan_is_not_heard);
	RUN(a_filter_leaves_what_a_child_needs);
	RUN(a_start_that_fails_says_why_and_leaves_nothing);
	RUN(a_role_too_long_is_refused);
	RUN(a_parent_without_stdio_starts_children_too);
	RUN(main_is_not_dumpable_once_protected);
	return test_done();
}

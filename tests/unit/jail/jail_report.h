/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_BASE_JAIL_REPORT_H
#define CTOP_TEST_BASE_JAIL_REPORT_H

/*
 * A jailed child that tells what it sees. The test is its own child: jail_spawn() executes the program again as
 * `ctop --child=ROLE`, which main() sends to child_main().
 */

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>

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
	int root_error;	      /* of a look into the root directory, positive; 0: it is open to it */
	int passwd_error;     /* of an attempt to open /etc/passwd */
	int nr_interfaces_up; /* a new network namespace has none, loopback included */
	int nr_arguments;
	char name[16];
	struct rlimit nofile, core;
};

static inline bool is_null(const struct stat *file)
{
	return S_ISCHR(file->st_mode) && file->st_rdev == makedev(1, 3);
}

static inline int error_of_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	int error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

static inline int count_interfaces_up(void)
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

static inline void look_at_walls(struct report *report)
{
	const pid_t parent = getppid(); /* 0: beyond its pid namespace */
	report->is_first = getpid() == 1;
	report->signals_parent = parent > 0 && kill(parent, 0) == 0;
	report->root_error = error_of_open("/", O_RDONLY | O_DIRECTORY);
	report->passwd_error = error_of_open("/etc/passwd", O_RDONLY);
	report->nr_interfaces_up = count_interfaces_up();
}

static inline struct report look_around(int argc, char **argv, int entered, unsigned walls)
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

static inline int child_main(int argc, char **argv)
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
static inline bool read_report(const struct jail_child *child, struct report *report)
{
	struct pollfd poll_fd = {.fd = channel_fd(child->channel), .events = POLLIN};
	int fd;
	return !channel_await_hello(child->channel, TIMEOUT_MS) &&
	       poll(&poll_fd, 1, TIMEOUT_MS) == 1 &&
	       channel_receive(child->channel, report, sizeof(*report), &fd) ==
		       (ssize_t)sizeof(*report);
}

static inline bool ends(int pid_fd)
{
	struct pollfd poll_fd = {.fd = pid_fd, .events = POLLIN};
	return poll(&poll_fd, 1, TIMEOUT_MS) == 1;
}

/* The value of one line of /proc/PID/status, white space squeezed to single blanks. */
static inline const char *status_line(pid_t pid, const char *key, char value[256])
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

static inline bool is_child(int argc, char **argv)
{
	return argc == 2 && !strncmp(argv[1], "--child=", 8);
}

#endif

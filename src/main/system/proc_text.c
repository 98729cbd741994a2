/* SPDX-License-Identifier: MIT */
#include <ctop/system/proc_text.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>

FILE *proc_fopen(const char *path)
{
	int fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

DIR *proc_opendir(const char *path)
{
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	DIR *dir = opendir(path);
	privilege_restore(&before);
	return dir;
}

int32_t proc_next_pid(DIR *processes)
{
	int32_t pid = 0;
	const struct dirent *entry;
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	while (pid <= 0 && (entry = readdir(processes)))
		pid = atoi(entry->d_name);
	privilege_restore(&before);
	return pid;
}

int proc_stat(const char *path, struct stat *status)
{
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	int result = stat(path, status);
	privilege_restore(&before);
	return result;
}

size_t proc_text(int32_t pid, const char *what, char *text, size_t size)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	/* Some of them the kernel guards where they are read. */
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
	privilege_restore(&before);
	if (fd >= 0)
		close(fd);
	got = got > 0 ? got : 0;
	text[got] = '\0';
	return (size_t)got;
}

size_t proc_line(int32_t pid, const char *what, char *text, size_t size)
{
	size_t got = proc_text(pid, what, text, size);
	if (got && text[got - 1] == '\n')
		text[--got] = '\0';
	return got;
}

/* A line of /proc/PID/status that holds a number; 0 when there is none. */
static int32_t status_number(int32_t pid, const char *name)
{
	char text[4096];
	proc_text(pid, "status", text, sizeof(text));
	/* A thread's own name comes first, with its line ends escaped. */
	const char *at = strstr(text, name);
	int32_t number;
	return at && sscanf(at + strlen(name), " %" SCNd32, &number) == 1 ? number : 0;
}

int32_t proc_parent(int32_t pid)
{
	return status_number(pid, "\nPPid:");
}

int32_t proc_of_thread(int32_t tid)
{
	return status_number(tid, "\nTgid:");
}

bool proc_stat_line(int32_t pid, int32_t tid, struct stat_line *line)
{
	char what[48] = "stat", text[1024];
	if (tid > 0)
		snprintf(what, sizeof(what), "task/%d/stat", tid);
	proc_text(pid, what, text, sizeof(text));
	return stat_line_parse(text, line);
}

uint64_t proc_cpu_ns(int32_t pid)
{
	struct stat_line line;
	return proc_stat_line(pid, 0, &line) ? line.cpu_ns : 0;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t proc_start_ns(int32_t pid)
{
	struct stat_line line;
	if (!proc_stat_line(pid, 0, &line))
		return 0;
	/* It is counted since boot, and so is time that the machine slept. */
	uint64_t monotonic_ns =
		now_ns(CLOCK_MONOTONIC); /* first: the other one is never behind it */
	uint64_t slept_ns = now_ns(CLOCK_BOOTTIME) - monotonic_ns;
	return line.start_ns > slept_ns ? line.start_ns - slept_ns : 1;
}

bool proc_program(int32_t pid, struct proc_program *program)
{
	char link[32];
	struct statx status;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	/* Its file system may be one of somebody's that never answers: it is not asked. */
	const int result =
		statx(AT_FDCWD, link, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &status);
	privilege_restore(&before);
	if (result < 0)
		return false;
	*program = (struct proc_program){makedev(status.stx_dev_major, status.stx_dev_minor),
					 status.stx_ino};
	return true;
}

bool proc_is_same_program(const struct proc_program *a, const struct proc_program *b)
{
	return a->device == b->device && a->inode == b->inode;
}

void proc_place(int32_t pid, int32_t tid, char place[PROC_PLACE_BYTES])
{
	char what[48];
	snprintf(what, sizeof(what), "task/%d/wchan", tid);
	proc_text(pid, what, place, PROC_PLACE_BYTES);
	if (!strcmp(place, "0")) /* the kernel does not tell */
		place[0] = '\0';
}

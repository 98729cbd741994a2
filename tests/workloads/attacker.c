/* SPDX-License-Identifier: MIT */
/*
 * Attacks the children of a process, each as long as it lives, from the moment that it is there:
 *
 *     attacker PID NUMBER
 *
 * It traces them, takes their descriptors, opens their memory and files. Says "ready", then what it got, a line each; after
 * so many children, or when that process is gone, how many it has seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

enum { DESCRIPTORS = 10 };

static unsigned long attempts;

static bool has_ended(int pid_fd)
{
	struct pollfd ended = {.fd = pid_fd, .events = POLLIN};
	return poll(&ended, 1, 0) != 0;
}

/* Of one that has ended there is nothing to be had, and nothing keeps it. */
static void got(pid_t pid, int pid_fd, const char *what)
{
	if (has_ended(pid_fd))
		return;
	printf("got %s of %d\n", what, (int)pid);
	fflush(stdout);
}

static bool can_peek(pid_t pid)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)0x1000, 1};
	/* EFAULT: it may look, and nothing is mapped there. */
	return process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}

static bool can_open(pid_t pid, const char *file, int flags)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* One that is ending has files that can be opened, with nothing in them. */
static bool can_read(pid_t pid, const char *file)
{
	char path[64], byte;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool has_more = fd >= 0 && read(fd, &byte, 1) == 1;
	if (fd >= 0)
		close(fd);
	return has_more;
}

/* Once with everything. False: it is gone. */
static bool attack(pid_t pid, int pid_fd)
{
	attempts++;
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		int taken = (int)syscall(SYS_pidfd_getfd, pid_fd, fd, 0);
		if (taken < 0 && errno == ESRCH)
			return false;
		if (taken >= 0) {
			got(pid, pid_fd, "a descriptor");
			close(taken);
		}
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) {
		got(pid, pid_fd, "ptrace");
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, 0, 0);
	}
	if (can_peek(pid))
		got(pid, pid_fd, "its memory");
	if (can_open(pid, "fd/3", O_RDWR) || can_open(pid, "fd/4", O_RDONLY))
		got(pid, pid_fd, "its files");
	char byte, link[64];
	snprintf(link, sizeof(link), "/proc/%d/fd/3", (int)pid);
	if (readlink(link, &byte, 1) >= 0)
		got(pid, pid_fd, "what its files are");
	if (can_read(pid, "maps") || can_read(pid, "environ"))
		got(pid, pid_fd, "its maps");
	return true;
}

int main(int argc, char **argv)
{
	const pid_t target = argc == 3 ? atoi(argv[1]) : 0;
	char path[64], text[4096];
	unsigned long nr = 0;
	pid_t last = 0;
	if (target <= 0)
		return 2;
	const unsigned long enough = strtoul(argv[2], NULL, 10);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)target, (int)target);
	int children = open(path, O_RDONLY | O_CLOEXEC);
	if (children < 0) {
		printf("cannot read %s: %s\n", path, strerror(errno));
		return 2;
	}
	const int target_fd = (int)syscall(SYS_pidfd_open, target, 0);
	puts("ready");
	fflush(stdout);
	while (nr < enough) {
		ssize_t size = pread(children, text, sizeof(text) - 1, 0);
		if (has_ended(target_fd))
			break;
		text[size > 0 ? size : 0] = '\0';
		for (char *at = text, *end; *at; at = end) {
			pid_t pid = (pid_t)strtol(at, &end, 10);
			if (end == at)
				break;
			if (pid == last)
				continue;
			int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
			last = pid;
			nr++;
			if (pid_fd < 0)
				continue;
			while (!has_ended(pid_fd) && attack(pid, pid_fd))
				;
			close(pid_fd);
		}
	}
	printf("saw %lu children, attacked %lu times\n", nr, attempts);
	return 0;
}

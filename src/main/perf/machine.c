/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/kernel/stat_line.h>

/* Of linux/capability.h since 5.8. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

/* Reads a small file as a string. Its length, or -errno. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, text, size - 1);
	int error = errno;
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got < 0 ? -error : got;
}

/* "0-3,5" into single numbers. */
static int parse_cpu_list(const char *text, int32_t **cpus, size_t *nr)
{
	*nr = 0;
	while (*text >= '0' && *text <= '9') {
		char *end;
		long first = strtol(text, &end, 10), last = first;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long cpu = first; cpu <= last; cpu++) {
			int32_t *grown = reallocarray(*cpus, *nr + 1, sizeof(**cpus));
			if (!grown)
				return -ENOMEM;
			*cpus = grown;
			grown[(*nr)++] = (int32_t)cpu;
		}
		text = *end == ',' ? end + 1 : end;
	}
	return *nr ? 0 : -EINVAL;
}

int machine_online_cpus(int32_t **cpus, size_t *nr)
{
	char text[4096];
	*cpus = NULL;
	ssize_t got = read_file("/sys/devices/system/cpu/online", text, sizeof(text));
	if (got < 0) /* no sysfs here: as many as the C library counts */
		snprintf(text, sizeof(text), "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	int result = parse_cpu_list(text, cpus, nr);
	if (result)
		free(*cpus);
	return result;
}

long machine_sysctl(const char *name, long fallback)
{
	char path[128], text[64], *end;
	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	if (read_file(path, text, sizeof(text)) <= 0)
		return fallback;
	long value = strtol(text, &end, 10);
	return end == text ? fallback : value;
}

/* The kernel asks for capabilities over itself in the first one only. */
bool machine_in_first_user_namespace(void)
{
	char text[256];
	unsigned inside, outside, nr;
	if (read_file("/proc/self/uid_map", text, sizeof(text)) <= 0)
		return true; /* a kernel without user namespaces */
	return sscanf(text, "%u %u %u", &inside, &outside, &nr) == 3 && inside == 0 &&
	       outside == 0 && nr == UINT32_MAX;
}

bool machine_has_capability(unsigned capability)
{
	return machine_in_first_user_namespace() && privilege_has(capability);
}

bool machine_may_lock(void)
{
	return machine_has_capability(CAP_IPC_LOCK);
}

bool machine_may_sample(void)
{
	return machine_has_capability(CAP_PERFMON) || machine_has_capability(CAP_SYS_ADMIN);
}

bool machine_is_filtered(void)
{
	char text[4096];
	const char *line = read_file("/proc/self/status", text, sizeof(text)) > 0
				   ? strstr(text, "\nSeccomp:")
				   : NULL;
	return line && strtol(line + strlen("\nSeccomp:"), NULL, 10) == 2;
}

/*
 * Whether a process's maps are kept from us is decided when they are opened. They are not read: that waits for the
 * process's lock of its mappings, which a process that hangs may hold for ever.
 */
bool machine_hides_process(int32_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	int fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM;
	close(fd);
	return false;
}

bool machine_hides_kernel(void)
{
	char text[64];
	struct privilege_before before = privilege_raise(PRIVILEGE_KERNEL_NAMES);
	bool is_hidden = read_file("/proc/kallsyms", text, sizeof(text)) <= 0 ||
			 strtoull(text, NULL, 16) == 0;
	privilege_restore(&before);
	return is_hidden;
}

unsigned machine_tasks_a_cpu(void)
{
	char text[128];
	unsigned nr_running;
	const long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	/* "LOAD LOAD LOAD RUNNING/ALL PID", proc_loadavg(5). */
	if (nr_cpus < 1 || read_file("/proc/loadavg", text, sizeof(text)) < 0 ||
	    sscanf(text, "%*s %*s %*s %u/", &nr_running) != 1)
		return 0;
	return nr_running / (unsigned)nr_cpus;
}

void machine_raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	/* Root may go beyond the hard limit, up to fs.nr_open. */
	rlim_t most = (rlim_t)machine_sysctl("fs/nr_open", 1048576);
	const struct rlimit wanted = {most, most};
	if (most > limit.rlim_max && setrlimit(RLIMIT_NOFILE, &wanted) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Whose it is. The files of a process that is closed to others are root's (proc_pid(5)). */
static void read_uids(int32_t pid, struct process_facts *facts)
{
	char path[64], text[4096];
	struct stat stat;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (lstat(path, &stat) < 0 || read_file(path, text, sizeof(text)) <= 0)
		return;
	/* The name before it has its line ends escaped. */
	const char *line = strstr(text, "\nUid:");
	if (!line || sscanf(line, " Uid: %u %u", &facts->uid, &facts->effective_uid) != 2)
		return;
	facts->closed = stat.st_uid != facts->effective_uid;
}

static bool is_apart(int32_t pid)
{
	char path[64];
	struct stat theirs, ours;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (stat("/proc/self/ns/user", &ours) < 0)
		return false; /* a kernel without them */
	return stat(path, &theirs) < 0 ? errno == EACCES : theirs.st_ino != ours.st_ino;
}

/* What the line of numbers says: state, parent, threads. Leaves the state alone where there is no such line. */
static void read_stat(int32_t pid, struct process_facts *facts)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_file(path, text, sizeof(text)) <= 0)
		return;
	struct stat_line line;
	if (!stat_line_parse(text, &line))
		return;
	facts->parent = line.parent;
	facts->nr_threads = line.nr_threads;
	facts->state = line.state == 'Z' || line.state == 'X' ? PROCESS_ZOMBIE
		       : stat_line_is_kernel(&line)	      ? PROCESS_KERNEL
							      : PROCESS_ALIVE;
}

struct process_facts machine_process(int32_t pid)
{
	struct process_facts facts = {.state = PROCESS_GONE};
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	read_uids(pid, &facts);
	facts.apart = is_apart(pid);
	read_stat(pid, &facts);
	privilege_restore(&before);
	return facts;
}

void machine_count_hidden(size_t *nr_hidden, size_t *nr)
{
	*nr_hidden = *nr = 0;
	if (machine_has_capability(CAP_SYS_PTRACE))
		return;
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		struct process_facts facts = {.state = PROCESS_GONE};
		int32_t pid = atoi(entry->d_name);
		if (pid > 0)
			read_stat(pid, &facts);
		if (facts.state != PROCESS_ALIVE)
			continue;
		++*nr;
		*nr_hidden += machine_hides_process(pid);
	}
	if (dir)
		closedir(dir);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/flight/recorders.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/system/proc_text.h>

/* --last or --last-size, alone or with what it is. */
static bool is_option(const char *word)
{
	const size_t size = strcspn(word, "=");
	return (size == strlen("--last") && !strncmp(word, "--last", size)) ||
	       (size == strlen("--last-size") && !strncmp(word, "--last-size", size));
}

/* Whether the words of its command line are those of a recorder. */
static bool is_called_so(int32_t pid)
{
	char words[4096];
	const size_t size = proc_text(pid, "cmdline", words, sizeof(words));
	bool records = false;
	for (size_t at = 0; at < size; at += strlen(words + at) + 1) {
		const char *word = words + at;
		if (!strcmp(word, "--"))
			break;
		records |= !strcmp(word, "record");
		if (records && is_option(word))
			return true;
	}
	return false;
}

/* Who starts a thread blocks all signals for a moment, and takes them afterwards: a recorder takes SIGALRM at any time. */
static bool blocks_usr2(int32_t pid)
{
	char status[4096];
	if (!proc_text(pid, "status", status, sizeof(status)))
		return false;
	const char *line = strstr(status, "\nSigBlk:");
	const uint64_t mask = line ? strtoull(line + strlen("\nSigBlk:"), NULL, 16) : 0;
	return mask >> (SIGUSR2 - 1) & 1 && !(mask >> (SIGALRM - 1) & 1);
}

/* Words lie in a process's own memory, which may not answer: those of few are read. */
static bool looks_like_one(int32_t pid)
{
	return blocks_usr2(pid) && is_called_so(pid);
}

/* A child of a recorder may look like it; who has started it, as sudo(8) does, has its words, but takes signals. */
static bool is_recorder(int32_t pid)
{
	return looks_like_one(pid) && !looks_like_one(proc_parent(pid));
}

/* How many this user may ask; *pid: the last one. */
static size_t find_recorders(int32_t *pid, char *list, size_t size)
{
	DIR *processes = proc_opendir("/proc");
	size_t nr = 0, used = 0;
	int32_t found;
	list[0] = '\0';
	while (processes && (found = proc_next_pid(processes)) > 0) {
		if (found == getpid() || kill(found, 0) < 0 || !is_recorder(found))
			continue;
		*pid = found;
		if (used < size)
			used += (size_t)snprintf(list + used, size - used, "%s%" PRId32,
						 nr ? ", " : "", found);
		nr++;
	}
	if (processes)
		closedir(processes);
	return nr;
}

int recorder_choose(int32_t *pid, struct error *error)
{
	char list[128];
	const size_t nr = find_recorders(pid, list, sizeof(list));
	if (nr == 1)
		return 0;
	if (nr) {
		error_set(error, -EINVAL, "%zu flight recorders run: %s", nr, list);
		return error_remedy(error, "name one, as in ctop dump %" PRId32, *pid);
	}
	error_set(error, -ESRCH, "no flight recorder of yours runs");
	return error_remedy(error, "start one: ctop record --last 30s -p PID");
}

int recorder_ask(int32_t pid, struct error *error)
{
	/* From here on it is this very process, whoever has its number later. */
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int result = -ESRCH;
	if (fd >= 0 && is_recorder(pid))
		result = syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (result == -ESRCH) {
		error_set(error, result, "process %" PRId32 " is no flight recorder", pid);
		return error_remedy(error, "give the PID of a ctop record --last, or none");
	}
	if (result) {
		error_set(error, result, "cannot ask process %" PRId32 ": %s", pid,
			  strerror(-result));
		return error_remedy(error, "run ctop dump as the user who runs it, or as root");
	}
	return 0;
}

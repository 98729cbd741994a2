/* SPDX-License-Identifier: MIT */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>
#include <ctop/system/proc_text.h>

struct process_time {
	int32_t pid;
	uint64_t start_ns; /* with the pid: which process it is */
	uint64_t cpu_ns;
};

static bool read_stat(int32_t pid, struct ui_process *process, struct process_time *time)
{
	struct stat_line line;
	if (!proc_stat_line(pid, 0, &line))
		return false;
	memcpy(process->name, line.name, sizeof(process->name));
	process->pid = pid;
	process->nr_threads = line.nr_threads;
	*time = (struct process_time){pid, line.start_ns, line.cpu_ns};
	return true;
}
_Static_assert(sizeof(((struct ui_process *)0)->name) == sizeof(((struct stat_line *)0)->name),
	       "both are cut at the same place");

static void read_command(struct ui_process *process)
{
	size_t size =
		proc_text(process->pid, "cmdline", process->command, sizeof(process->command));
	while (size > 0 && !process->command[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		if (!process->command[i])
			process->command[i] = ' ';
	if (!size) /* the kernel's, or a zombie */
		snprintf(process->command, sizeof(process->command), "[%s]", process->name);
}

static void read_user(struct ui_process *process)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%d", process->pid);
	if (proc_stat(path, &status) < 0)
		return;
	const struct passwd *user = getpwuid(status.st_uid);
	if (user)
		snprintf(process->user, sizeof(process->user), "%s", user->pw_name);
	else
		snprintf(process->user, sizeof(process->user), "%u", status.st_uid);
}

static const struct process_time *time_before(const struct processes *processes,
					      const struct process_time *time)
{
	for (size_t i = 0; i < processes->nr_before; i++) {
		const struct process_time *before = &processes->before[i];
		if (before->pid == time->pid && before->start_ns == time->start_ns)
			return before;
	}
	return NULL;
}

static double cpu_percent(const struct processes *processes, const struct process_time *time,
			  uint64_t now_ns)
{
	const struct process_time *before = time_before(processes, time);
	uint64_t used_ns = time->cpu_ns, passed_ns = now_ns - processes->before_ns;
	if (before)
		used_ns -= before->cpu_ns < used_ns ? before->cpu_ns : used_ns;
	else /* Start times count from boot, as CLOCK_MONOTONIC does but for the time asleep. */
		passed_ns = now_ns > time->start_ns ? now_ns - time->start_ns : 0;
	return passed_ns > 10 * NS_PER_MS ? 100.0 * (double)used_ns / (double)passed_ns : 0;
}

struct process_list {
	struct ui_process *items;
	size_t nr, capacity;
};
struct time_list {
	struct process_time *items;
	size_t nr, capacity;
};

static int add(const struct processes *processes, int32_t pid, uint64_t now_ns,
	       struct process_list *list, struct time_list *times)
{
	if (vec_reserve(list, list->nr + 1) || vec_reserve(times, times->nr + 1))
		return -ENOMEM;
	struct ui_process process = {0};
	struct process_time time = {0};
	if (!read_stat(pid, &process, &time))
		return 0; /* it has ended */
	read_command(&process);
	read_user(&process);
	process.cpu_percent = cpu_percent(processes, &time, now_ns);
	list->items[list->nr++] = process;
	times->items[times->nr++] = time;
	return 0;
}

int processes_list(struct processes *processes, struct ui_process **out, size_t *nr)
{
	struct process_list list = {0};
	struct time_list times = {0};
	uint64_t now_ns = clock_now_ns();
	DIR *dir = opendir("/proc");
	if (!dir)
		return -errno;
	int result = 0;
	int32_t pid;
	while (!result && (pid = proc_next_pid(dir)) > 0) {
		if (pid != getpid())
			result = add(processes, pid, now_ns, &list, &times);
	}
	closedir(dir);
	if (result) {
		free(list.items);
		free(times.items);
		return result;
	}
	free(processes->before);
	processes->before = times.items;
	processes->nr_before = times.nr;
	processes->before_ns = now_ns;
	*out = list.items;
	*nr = list.nr;
	return 0;
}

void processes_release(struct processes *processes)
{
	free(processes->before);
	*processes = (struct processes){0};
}

/* SPDX-License-Identifier: MIT */
#include <ctop/session/target.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/base_name.h>
#include <ctop/base/promptness.h>
#include <ctop/base/vec.h>
#include <ctop/output/output.h>
#include <ctop/system/cgroup.h>
#include <ctop/system/proc_text.h>

enum { NAMED_MOST = 3 }; /* of the processes, in a line */
/* As a shell would exit, and as env(1) and timeout(1) do. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static int add_pid(struct int32_list *list, int32_t pid)
{
	if (vec_reserve(list, list->nr + 1))
		return -ENOMEM;
	list->items[list->nr++] = pid;
	return 0;
}

static bool has_name(int32_t pid, const char *name)
{
	char comm[64], command[PATH_MAX];
	proc_line(pid, "comm", comm, sizeof(comm));
	if (strcmp(comm, name) == 0)
		return true;
	proc_line(pid, "cmdline", command, sizeof(command)); /* argv[0] ends at its NUL */
	const char *base = strrchr(command, '/');
	return strcmp(base ? base + 1 : command, name) == 0;
}

size_t target_count_named(const char *name)
{
	DIR *dir = opendir("/proc");
	size_t nr = 0;
	int32_t pid;
	while (dir && (pid = proc_next_pid(dir)) > 0)
		nr += pid != getpid() && has_name(pid, name);
	if (dir)
		closedir(dir);
	return nr;
}

static int find_by_name(struct target *target, const char *name, struct error *error)
{
	DIR *dir = opendir("/proc");
	if (!dir)
		return error_set(error, -errno, "cannot read /proc: %s", strerror(errno));
	int result = 0;
	int32_t pid;
	char list[128] = "";
	bool all_listed = true;
	while (!result && (pid = proc_next_pid(dir)) > 0) {
		if (pid == getpid() || !has_name(pid, name))
			continue;
		size_t used = strlen(list);
		int added =
			snprintf(list + used, sizeof(list) - used, "%s%d", used ? "," : "", pid);
		if (added < 0 || (size_t)added >= sizeof(list) - used) {
			list[used] = '\0';
			all_listed = false;
		}
		result = add_pid(&target->pids, pid);
	}
	closedir(dir);
	if (result)
		return error_set(error, result, "out of memory");
	if (target->pids.nr == 0) {
		error_set(error, -ESRCH, "no process named '%s'", name);
		return error_remedy(error,
				    "ps -e lists what runs; to start a command: ctop record -- %s",
				    name);
	}
	if (target->pids.nr > 1) {
		error_set(error, -EEXIST, "%zu processes are named '%s'", target->pids.nr, name);
		if (all_listed)
			error_remedy(error, "name one, or all of them: -p %s", list);
		else
			error_remedy(error, "name one or more: -p PID,PID; the first are %s", list);
		return -EEXIST;
	}
	return 0;
}

/* ---- a command of our own ---- */

/* Where the terminal is taken by the interface, the command neither writes on it nor reads from it. */
static void leave_terminal(int output)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (isatty(STDIN_FILENO) && null >= 0)
		dup2(null, STDIN_FILENO);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			dup2(output, fd);
}

/* In the forked child: waits until main has closed its end, then becomes the command. */
static _Noreturn void become_command(const struct options *options, int release_fd, int failure_fd)
{
	char *const *argv = options->argv;
	promptness_end();
	if (options->command_input)
		dup2(options->command_input, STDIN_FILENO);
	if (options->command_output)
		leave_terminal(options->command_output);
	/* Standard output is the recording's. */
	if (options->command == COMMAND_RECORD &&
	    output_descriptor(options->output) == STDOUT_FILENO)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	/* Main may have signals blocked for a signalfd: that is not the command's business. */
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	char byte;
	while (read(release_fd, &byte, 1) < 0 && errno == EINTR)
		;
	environ = options->environment; /* the caller's: PATH, too */
	execvp(argv[0], argv);
	int error = errno;
	if (write(failure_fd, &error, sizeof(error)) < 0)
		_exit(EXIT_CANNOT_RUN);
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static int refuse_command(const char *command, int failure, struct error *error)
{
	error_set(error, -failure, "cannot run '%s': %s", command, strerror(failure));
	error->exit_code = failure == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	if (failure == ENOENT)
		error_remedy(error, "check its name and PATH; a script needs its interpreter");
	else if (failure == EACCES)
		error_remedy(error, "make it executable: chmod +x, and check its directories");
	else
		error_remedy(error, "try to start it without ctop first");
	return -failure;
}

/* The caller's. */
static const char *path_of(char *const *environment)
{
	for (; *environment; environment++)
		if (!strncmp(*environment, "PATH=", strlen("PATH=")))
			return *environment + strlen("PATH=");
	return "/bin:/usr/bin"; /* as execvp() has it */
}

/* Why nobody can run it: ENOENT, EACCES. 0: somebody can; whether we may is for exec to say. */
static int why_not_there(const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return errno == ENOENT || errno == ENOTDIR ? ENOENT : 0;
	const bool is_program =
		S_ISREG(status.st_mode) && status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH);
	return is_program ? 0 : EACCES;
}

/* The same, in all places where exec looks for it. */
static int why_not(const char *command, const char *directories)
{
	char path[PATH_MAX];
	int why = ENOENT;
	if (!*command)
		return ENOENT;
	if (strchr(command, '/'))
		return why_not_there(command);
	for (const char *at = directories, *end; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		const int size = snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - at), at,
					  end > at ? "/" : "", command);
		const int here = size < (int)sizeof(path) ? why_not_there(path) : 0;
		if (!here)
			return 0;
		if (here == EACCES)
			why = EACCES;
	}
	return why;
}

static int start_command(struct target *target, const struct options *options, struct error *error)
{
	int release[2], failure[2];
	/* Before an output is made, which would take the place of the last one. */
	const int why = why_not(options->argv[0], path_of(options->environment));
	if (why)
		return refuse_command(options->argv[0], why, error);
	if (pipe2(release, O_CLOEXEC) < 0)
		return error_set(error, -errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(failure, O_CLOEXEC) < 0) {
		close(release[0]);
		close(release[1]);
		return error_set(error, -errno, "cannot create a pipe: %s", strerror(errno));
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(release[1]);
		become_command(options, release[0], failure[1]);
	}
	/* Who writes to the command is to be told when nobody reads any more. */
	if (options->command_input)
		close(options->command_input);
	close(release[0]);
	close(failure[1]);
	target->release_fd = release[1];
	target->failure_fd = failure[0];
	if (pid < 0)
		return error_set(error, -errno, "cannot fork: %s", strerror(errno));
	target->command_pid = pid;
	target->command = options->argv[0];
	return add_pid(&target->pids, pid) ? error_set(error, -ENOMEM, "out of memory") : 0;
}

int target_start(struct target *target, struct error *error)
{
	if (target->release_fd < 0)
		return 0;
	close(target->release_fd);
	target->release_fd = -1;
	/* The other end closes on exec: no byte means that the command runs. */
	int failure = 0;
	ssize_t got;
	do
		got = read(target->failure_fd, &failure, sizeof(failure));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(failure))
		return 0;
	return refuse_command(target->command, failure, error);
}

/* ---- all kinds ---- */

static int32_t thread_group_of(int32_t tid)
{
	char path[64], line[256];
	int32_t pid = tid;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *file = proc_fopen(path);
	if (!file)
		return tid;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	fclose(file);
	return pid;
}

static int open_process(int32_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Tells of the thread's own end; before Linux 6.9, of its process's. */
static int open_thread(int32_t tid)
{
	const unsigned thread_flag = O_EXCL; /* PIDFD_THREAD, linux/pidfd.h */
	int fd = (int)syscall(SYS_pidfd_open, tid, thread_flag);
	return fd < 0 && errno == EINVAL ? open_process(thread_group_of(tid)) : fd;
}

/* A descriptor for each, to see its end; -1 for what has ended already. */
static int watch(struct target *target, const struct int32_list *list, bool threads)
{
	for (size_t i = 0; i < list->nr; i++) {
		int *fds = reallocarray(target->pid_fds, target->nr_pid_fds + 1, sizeof(int));
		if (!fds)
			return -ENOMEM;
		target->pid_fds = fds;
		int fd = threads ? open_thread(list->items[i]) : open_process(list->items[i]);
		if (fd < 0 && errno != ESRCH)
			return -errno;
		fds[target->nr_pid_fds++] = fd;
	}
	return 0;
}

/* Threads have numbers like processes, and some lists show them as such. */
static int refuse_threads(const struct int32_list *pids, struct error *error)
{
	for (size_t i = 0; i < pids->nr; i++) {
		int32_t pid = pids->items[i], group = thread_group_of(pid);
		if (group == pid)
			continue;
		error_set(error, -ESRCH, "%d is a thread of process %d", pid, group);
		return error_remedy(error, "-p %d profiles the process, -t %d this thread alone",
				    group, pid);
	}
	return 0;
}

/* Behind the whole CPUs or the cgroup: who of them. */
static void describe_choice(struct target *target, const struct options *options)
{
	char *text = target->description;
	size_t size = sizeof(target->description), used = strlen(text);
	if (target->only_comm)
		snprintf(text + used, size - used, ", threads called %s", target->only_comm);
	used = strlen(text);
	if (target->has_uid)
		snprintf(text + used, size - used, ", of uid %u", target->uid);
	used = strlen(text);
	if (options->argv)
		snprintf(text + used, size - used, ", while %s[%d] runs",
			 base_name(options->argv[0]), target->command_pid);
}

static void describe(struct target *target, const struct options *options)
{
	char *text = target->description;
	size_t size = sizeof(target->description);
	if (options->cgroup) {
		target->kind = "cgroup";
		snprintf(text, size, "cgroup %s", options->cgroup);
		describe_choice(target, options);
		return;
	}
	if (options->system_wide) {
		target->kind = "system";
		snprintf(text, size,
			 options->cpus.nr ? "the processes on %zu CPU%s" : "all processes",
			 options->cpus.nr, options->cpus.nr == 1 ? "" : "s");
		describe_choice(target, options);
		return;
	}
	const struct int32_list *list = options->tids.nr ? &options->tids : &target->pids;
	target->kind = target->command_pid ? "command" : options->tids.nr ? "tid" : "pid";
	size_t used = 0;
	/* Many would take all of a line: who is not called by name is counted. */
	const size_t nr_named = list->nr <= NAMED_MOST ? list->nr : NAMED_MOST - 1;
	for (size_t i = 0; i < nr_named && used < size; i++) {
		char comm[64];
		proc_line(list->items[i], "comm", comm, sizeof(comm));
		if (target->command_pid)
			snprintf(comm, sizeof(comm), "%s", base_name(options->argv[0]));
		int added = snprintf(text + used, size - used, "%s%s[%d]", used ? ", " : "", comm,
				     list->items[i]);
		used += added > 0 ? (size_t)added : 0;
	}
	if (nr_named < list->nr && used < size)
		snprintf(text + used, size - used, " +%zu more", list->nr - nr_named);
}

void target_count_children(struct target *target, size_t nr)
{
	char text[32];
	char *description = target->description;
	if (!nr)
		return;
	/* Where a list of processes fills it, its end goes. */
	const int size = snprintf(text, sizeof(text), " +%zu child%s", nr, nr == 1 ? "" : "ren");
	size_t used = strlen(description);
	const size_t room = sizeof(target->description) - 1 - (size_t)size;
	if (used > room)
		used = room;
	memcpy(description + used, text, (size_t)size + 1);
}

int target_open(struct target *target, const struct options *options, struct error *error)
{
	*target = (struct target){
		.release_fd = -1,
		.failure_fd = -1,
		.cgroup_fd = -1,
		.only_comm = options->only_comm,
		.has_uid = options->has_uid,
		.uid = options->uid,
	};
	int result = 0;
	if (options->argv)
		result = start_command(target, options, error);
	else if (options->process_name)
		result = find_by_name(target, options->process_name, error);
	if (!result && options->cgroup)
		result = target->cgroup_fd = cgroup_open(options->cgroup, error);
	if (result > 0)
		result = 0;
	for (size_t i = 0; !result && i < options->pids.nr; i++)
		if (add_pid(&target->pids, options->pids.items[i]))
			result = error_set(error, -ENOMEM, "out of memory");
	if (!result)
		result = refuse_threads(&options->pids, error);
	if (result)
		return result;
	describe(target, options);
	result = watch(target, &target->pids, false);
	if (!result)
		result = watch(target, &options->tids, true);
	return result ? error_set(error, result, "cannot watch for the target's end: %s",
				  strerror(-result))
		      : 0;
}

bool target_ended(struct target *target, int *status)
{
	if (target->command_pid && waitpid(target->command_pid, status, WNOHANG) > 0) {
		target->command_pid = 0;
		return true;
	}
	if (target->cgroup_fd >= 0)
		return cgroup_is_gone(target->cgroup_fd);
	bool all = target->nr_pid_fds > 0;
	for (size_t i = 0; i < target->nr_pid_fds; i++) {
		struct pollfd poll_fd = {.fd = target->pid_fds[i], .events = POLLIN};
		if (target->pid_fds[i] >= 0 && poll(&poll_fd, 1, 0) == 1) {
			close(target->pid_fds[i]);
			target->pid_fds[i] = -1;
		}
		all = all && target->pid_fds[i] < 0;
	}
	return all && !target->command_pid;
}

void target_release(struct target *target)
{
	if (target->command_pid && target->release_fd >= 0) {
		kill(target->command_pid, SIGKILL);
		waitpid(target->command_pid, NULL, 0);
	}
	if (target->release_fd >= 0)
		close(target->release_fd);
	if (target->failure_fd >= 0)
		close(target->failure_fd);
	if (target->cgroup_fd >= 0)
		close(target->cgroup_fd);
	for (size_t i = 0; i < target->nr_pid_fds; i++)
		if (target->pid_fds[i] >= 0)
			close(target->pid_fds[i]);
	free(target->pid_fds);
	free(target->pids.items);
}

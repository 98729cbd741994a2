/* SPDX-License-Identifier: MIT */
/* What the kernel does for a child behind the filter. Each role's table: tests/unit/child/jail_calls.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/jail/jail.h>

#include "test.h"

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

int main(void)
{
	RUN(a_filter_leaves_what_a_child_needs);
	return test_done();
}

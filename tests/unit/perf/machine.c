/* SPDX-License-Identifier: MIT */
/* What /proc says of other processes, asked without waiting for them. */
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "main/perf/sampler_internal.h"
#include "test.h"

enum { NOBODY = 65534 };

/* Calls of read() that this process has made, as the kernel counts them; -1: it does not. */
static long nr_reads(void)
{
	char text[512];
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *line = strstr(text, "syscr: ");
	return line ? strtol(line + strlen("syscr: "), NULL, 10) : -1;
}

/* Reading maps takes the process's lock of its mappings, for which one may wait for ever. */
static void maps_are_not_read_to_know_whether_they_are_hidden(void)
{
	long first = nr_reads(), second = nr_reads();
	if (first < 0)
		SKIP("this kernel does not count reads");
	CHECK(!machine_hides_process(getpid()));
	machine_hides_process(1);
	CHECK_EQ(nr_reads() - second, second - first);
}

static void what_is_not_there_is_not_hidden(void)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK(pid > 0);
	siginfo_t info;
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(machine_process(pid).state, PROCESS_ZOMBIE);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(machine_process(pid).state, PROCESS_GONE);
	CHECK(!machine_hides_process(pid));
}

enum { SEEN_WELL, CANNOT_BECOME_HIM, OWN_IS_HIDDEN, OTHERS_ARE_OPEN, COUNTED_BADLY };

/* In a process of a user who owns nothing else. */
static int look_as_nobody(pid_t roots)
{
	const struct process_facts facts = machine_process(getpid());
	size_t nr_hidden, nr;
	/* Dumpable again: a process that changes its user is closed, to itself as well. */
	if (facts.state != PROCESS_ALIVE || setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 ||
	    setuid(NOBODY) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		return CANNOT_BECOME_HIM;
	machine_count_hidden(&nr_hidden, &nr);
	if (machine_hides_process(getpid()))
		return OWN_IS_HIDDEN;
	if (!machine_hides_process(roots))
		return OTHERS_ARE_OPEN;
	return nr_hidden >= 1 && nr > nr_hidden ? SEEN_WELL : COUNTED_BADLY;
}

static void others_hide_from_who_may_not_look(void)
{
	int status;
	if (geteuid() != 0)
		SKIP("needs root");
	pid_t root = getpid(), pid = fork();
	if (pid == 0)
		_exit(look_as_nobody(root));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT_BECOME_HIM)
		SKIP("root cannot become another user here");
	CHECK_EQ(WEXITSTATUS(status), SEEN_WELL);
}

int main(void)
{
	RUN(maps_are_not_read_to_know_whether_they_are_hidden);
	RUN(what_is_not_there_is_not_hidden);
	RUN(others_hide_from_who_may_not_look);
	return test_done();
}

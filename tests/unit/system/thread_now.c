/* SPDX-License-Identifier: MIT */
#include <ctop/system/thread_now.h>

#include <ctop/system/system_call.h>

#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>

#include "test.h"

/* A child that waits for a futex that nobody wakes, under that name. */
static pid_t sleeper(const char *name)
{
	pid_t pid = fork();
	if (pid == 0) {
		int nobody = 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		syscall(SYS_futex, &nobody, FUTEX_WAIT, 0, NULL, NULL, 0);
		_exit(1);
	}
	CHECK(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct thread_now asleep(pid_t pid, const char *name)
{
	struct thread_clock clock = {0};
	struct thread_now now;
	do
		CHECK(thread_now_read(&clock, NULL, pid, pid, &now));
	while (now.state != 'S' || strcmp(now.name, name) != 0);
	return now;
}

/* It has not run for longer and longer. */
static void check_sleeps_on(pid_t pid, double first_s)
{
	enum { PATIENCE_S = 120 };
	const uint64_t until_ns = clock_now_ns() + PATIENCE_S * NS_PER_SECOND;
	struct thread_clock clock = {0};
	struct thread_now now;
	do
		CHECK(thread_now_read(&clock, NULL, pid, pid, &now));
	while (now.still_s <= first_s + 0.1 && clock_now_ns() < until_ns);
	CHECK(now.still_s > first_s + 0.1);
}

static void one_that_sleeps(void)
{
	struct thread_clock clock = {0};
	pid_t pid = sleeper("sleeps");
	struct thread_now now = asleep(pid, "sleeps");
	char name[16];
	thread_now_name(pid, pid, name);
	CHECK_STR(name, "sleeps");
	if (now.call[0]) /* who may not trace it is not told */
		CHECK_STR(now.call, "futex");
	CHECK(now.still_s < 3600);
	if (now.still_s >= 0)
		check_sleeps_on(pid, now.still_s);
	end(pid);
	CHECK(!thread_now_read(&clock, NULL, pid, pid, &now));
}

/* The fields that follow a name are not found in it. */
static void names_that_look_like_what_follows(void)
{
	static const char *const names[] = {"x) R 1 2 3", ") Z ((", "\nse.exec_start",
					    "\x1b[2J\xff", ""};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		pid_t pid = sleeper(names[i]);
		struct thread_now now = asleep(pid, names[i]);
		CHECK_EQ(now.state, 'S');
		CHECK(now.still_s < 3600);
		end(pid);
	}
}

static void oneself(void)
{
	struct thread_clock clock = {0};
	struct thread_now now;
	CHECK(thread_now_read(&clock, NULL, getpid(), getpid(), &now));
	CHECK_EQ(now.state, 'R');
	CHECK(!now.call[0] && !now.place[0]);
}

static void nobody(void)
{
	struct thread_clock clock = {0};
	struct thread_now now;
	CHECK(!thread_now_read(&clock, NULL, 2147483647, 2147483647, &now));
	CHECK(!thread_now_read(&clock, NULL, getpid(), 1, &now));
}

static void names_of_calls(void)
{
	CHECK_STR(system_call_name(SYS_futex), "futex");
	CHECK_STR(system_call_name(SYS_ppoll), "ppoll");
	CHECK_STR(system_call_name(SYS_getpid), "getpid");
	CHECK(!system_call_name(100000));
	CHECK(!system_call_name(-1));
}

int main(void)
{
	RUN(one_that_sleeps);
	RUN(names_that_look_like_what_follows);
	RUN(oneself);
	RUN(nobody);
	RUN(names_of_calls);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What exactly threads wait for: children that wait for one thing each. */
#include <ctop/system/wait_object.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

#include "test.h"

#define ESCAPE "\x1b[2J"

/* Newer machines have the general calls alone. */
#ifdef SYS_poll
enum { POLLS = SYS_poll, POLLS_SET = SYS_epoll_wait };
#else
enum { POLLS = SYS_ppoll, POLLS_SET = SYS_epoll_pwait };
#endif

static int ends[2], sockets[2], file = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, pi_mutex;

/* ---- ways to wait ---- */

static void read_pipe(void)
{
	char byte;
	(void)!read(ends[0], &byte, 1);
}

static void poll_four(void)
{
	struct pollfd polled[] = {{ends[0], POLLIN, 0},
				  {sockets[0], POLLIN, 0},
				  {-1, POLLIN, 0},
				  {ends[0], POLLIN, 0}};
	poll(polled, 4, -1);
}

static void poll_set(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	const int set = epoll_create1(0);
	epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
	epoll_ctl(set, EPOLL_CTL_ADD, sockets[0], &event);
	epoll_wait(set, &event, 1, -1);
}

static void lock_file(void)
{
	flock(file, LOCK_EX);
}

static void wait_for_child(void)
{
	const pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	waitpid(child, NULL, 0);
}

static void *lock_mutex(void *of)
{
	pthread_mutex_lock(of);
	return NULL;
}

/* Its first thread holds it, and waits for the other, which wants it. */
static void lock_and_join(pthread_mutex_t *of)
{
	pthread_t thread;
	pthread_mutex_lock(of);
	pthread_create(&thread, NULL, lock_mutex, of);
	pthread_join(thread, NULL);
}

static void want_mutex(void)
{
	lock_and_join(&mutex);
}

static void want_pi_mutex(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&pi_mutex, &attributes);
	lock_and_join(&pi_mutex);
}

static pid_t waiting(void (*wait_so)(void))
{
	const pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_so();
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

/* As soon as it sleeps in that call; where the kernel does not tell, or tells of an emulator's calls, the case is skipped. */
static struct wait_object object_of(pid_t pid, pid_t tid, long number)
{
	enum { PATIENCE_S = 120 };
	const uint64_t until_ns = clock_now_ns() + PATIENCE_S * NS_PER_SECOND;
	struct system_call call;
	struct stat_line line;
#ifndef __x86_64__
	SKIP("an emulated machine has its host's calls");
#endif
	do {
		call = system_call_read(pid, tid);
		proc_stat_line(pid, tid, &line);
		if (!call.is_told && !call.runs)
			SKIP("this kernel does not tell in which call a child waits");
	} while ((call.number != number || !call.is_told || line.state != 'S') &&
		 clock_now_ns() < until_ns);
	CHECK_EQ(call.number, number);
	return wait_object_read(pid, &call);
}

static const char *shown(const struct wait_object *object)
{
	static char string[512];
	struct text text = {0};
	wait_object_add(object, &text);
	snprintf(string, sizeof(string), "%s", text_string(&text));
	text_release(&text);
	return string;
}

static const char *told(void (*wait_so)(void), long number)
{
	const pid_t pid = waiting(wait_so);
	const struct wait_object object = object_of(pid, pid, number);
	end(pid);
	return shown(&object);
}

/* The other thread of a process. */
static pid_t other_thread(pid_t pid)
{
	char path[48];
	pid_t tid = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	while (!tid) {
		DIR *threads = proc_opendir(path);
		int32_t next;
		while (threads && (next = proc_next_pid(threads)) > 0)
			tid = next != pid ? next : tid;
		if (threads)
			closedir(threads);
	}
	return tid;
}

/* ---- cases ---- */

static void link_of(int fd, char *name, size_t size)
{
	char path[48];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const ssize_t got = readlink(path, name, size - 1);
	CHECK(got > 0);
	name[got > 0 ? got : 0] = '\0';
}

static void files_by_what_the_kernel_calls_them(void)
{
	char pipe_name[64], socket_name[64], wanted[256];
	link_of(ends[0], pipe_name, sizeof(pipe_name));
	link_of(sockets[0], socket_name, sizeof(socket_name));
	CHECK_STR(told(read_pipe, SYS_read), pipe_name);
	snprintf(wanted, sizeof(wanted), "one of 4: %s, %s, ?, ...", pipe_name, socket_name);
	CHECK_STR(told(poll_four, POLLS), wanted);
	/* In the order in which the kernel has them. */
	const char *set = told(poll_set, POLLS_SET);
	CHECK(!strncmp(set, "one of 2: ", 10) && strstr(set, pipe_name) &&
	      strstr(set, socket_name));
}

static void check_holder(void (*wait_so)(void), const pthread_mutex_t *of)
{
	const pid_t pid = waiting(wait_so);
	const struct wait_object object = object_of(pid, other_thread(pid), SYS_futex);
	CHECK_EQ(object.kind, WAIT_ON_FUTEX);
	CHECK_EQ(object.address, (uint64_t)(uintptr_t)of);
	CHECK_EQ(object.holder, pid);
	char wanted[96];
	snprintf(wanted, sizeof(wanted), "futex 0x%lx, likely held by %d", (unsigned long)of, pid);
	CHECK_STR(shown(&object), wanted);
	end(pid);
}

static void who_holds_a_mutex(void)
{
	check_holder(want_mutex, &mutex);
	check_holder(want_pi_mutex, &pi_mutex);
}

static void a_process(void)
{
	const pid_t pid = waiting(wait_for_child);
	const struct wait_object object = object_of(pid, pid, SYS_wait4);
	CHECK_EQ(object.kind, WAIT_ON_PROCESS);
	CHECK_EQ(proc_parent(object.holder), pid);
	kill(object.holder, SIGKILL);
	end(pid);
}

static void what_words_say_of_who_holds_it(void)
{
	const uint32_t contended[] = {2, 1, 4711}, taken[] = {1, 1, 4711},
		       pi[] = {FUTEX_WAITERS | 4712, 7, 4711}, odd[] = {2, 0, UINT32_MAX};
	CHECK_EQ(wait_object_holder(FUTEX_WAIT_PRIVATE, contended), 4711);
	CHECK_EQ(wait_object_holder(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, contended), 4711);
	CHECK_EQ(wait_object_holder(FUTEX_WAIT_PRIVATE, taken), 0);
	CHECK_EQ(wait_object_holder(FUTEX_LOCK_PI_PRIVATE, pi), 4712);
	CHECK_EQ(wait_object_holder(FUTEX_WAIT, odd), 0);
}

static void names_are_made_safe(void)
{
	char path[] = "/tmp/ctop-" ESCAPE "-XXXXXX";
	const int held = mkstemp(path);
	CHECK(held >= 0);
	file = open(path, O_RDWR | O_CLOEXEC);
	CHECK(file >= 0 && flock(held, LOCK_EX) == 0);
	const char *name = told(lock_file, SYS_flock);
	CHECK(strstr(name, "/tmp/ctop-") && !strchr(name, '\x1b'));
	unlink(path);
	close(held);
	close(file);
}

static struct wait_object object_of_text(const char *text)
{
	const struct system_call call = system_call_parse(text);
	return wait_object_read(getpid(), &call);
}

static const char *shown_text(const char *text)
{
	const struct wait_object object = object_of_text(text);
	return shown(&object);
}

/* /proc says what the target wants it to. */
static void addresses_of_nothing(void)
{
#define STACK " 0x0 0x0 0x0 0x0 0x7ffd00001000 0x7f0000001234\n"
	char text[160];
	snprintf(text, sizeof(text), "%d 0x10 0xffffffffffffffff" STACK, SYS_ppoll);
	CHECK_EQ(object_of_text(text).kind, WAIT_ON_UNKNOWN);
	snprintf(text, sizeof(text), "%d 0x0 0x0" STACK, SYS_ppoll);
	CHECK_EQ(object_of_text(text).kind, WAIT_ON_UNKNOWN);
	snprintf(text, sizeof(text), "%d 0xfffffffffffffff0 0x80" STACK, SYS_futex);
	CHECK_STR(shown_text(text), "futex 0xfffffffffffffff0");
	snprintf(text, sizeof(text), "%d 0xffffffffffffffff 0x0" STACK, SYS_read);
	CHECK_STR(shown_text(text), "?");
	CHECK_EQ(object_of_text("running\n").kind, WAIT_ON_UNKNOWN);
	CHECK_EQ(object_of_text("").kind, WAIT_ON_UNKNOWN);
	CHECK_EQ(object_of_text("-1 0x7ffd00001000 0x7f0000001234\n").kind, WAIT_ON_UNKNOWN);
	/* A program of 32 bits has other numbers. */
	CHECK_EQ(object_of_text("202 0x1 0x80 0x0 0x0 0x0 0x0 0xffffd000 0xf7001234\n").kind,
		 WAIT_ON_UNKNOWN);
}

int main(void)
{
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	RUN(what_words_say_of_who_holds_it);
	RUN(addresses_of_nothing);
	RUN(files_by_what_the_kernel_calls_them);
	RUN(who_holds_a_mutex);
	RUN(a_process);
	RUN(names_are_made_safe);
	return test_done();
}

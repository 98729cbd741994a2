/* SPDX-License-Identifier: MIT */
/* What threads wait for, from what /proc says of them. */
#include <ctop/system/wait_kind.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "test.h"

#define STACK "0x7ffd00001000 0x7f0000001234\n"

static enum wait_kind of_text(const char *text, char state, const char *place)
{
	const struct system_call call = system_call_parse(text);
	return wait_kind_of(&call, state, place);
}

static enum wait_kind kind_of_call(long number, char state, const char *place)
{
	char text[128];
	snprintf(text, sizeof(text), "%ld 0x1 0x2 0x3 0x4 0x5 0x6 " STACK, number);
	return of_text(text, state, place);
}

static void by_the_call(void)
{
	CHECK_EQ(kind_of_call(SYS_futex, 'S', ""), WAIT_LOCK);
	CHECK_EQ(kind_of_call(SYS_read, 'S', ""), WAIT_IO);
	CHECK_EQ(kind_of_call(SYS_fsync, 'D', ""), WAIT_IO);
	CHECK_EQ(kind_of_call(SYS_ppoll, 'S', ""), WAIT_POLL);
	CHECK_EQ(kind_of_call(SYS_epoll_pwait, 'S', ""), WAIT_POLL);
	CHECK_EQ(kind_of_call(SYS_clock_nanosleep, 'S', ""), WAIT_SLEEP);
	CHECK_EQ(kind_of_call(SYS_wait4, 'S', ""), WAIT_CHILD);
	CHECK_EQ(kind_of_call(SYS_rt_sigtimedwait, 'S', ""), WAIT_OTHER);
	CHECK_EQ(kind_of_call(1000000, 'S', ""), WAIT_OTHER);
	CHECK_EQ(kind_of_call(SYS_futex, 'T', ""), WAIT_OTHER);
}

static enum wait_kind with_arguments(long number, unsigned first, unsigned second)
{
	char text[128];
	snprintf(text, sizeof(text), "%ld 0x%x 0x%x 0x3 0x4 0x5 0x6 " STACK, number, first, second);
	return of_text(text, 'S', "");
}

static void by_the_calls_arguments(void)
{
	CHECK_EQ(with_arguments(SYS_fcntl, 3, F_SETLKW), WAIT_LOCK);
	CHECK_EQ(with_arguments(SYS_fcntl, 3, F_OFD_SETLKW), WAIT_LOCK);
	CHECK_EQ(with_arguments(SYS_fcntl, 3, F_GETFD), WAIT_OTHER);
	CHECK_EQ(with_arguments(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0), WAIT_CHILD);
	CHECK_EQ(with_arguments(SYS_clone, SIGCHLD, 0), WAIT_OTHER);
	CHECK_EQ(with_arguments(SYS_clone3, 1, 2), WAIT_CHILD);
	CHECK_EQ(with_arguments(SYS_ppoll, 0, 0), WAIT_SLEEP);
	CHECK_EQ(with_arguments(SYS_ppoll, 1, 2), WAIT_POLL);
	CHECK_EQ(with_arguments(SYS_pselect6, 0, 0), WAIT_SLEEP);
	CHECK_EQ(with_arguments(SYS_pselect6, 4, 0), WAIT_POLL);
	CHECK_EQ(with_arguments(SYS_msgrcv, 1, 2), WAIT_IO);
}

static void outside_of_calls(void)
{
	CHECK_EQ(of_text("-1 " STACK, 'D', ""), WAIT_FAULT);
	CHECK_EQ(of_text("-1 " STACK, 'D', "folio_wait_bit_common"), WAIT_FAULT);
	/* File systems of users are waited for interruptibly. */
	CHECK_EQ(of_text("-1 " STACK, 'S', "request_wait_answer"), WAIT_FAULT);
	CHECK_EQ(of_text("-1 " STACK, 'S', "handle_userfault"), WAIT_FAULT);
	CHECK_EQ(of_text("-1 " STACK, 'S', ""), WAIT_UNSEEN);
	CHECK_EQ(of_text("-1 " STACK, 'S', "do_freezer_trap"), WAIT_OTHER);
	CHECK_EQ(of_text("-1 " STACK, 'D', "__refrigerator"), WAIT_OTHER);
	CHECK_EQ(kind_of_call(SYS_restart_syscall, 'S', "request_wait_answer"), WAIT_IO);
}

static void by_the_kernels_function(void)
{
	/* Interrupted, and gone on. */
	CHECK_EQ(kind_of_call(SYS_restart_syscall, 'S', "hrtimer_nanosleep"), WAIT_SLEEP);
	CHECK_EQ(kind_of_call(SYS_restart_syscall, 'S', "futex_do_wait"), WAIT_LOCK);
	CHECK_EQ(kind_of_call(SYS_restart_syscall, 'S', ""), WAIT_UNSEEN);
	/* Of a program of 32 bits 3 is read, and the stack lies low; of ours it is close. */
	CHECK_EQ(of_text("3 0x1 0x2 0x3 0x4 0x5 0x6 0xffffd000 0xf7001234\n", 'S', "pipe_read"),
		 WAIT_IO);
	CHECK_EQ(of_text("240 0x1 0x2 0x3 0x4 0x5 0x6 0xffffd000 0xf7001234\n", 'S',
			 "futex_wait_queue"),
		 WAIT_LOCK);
	/* Nobody may see the call. */
	CHECK_EQ(of_text("", 'S', "do_wait"), WAIT_CHILD);
	CHECK_EQ(of_text("", 'S', "ep_poll"), WAIT_POLL);
	CHECK_EQ(of_text("", 'S', "something_new"), WAIT_OTHER);
	CHECK_EQ(of_text("", 'S', ""), WAIT_UNSEEN);
	CHECK_EQ(of_text("running\n", 'S', ""), WAIT_UNSEEN);
}

static void without_a_call(void)
{
	CHECK_EQ(of_text("-1 " STACK, 'D', "folio_wait_bit_common"), WAIT_FAULT);
	CHECK_EQ(of_text("-1 " STACK, 'S', ""), WAIT_UNSEEN);
}

static void odd_texts(void)
{
	static const char *const texts[] = {"-",    "0x7", "99999999999999999999999", "0 0x",
					    "\n\n", "202", "202 0x1 0x2 0x3"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const enum wait_kind kind = of_text(texts[i], 'S', "odd");
		CHECK(kind >= WAIT_UNSEEN && kind < NR_WAIT_KINDS);
		CHECK(strlen(wait_kind_name(kind)) > 0);
	}
}

int main(void)
{
	RUN(by_the_call);
	RUN(by_the_calls_arguments);
	RUN(outside_of_calls);
	RUN(by_the_kernels_function);
	RUN(without_a_call);
	RUN(odd_texts);
	return test_done();
}

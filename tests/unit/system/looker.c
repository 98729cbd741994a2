/* SPDX-License-Identifier: MIT */
/* Looks through a process of main's own: at memory that answers, at memory that never does, and what is believed of its answers. */
#include "main/system/looker_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { PAGE_BYTES = 4096, PAGES = 4 };

static char *page; /* at the same place in the child */

/* ---- a process to look at ---- */

static bool silence(char *address)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register registered = {.range = {(uintptr_t)address, PAGE_BYTES},
					     .mode = UFFDIO_REGISTER_MODE_MISSING};
	const int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	       !ioctl(faults, UFFDIO_REGISTER, &registered);
}

/* Its second page never answers, if it is to be silent; 0: that is not to be had. */
static pid_t start_target(bool is_silent)
{
	int ready[2];
	char byte = 0;
	page = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	CHECK(page != MAP_FAILED && !pipe(ready));
	strcpy(page, "what lies there");
	const pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = !is_silent || silence(page + PAGE_BYTES) ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	if (byte == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(page, PAGES * PAGE_BYTES);
}

static bool reads(struct looker *looker, pid_t pid, const char *address)
{
	char byte;
	return looker_read(looker, pid, (uintptr_t)address, &byte, 1) == 1;
}

/* ---- looks ---- */

static void what_lies_there_is_read(void)
{
	struct looker *looker = looker_new();
	const pid_t pid = start_target(false);
	char text[16] = "";
	CHECK(looker);
	CHECK_EQ(looker_read(looker, pid, (uintptr_t)page, text, sizeof(text)), sizeof(text));
	CHECK_STR(text, "what lies there");
	const uint64_t places[] = {(uintptr_t)page + 5, (uintptr_t)page, 4096};
	CHECK_EQ(looker_read_pieces(looker, pid, places, 3, text, 4), 2);
	CHECK(!memcmp(text, "lieswhat", 8));
	CHECK_EQ(looker_read(looker, pid, 4096, text, 1), 0);
	CHECK_EQ(looker_read_both(looker, pid, (uintptr_t)page, text, 4, places[0], text + 4, 3),
		 4);
	CHECK(!memcmp(text, "whatlie", 7));
	CHECK_EQ(looker_read_both(looker, pid, (uintptr_t)page, text, 4, 4096, text + 4, 3), 0);
	CHECK_EQ(looker_nr_silent(looker), 0);
	CHECK(looker_cpu_ns(looker) > 0);
	looker_free(looker);
	end_target(pid);
}

static void what_never_answers_is_given_up(void)
{
	struct looker *looker = looker_new();
	const pid_t silent = start_target(true);
	if (!silent)
		SKIP("no userfaultfd(2) that holds the kernel, too");
	CHECK(looker && reads(looker, silent, page));
	CHECK(!reads(looker, silent, page + PAGE_BYTES));
	CHECK_EQ(looker_nr_silent(looker), 1);
	/* All of its memory is one, but for single threads. */
	CHECK(!reads(looker, silent, page));
	CHECK_EQ(looker_nr_silent(looker), 1);
	CHECK(looker_cpu_ns(looker) > 0);
	end_target(silent);
	/* Of another process nothing is given up. */
	const pid_t other = start_target(false);
	CHECK(reads(looker, other, page));
	looker_free(looker);
	end_target(other);
}

static void of_many_threads_that_never_answer_few_are_asked(void)
{
	struct looker *looker = looker_new();
	const pid_t silent = start_target(true);
	if (!silent)
		SKIP("no userfaultfd(2) that holds the kernel, too");
	/* As if its threads waited for a futex there: a word of three is in the page that answers. */
	const struct system_call call = {.is_told = true,
					 .is_ours = true,
					 .number = SYS_futex,
					 .arguments = {(uintptr_t)page + PAGE_BYTES - 4}};
	for (int32_t tid = 1; tid <= 3 * LOOKER_SILENT_OF_PROCESS; tid++)
		CHECK_EQ(looker_object(looker, silent, tid, &call).kind, WAIT_ON_UNKNOWN);
	CHECK_EQ(looker_nr_silent(looker), LOOKER_SILENT_OF_PROCESS);
	looker_free(looker);
	end_target(silent);
}

static pid_t only_child_of(pid_t parent, pid_t but)
{
	char path[64], text[256] = "";
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	FILE *children = fopen(path, "r");
	CHECK(children && fgets(text, sizeof(text), children));
	fclose(children);
	for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
		if (atoi(at) != but)
			return atoi(at);
	return 0;
}

/* Those of the tests before, which were killed and may take a while to end. */
static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void one_that_somebody_kills_is_replaced(void)
{
	reap_all();
	struct looker *looker = looker_new();
	const pid_t pid = start_target(false);
	CHECK(looker && reads(looker, pid, page));
	const pid_t first = only_child_of(getpid(), pid);
	siginfo_t ended;
	CHECK(first > 0 && !kill(first, SIGKILL));
	CHECK(!waitid(P_PID, (id_t)first, &ended, WEXITED | WNOWAIT));
	CHECK(reads(looker, pid, page));
	CHECK(only_child_of(getpid(), pid) != first);
	CHECK_EQ(looker_nr_silent(looker), 0);
	looker_free(looker);
	end_target(pid);
}

/* What its killer says: it came when nobody waited for an answer any more. */
enum { TOO_LATE = 2 };

static bool is_in(const char *call, long number)
{
	char wanted[16];
	const int bytes = snprintf(wanted, sizeof(wanted), "%ld ", number);
	return strncmp(call, wanted, (size_t)bytes) == 0;
}

/* Kills it as soon as main waits for what it has been asked; it is stopped until then. */
static pid_t killer_of(pid_t looker, pid_t waiting)
{
	const pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	char path[64], call[16] = "";
	snprintf(path, sizeof(path), "/proc/%d/syscall", waiting);
	const int fd = open(path, O_RDONLY);
	while (fd >= 0 && !is_in(call, SYS_poll) && !is_in(call, SYS_wait4))
		if (pread(fd, call, sizeof(call) - 1, 0) < 0)
			break;
	_exit(is_in(call, SYS_wait4) ? TOO_LATE : kill(looker, SIGKILL) ? 1 : 0);
}

/* It is not the thread's fault: another is asked. */
static void one_that_somebody_kills_as_it_answers_is_replaced(void)
{
#ifdef SYS_poll
	struct looker *looker = looker_new();
	const pid_t pid = start_target(false);
	CHECK(looker && reads(looker, pid, page));
	const pid_t first = only_child_of(getpid(), pid);
	CHECK(first > 0 && !kill(first, SIGSTOP));
	const pid_t killer = killer_of(first, getpid());
	const bool was_read = reads(looker, pid, page);
	const uint64_t nr_silent = looker_nr_silent(looker);
	int status = 0;
	CHECK_EQ(waitpid(killer, &status, 0), killer);
	looker_free(looker);
	end_target(pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TOO_LATE)
		SKIP("its killer had no CPU while it was waited for");
	CHECK(was_read);
	CHECK_EQ(nr_silent, 0);
#else
	SKIP("no poll(2) to see it wait in");
#endif
}

static void looks_without_a_process_are_counted(void)
{
	struct looker *looker = looker_new();
	const pid_t pid = start_target(false);
	struct rlimit files, none = {0};
	CHECK(looker && !getrlimit(RLIMIT_NOFILE, &files));
	none.rlim_max = files.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK(!reads(looker, pid, page) && !reads(looker, pid, page));
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	CHECK_EQ(looker_nr_unasked(looker), 2);
	CHECK_EQ(looker_nr_silent(looker), 0);
	CHECK(reads(looker, pid, page));
	CHECK_EQ(looker_nr_unasked(looker), 2);
	looker_free(looker);
	end_target(pid);
}

/* ---- answers ---- */

static struct looker_request request = {
	.kind = LOOKER_LOOK, .pid = 7, .tid = 8, .size = 100, .nr = 3};

static bool is_sane(const struct looker_answer *answer)
{
	return looker_answer_is_sane(answer, sizeof(*answer), &request);
}

static void nothing_out_of_range_is_believed(void)
{
	const struct looker_answer sane = {
		.look = {.kind = WAIT_LOCK,
			 .stack_bytes = 100,
			 .object = {.kind = WAIT_ON_FUTEX, .pid = 7, .holder = 9}},
		.nr = 3};
	struct looker_answer answer = sane;
	request.kind = LOOKER_LOOK;
	CHECK(is_sane(&answer));
	CHECK(!looker_answer_is_sane(&answer, sizeof(answer) - 1, &request));
	CHECK(!looker_answer_is_sane(&answer, 0, &request));
	answer.look.stack_bytes = 101;
	CHECK(!is_sane(&answer));
	answer = sane;
	answer.look.kind = NR_WAIT_KINDS;
	CHECK(!is_sane(&answer));
	answer = sane;
	answer.result = -EPERM;
	CHECK(!is_sane(&answer));
	answer.result = -EAGAIN;
	CHECK(is_sane(&answer));
	for (int kind = LOOKER_LOOK; kind <= LOOKER_OBJECT; kind++) {
		request.kind = (enum looker_kind)kind;
		answer = sane;
		answer.look.object.pid = 8;
		CHECK(!is_sane(&answer));
		answer = sane;
		answer.look.object.holder = -1;
		CHECK(!is_sane(&answer));
		answer = sane;
		answer.look.object.kind = (enum wait_object_kind)(WAIT_ON_PROCESS + 1);
		CHECK(!is_sane(&answer));
		answer = sane;
		memset(answer.look.object.text, 'x', sizeof(answer.look.object.text));
		CHECK(!is_sane(&answer));
	}
	request.kind = LOOKER_PIECES;
	answer = sane;
	CHECK(is_sane(&answer));
	answer.nr = 4;
	CHECK(!is_sane(&answer));
	request.kind = LOOKER_READ;
	CHECK(is_sane(&answer));
	answer.nr = 101;
	CHECK(!is_sane(&answer));
}

int main(void)
{
	RUN(what_lies_there_is_read);
	RUN(what_never_answers_is_given_up);
	RUN(of_many_threads_that_never_answer_few_are_asked);
	RUN(one_that_somebody_kills_is_replaced);
	RUN(one_that_somebody_kills_as_it_answers_is_replaced);
	RUN(looks_without_a_process_are_counted);
	RUN(nothing_out_of_range_is_believed);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include <ctop/system/wait_object.h>

#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/process_memory.h>

/* Calls whose first argument is the descriptor that they wait for. */
static const long calls_of_files[] = {
	SYS_read,	SYS_write,     SYS_readv,	    SYS_writev,	   SYS_pread64,
	SYS_pwrite64,	SYS_preadv,    SYS_pwritev,	    SYS_preadv2,   SYS_pwritev2,
	SYS_recvfrom,	SYS_recvmsg,   SYS_recvmmsg,	    SYS_sendto,	   SYS_sendmsg,
	SYS_sendmmsg,	SYS_accept,    SYS_accept4,	    SYS_connect,   SYS_ioctl,
	SYS_fsync,	SYS_fdatasync, SYS_sync_file_range, SYS_fallocate, SYS_ftruncate,
	SYS_getdents64, SYS_flock,     SYS_fcntl,
};

/* How many of those that a call waits for are named. */
enum { NAMED_MOST = 3 };

/* ---- the target's memory, and /proc ---- */

static bool read_memory(int32_t pid, uint64_t address, void *to, size_t size)
{
	return process_read(pid, address, to, size) == size;
}

/* What a descriptor is of, as the kernel calls it; "": it is not there, or may not be seen. Cut where it is longer. */
static void read_link(int32_t pid, int32_t fd, char *name, size_t size)
{
	char path[48];
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/fd/%" PRId32, pid, fd);
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t got = readlink(path, name, size - 1);
	privilege_restore(&before);
	name[got > 0 ? got : 0] = '\0';
}

static bool is_thread_of(int32_t pid, int32_t tid)
{
	char path[48];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/task/%" PRId32, pid, tid);
	return tid > 0 && proc_stat(path, &status) == 0;
}

/* ---- files ---- */

/* Some of many: "3 of: pipe:[1], pipe:[2], ..." */
static void name_files(struct wait_object *object, const int32_t *fds, size_t nr_fds, uint64_t nr)
{
	char name[WAIT_OBJECT_TEXT_BYTES];
	size_t size = 0;
	if (nr > 1)
		size = (size_t)snprintf(object->text, sizeof(object->text), "one of %" PRIu64 ": ",
					nr);
	for (size_t i = 0; i < nr_fds && i < NAMED_MOST && size < sizeof(object->text); i++) {
		read_link(object->pid, fds[i], name, sizeof(name));
		size += (size_t)snprintf(object->text + size, sizeof(object->text) - size, "%s%s",
					 i ? ", " : "", name[0] ? name : "?");
	}
	if (nr > NAMED_MOST && size < sizeof(object->text))
		snprintf(object->text + size, sizeof(object->text) - size, ", ...");
	object->kind = nr_fds ? WAIT_ON_FILE : WAIT_ON_UNKNOWN;
}

static void read_poll(struct wait_object *object, const struct system_call *call)
{
	struct pollfd polled[NAMED_MOST];
	int32_t fds[NAMED_MOST];
	const uint64_t nr = call->arguments[1];
	const size_t nr_read = nr < NAMED_MOST ? (size_t)nr : NAMED_MOST;
	if (!nr || !read_memory(object->pid, call->arguments[0], polled, nr_read * sizeof(*polled)))
		return;
	for (size_t i = 0; i < nr_read; i++)
		fds[i] = polled[i].fd;
	name_files(object, fds, nr_read, nr);
}

/* By its fdinfo, "tfd:       12 events: ..." for each, as far as that is read. */
static void read_epoll(struct wait_object *object, int32_t fd)
{
	char what[48], text[4096];
	int32_t fds[NAMED_MOST];
	uint64_t nr = 0;
	snprintf(what, sizeof(what), "fdinfo/%" PRId32, fd);
	proc_text(object->pid, what, text, sizeof(text));
	for (const char *at = text; (at = strstr(at, "tfd:")); at++) {
		if (nr < NAMED_MOST)
			fds[nr] = atoi(at + 4);
		nr++;
	}
	name_files(object, fds, nr < NAMED_MOST ? (size_t)nr : NAMED_MOST, nr);
}

/* ---- futexes ---- */

static bool is_pi(uint64_t operation)
{
	const uint64_t command = operation & (uint64_t)FUTEX_CMD_MASK;
	return command == FUTEX_LOCK_PI || command == 13; /* FUTEX_LOCK_PI2, of Linux 5.14 */
}

/*
 * A PI futex holds its owner's number (futex(2)). glibc's mutexes begin with a lock, 2 while others wait for it, a count, and the
 * owner's number (struct __pthread_mutex_s): other things are locked by a 2, too, so this is a guess.
 */
int32_t wait_object_holder(uint64_t operation, const uint32_t words[3])
{
	enum { CONTENDED = 2 };
	const uint32_t holder = is_pi(operation)	? words[0] & FUTEX_TID_MASK
				: words[0] == CONTENDED ? words[2]
							: 0;
	return holder <= INT32_MAX ? (int32_t)holder : 0;
}

static void read_futex(struct wait_object *object, const struct system_call *call)
{
	uint32_t words[3];
	object->kind = WAIT_ON_FUTEX;
	object->address = call->arguments[0];
	if (!read_memory(object->pid, object->address, words, sizeof(words)))
		return;
	const int32_t holder = wait_object_holder(call->arguments[1], words);
	if (is_thread_of(object->pid, holder))
		object->holder = holder;
}

/* ---- any ---- */

static bool is_of_file(long number)
{
	for (size_t i = 0; i < sizeof(calls_of_files) / sizeof(*calls_of_files); i++)
		if (calls_of_files[i] == number)
			return true;
	return false;
}

static bool is_poll(long number)
{
#ifdef SYS_poll
	if (number == SYS_poll)
		return true;
#endif
	return number == SYS_ppoll;
}

static bool is_epoll(long number)
{
#ifdef SYS_epoll_wait
	if (number == SYS_epoll_wait)
		return true;
#endif
#ifdef SYS_epoll_pwait2
	if (number == SYS_epoll_pwait2)
		return true;
#endif
	return number == SYS_epoll_pwait;
}

struct wait_object wait_object_read(int32_t pid, const struct system_call *call)
{
	struct wait_object object = {.pid = pid};
	/* Numbers of descriptors and processes are the lower half of a register. */
	const int32_t first = (int32_t)(uint32_t)call->arguments[0];
	if (!call->is_told || !call->is_ours || call->number < 0)
		return object;
	if (call->number == SYS_futex)
		read_futex(&object, call);
	else if (is_of_file(call->number))
		name_files(&object, &first, 1, 1);
	else if (is_poll(call->number))
		read_poll(&object, call);
	else if (is_epoll(call->number))
		read_epoll(&object, first);
	else if (call->number == SYS_wait4 && first > 0)
		object = (struct wait_object){.kind = WAIT_ON_PROCESS, .pid = pid, .holder = first};
	return object;
}

bool wait_object_is_same(const struct wait_object *a, const struct wait_object *b)
{
	if (a->kind != b->kind || a->pid != b->pid)
		return false;
	return a->kind == WAIT_ON_FILE	    ? !strcmp(a->text, b->text)
	       : a->kind == WAIT_ON_PROCESS ? a->holder == b->holder
					    : a->address == b->address;
}

void wait_object_add(const struct wait_object *object, struct text *out)
{
	switch (object->kind) {
	case WAIT_ON_FILE:
		text_add_safe(out, object->text);
		return;
	case WAIT_ON_FUTEX:
		text_addf(out, "futex 0x%" PRIx64, object->address);
		if (object->holder)
			text_addf(out, ", likely held by %" PRId32, object->holder);
		return;
	case WAIT_ON_PROCESS:
		text_addf(out, "process %" PRId32, object->holder);
		return;
	case WAIT_ON_UNKNOWN:
		return;
	}
}

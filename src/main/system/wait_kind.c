/* SPDX-License-Identifier: MIT */
#include <ctop/system/wait_kind.h>

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <ctop/system/proc_text.h>

static const struct {
	long number;
	enum wait_kind kind;
} calls[] = {
	{SYS_futex, WAIT_LOCK},
#ifdef SYS_futex_wait
	{SYS_futex_wait, WAIT_LOCK},
#endif
#ifdef SYS_futex_waitv
	{SYS_futex_waitv, WAIT_LOCK},
#endif
	{SYS_flock, WAIT_LOCK},
	{SYS_semop, WAIT_LOCK},
	{SYS_semtimedop, WAIT_LOCK},
	{SYS_nanosleep, WAIT_SLEEP},
	{SYS_clock_nanosleep, WAIT_SLEEP},
	{SYS_wait4, WAIT_CHILD},
	{SYS_waitid, WAIT_CHILD},
#ifdef SYS_vfork
	{SYS_vfork, WAIT_CHILD},
#endif
#ifdef SYS_clone3
	{SYS_clone3, WAIT_CHILD}, /* with CLONE_VFORK, or it does not wait for long */
#endif
	{SYS_ppoll, WAIT_POLL},
	{SYS_pselect6, WAIT_POLL},
	{SYS_epoll_pwait, WAIT_POLL},
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, WAIT_POLL},
#endif
#ifdef SYS_poll
	{SYS_poll, WAIT_POLL},
	{SYS_select, WAIT_POLL},
	{SYS_epoll_wait, WAIT_POLL},
#endif
	{SYS_read, WAIT_IO},
	{SYS_write, WAIT_IO},
	{SYS_readv, WAIT_IO},
	{SYS_writev, WAIT_IO},
	{SYS_pread64, WAIT_IO},
	{SYS_pwrite64, WAIT_IO},
	{SYS_preadv, WAIT_IO},
	{SYS_pwritev, WAIT_IO},
#ifdef SYS_preadv2
	{SYS_preadv2, WAIT_IO},
	{SYS_pwritev2, WAIT_IO},
#endif
	{SYS_msgrcv, WAIT_IO},
	{SYS_msgsnd, WAIT_IO},
	{SYS_mq_timedreceive, WAIT_IO},
	{SYS_mq_timedsend, WAIT_IO},
#ifdef SYS_open
	{SYS_open, WAIT_IO},
#endif
	{SYS_sendfile, WAIT_IO},
	{SYS_splice, WAIT_IO},
	{SYS_copy_file_range, WAIT_IO},
	{SYS_fsync, WAIT_IO},
	{SYS_fdatasync, WAIT_IO},
	{SYS_sync_file_range, WAIT_IO},
	{SYS_fallocate, WAIT_IO},
	{SYS_ftruncate, WAIT_IO},
	{SYS_openat, WAIT_IO},
	{SYS_close, WAIT_IO},
	{SYS_getdents64, WAIT_IO},
	{SYS_ioctl, WAIT_IO},
	{SYS_accept, WAIT_IO},
	{SYS_accept4, WAIT_IO},
	{SYS_connect, WAIT_IO},
	{SYS_recvfrom, WAIT_IO},
	{SYS_recvmsg, WAIT_IO},
	{SYS_recvmmsg, WAIT_IO},
	{SYS_sendto, WAIT_IO},
	{SYS_sendmsg, WAIT_IO},
	{SYS_sendmmsg, WAIT_IO},
	{SYS_io_getevents, WAIT_IO},
#ifdef SYS_io_uring_enter
	{SYS_io_uring_enter, WAIT_IO},
#endif
};

/* What stands in the names of the kernel's functions that wait; the first that is found. */
static const struct {
	const char *part;
	enum wait_kind kind;
} places[] = {
	{"futex", WAIT_LOCK},
	{"poll", WAIT_POLL},
	{"ep_", WAIT_POLL},
	{"select", WAIT_POLL},
	{"nanosleep", WAIT_SLEEP},
	{"do_wait", WAIT_CHILD},
	{"pipe_", WAIT_IO},
	{"sk_wait", WAIT_IO},
	{"skb_", WAIT_IO},
	{"accept", WAIT_IO},
	{"unix_", WAIT_IO},
	{"tcp_", WAIT_IO},
	{"wait_woken", WAIT_IO},
	{"io_schedule", WAIT_IO},
	{"folio_wait", WAIT_IO},
	{"wait_on_page", WAIT_IO},
	{"io_cqring", WAIT_IO},
	{"read_events", WAIT_IO},
	{"request_wait_answer", WAIT_IO},
	{"handle_userfault", WAIT_FAULT},
};

static enum wait_kind kind_of_place(const char *place)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strstr(place, places[i].part))
			return places[i].kind;
	return place[0] ? WAIT_OTHER : WAIT_UNSEEN;
}

/* What only the arguments tell; WAIT_UNSEEN: they tell nothing. */
static enum wait_kind kind_of_arguments(const struct system_call *call)
{
	/* They are ints: what is above them in a register is nothing. */
	const uint32_t first = (uint32_t)call->arguments[0], second = (uint32_t)call->arguments[1];
	switch (call->number) {
	case SYS_fcntl:
		return second == F_SETLKW || second == F_OFD_SETLKW ? WAIT_LOCK : WAIT_UNSEEN;
	case SYS_clone:
		return first & CLONE_VFORK ? WAIT_CHILD : WAIT_UNSEEN;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll: /* of no descriptor */
		return second ? WAIT_UNSEEN : WAIT_SLEEP;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return first ? WAIT_UNSEEN : WAIT_SLEEP;
	default:
		return WAIT_UNSEEN;
	}
}

static enum wait_kind kind_of_number(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].kind;
	return WAIT_OTHER;
}

static bool is_outside_calls(const struct system_call *call)
{
	return call->is_told && call->number < 0;
}

/* The kernel fetches a page for it, from a file system of a user's own interruptibly; or it is about to go on. */
static enum wait_kind kind_outside_calls(char state, const char *place)
{
	if (strstr(place, "freez") || strstr(place, "refrigerator"))
		return WAIT_OTHER;
	const enum wait_kind kind = kind_of_place(place);
	return state == 'D' || kind == WAIT_IO ? WAIT_FAULT : kind;
}

/* Whether the call alone tells. */
static bool is_told(const struct system_call *call, char state, enum wait_kind *kind)
{
	*kind = WAIT_OTHER;
	if (state == 'T' || state == 't')
		return true;
	if (is_outside_calls(call))
		return false;
	/* A call that was interrupted goes on under another number. */
	const bool is_known = call->is_told && call->is_ours && call->number != SYS_restart_syscall;
	*kind = is_known ? kind_of_arguments(call) : WAIT_UNSEEN;
	if (is_known && *kind == WAIT_UNSEEN)
		*kind = kind_of_number(call->number);
	return is_known;
}

enum wait_kind wait_kind_of(const struct system_call *call, char state, const char *place)
{
	enum wait_kind kind;
	if (is_told(call, state, &kind))
		return kind;
	return is_outside_calls(call) ? kind_outside_calls(state, place) : kind_of_place(place);
}

enum wait_kind wait_kind_read(const struct system_call *call, int32_t pid, int32_t tid, char state)
{
	char place[PROC_PLACE_BYTES] = "";
	enum wait_kind kind;
	if (!is_told(call, state, &kind))
		proc_place(pid, tid, place);
	return wait_kind_of(call, state, place);
}

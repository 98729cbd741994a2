/* SPDX-License-Identifier: MIT */
#include <ctop/system/wait_kind.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <ctop/system/proc_text.h>

/* Above it a stack pointer is one of a 64-bit program; those of 32 bits have other numbers. */
#define LOW_ADDRESSES (UINT64_C(1) << 32)

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
	{"futex", WAIT_LOCK},	   {"poll", WAIT_POLL},	      {"ep_", WAIT_POLL},
	{"select", WAIT_POLL},	   {"nanosleep", WAIT_SLEEP}, {"do_wait", WAIT_CHILD},
	{"pipe_", WAIT_IO},	   {"sk_wait", WAIT_IO},      {"skb_", WAIT_IO},
	{"accept", WAIT_IO},	   {"unix_", WAIT_IO},	      {"tcp_", WAIT_IO},
	{"wait_woken", WAIT_IO},   {"io_schedule", WAIT_IO},  {"folio_wait", WAIT_IO},
	{"wait_on_page", WAIT_IO}, {"io_cqring", WAIT_IO},    {"read_events", WAIT_IO},
};

static enum wait_kind kind_of_place(const char *place)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strstr(place, places[i].part))
			return places[i].kind;
	return place[0] ? WAIT_OTHER : WAIT_UNSEEN;
}

static enum wait_kind kind_of_call(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].kind;
	return WAIT_OTHER;
}

enum wait_kind wait_kind_of(const char *syscall, char state, const char *place)
{
	long number;
	uint64_t stack;
	if (state == 'T' || state == 't')
		return WAIT_OTHER;
	if (sscanf(syscall, "%ld", &number) != 1)
		return kind_of_place(place);
	if (number < 0) /* in no call: the kernel fetches a page for it, or it is about to go on */
		return state == 'D' ? WAIT_FAULT : kind_of_place(place);
	const bool is_ours = sscanf(syscall, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64, &stack) == 1 &&
			     (sizeof(long) == 4 || stack >= LOW_ADDRESSES);
	/* A call that was interrupted goes on under another number. */
	return is_ours && number != SYS_restart_syscall ? kind_of_call(number)
							: kind_of_place(place);
}

enum wait_kind wait_kind_read(int32_t pid, int32_t tid, char state)
{
	char what[48], text[256], place[PROC_PLACE_BYTES];
	snprintf(what, sizeof(what), "task/%d/syscall", tid);
	proc_text(pid, what, text, sizeof(text));
	proc_place(pid, tid, place);
	return wait_kind_of(text, state, place);
}

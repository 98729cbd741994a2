/* SPDX-License-Identifier: MIT */
/* System calls that wait: for somebody, for time, or for a device. */
#include <ctop/system/system_call.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <ctop/system/proc_text.h>

/* Above it a stack pointer is one of a 64-bit program. */
#define LOW_ADDRESSES (UINT64_C(1) << 32)

#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}

static const struct {
	long number;
	const char *name;
} calls[] = {
	/* for another thread or process */
	CALL(futex),
	CALL(wait4),
	CALL(waitid),
	CALL(flock),
	CALL(fcntl),
	CALL(semop),
	CALL(semtimedop),
	CALL(msgrcv),
	CALL(msgsnd),
	CALL(mq_timedreceive),
	CALL(mq_timedsend),
	CALL(ptrace),
	CALL(clone),
	CALL(execve),
#ifdef SYS_futex_wait
	CALL(futex_wait),
#endif
#ifdef SYS_futex_waitv
	CALL(futex_waitv),
#endif
#ifdef SYS_clone3
	CALL(clone3),
#endif
#ifdef SYS_vfork
	CALL(vfork),
#endif
	/* for time, or a signal */
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(rt_sigtimedwait),
	CALL(rt_sigsuspend),
	CALL(restart_syscall),
	CALL(sched_yield),
	CALL(getrandom),
#ifdef SYS_pause
	CALL(pause),
#endif
	/* for one of many */
	CALL(ppoll),
	CALL(pselect6),
	CALL(epoll_pwait),
	CALL(io_getevents),
#ifdef SYS_poll
	CALL(poll),
	CALL(select),
	CALL(epoll_wait),
#endif
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2),
#endif
#ifdef SYS_io_pgetevents
	CALL(io_pgetevents),
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter),
#endif
	/* for somebody far away */
	CALL(accept),
	CALL(accept4),
	CALL(connect),
	CALL(recvfrom),
	CALL(recvmsg),
	CALL(recvmmsg),
	CALL(sendto),
	CALL(sendmsg),
	CALL(sendmmsg),
	CALL(shutdown),
	/* for a file, a pipe, a device */
	CALL(read),
	CALL(write),
	CALL(readv),
	CALL(writev),
	CALL(pread64),
	CALL(pwrite64),
	CALL(preadv),
	CALL(pwritev),
	CALL(preadv2),
	CALL(pwritev2),
	CALL(ioctl),
	CALL(openat),
	CALL(close),
	CALL(fsync),
	CALL(fdatasync),
	CALL(sync),
	CALL(syncfs),
	CALL(sync_file_range),
	CALL(getdents64),
	CALL(ftruncate),
	CALL(truncate),
	CALL(fallocate),
	CALL(unlinkat),
	CALL(renameat2),
	CALL(mkdirat),
	CALL(statfs),
	CALL(splice),
	CALL(tee),
	CALL(vmsplice),
	CALL(sendfile),
	CALL(copy_file_range),
	CALL(mount),
	CALL(umount2),
#ifdef SYS_open
	CALL(open),
	CALL(stat),
	CALL(unlink),
	CALL(rename),
	CALL(mkdir),
	CALL(rmdir),
#endif
#ifdef SYS_newfstatat
	CALL(newfstatat),
#endif
#ifdef SYS_statx
	CALL(statx),
#endif
#ifdef SYS_openat2
	CALL(openat2),
#endif
	/* for memory */
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(mremap),
	CALL(madvise),
	CALL(msync),
	CALL(brk),
	CALL(mlock),
	CALL(exit),
	CALL(exit_group),
	CALL(membarrier),
};

const char *system_call_name(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

struct system_call system_call_parse(const char *text)
{
	struct system_call call = {.runs = strncmp(text, "running", strlen("running")) == 0};
	uint64_t sp, pc, first = 0, second = 0;
	if (sscanf(text, "%ld", &call.number) != 1)
		return call;
	call.is_told = true;
	const int wanted = call.number < 0 ? 2 : 4;
	const int nr = call.number < 0 ? sscanf(text, "%*d %" SCNx64 " %" SCNx64, &sp, &pc)
				       : sscanf(text,
						"%*d %" SCNx64 " %" SCNx64
						" %*x %*x %*x %*x %" SCNx64 " %" SCNx64,
						&first, &second, &sp, &pc);
	call.is_ours = nr == wanted && (sizeof(long) == 4 || sp >= LOW_ADDRESSES);
	call.arguments[0] = call.is_ours ? first : 0;
	call.arguments[1] = call.is_ours ? second : 0;
	call.sp = call.is_ours ? sp : 0;
	call.pc = call.is_ours ? pc : 0;
	return call;
}

struct system_call system_call_read(int32_t pid, int32_t tid)
{
	char what[48], text[256];
	snprintf(what, sizeof(what), "task/%d/syscall", tid);
	proc_text(pid, what, text, sizeof(text));
	return system_call_parse(text);
}

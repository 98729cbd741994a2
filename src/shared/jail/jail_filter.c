/* SPDX-License-Identifier: MIT */
#include <ctop/jail/jail.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* The low half of an argument must be `value` in all bits but these: no value of interest has another half. */
struct check {
	unsigned char nr_argument;
	unsigned value, but_for;
};

enum { CHECKS_MAX = 2 };

/* A call that is let through. Of several rows for one call, one must fit. */
struct row {
	unsigned call;
	unsigned rights; /* the one that it takes; 0: every child may */
	unsigned char nr_checks;
	struct check checks[CHECKS_MAX];
};

#define ANY                                                                                        \
	0,                                                                                         \
	{                                                                                          \
		{                                                                                  \
			0, 0, 0                                                                    \
		}                                                                                  \
	}
#define IF(...)                                                                                    \
	1,                                                                                         \
	{                                                                                          \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define IF_BOTH(...)                                                                               \
	2,                                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* Memory that may be written to, and no code. */
#define NO_CODE 0, PROT_READ | PROT_WRITE
/* Its value is not known before jail_filter(). */
#define OWN_PID 0xffffffffU

static const struct row rows[] = {
	/* The channel. */
	{SYS_recvmsg, 0, IF_BOTH({0, JAIL_CHANNEL_FD, 0}, {2, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, 0})},
	{SYS_sendmsg, 0, IF_BOTH({0, JAIL_CHANNEL_FD, 0}, {2, MSG_DONTWAIT | MSG_NOSIGNAL, 0})},
#ifdef SYS_poll
	{SYS_poll, 0, ANY},
#else
	{SYS_ppoll, 0, ANY},
#endif
	{SYS_restart_syscall, 0, ANY}, /* of poll, after a stop */
	{SYS_close, 0, ANY},

	/* What it was given. */
	{SYS_fstat, 0, ANY},
	{SYS_newfstatat, 0, IF(3, AT_EMPTY_PATH, 0)}, /* which libc makes of fstat() */
	{SYS_read, JAIL_READS, ANY},
	{SYS_write, JAIL_WRITES, ANY},
	{SYS_pread64, JAIL_READS_AT, ANY},
	{SYS_lseek, JAIL_SEEKS, IF(2, SEEK_SET, 0)},
	{SYS_fadvise64, JAIL_SEEKS, IF(3, POSIX_FADV_WILLNEED, 0)},
	{SYS_fcntl, JAIL_MAPS_FILES, IF(1, F_GETFD, 0)}, /* libelf: is it open? */
	{SYS_fcntl, JAIL_MAPS_FILES, IF(1, F_GETFL, 0)},
	{SYS_mmap, JAIL_MAPS_FILES, IF_BOTH({2, PROT_READ, 0}, {3, MAP_PRIVATE, 0})},
	{SYS_mmap, JAIL_SHARES_MEMORY, IF_BOTH({2, NO_CODE}, {3, MAP_SHARED, 0})},

	/* Who connects to a socket that it was given: what libmicrohttpd does with them. */
	{SYS_accept4, JAIL_SERVES, IF(3, SOCK_CLOEXEC | SOCK_NONBLOCK, 0)},
	{SYS_recvfrom, JAIL_SERVES, IF_BOTH({3, 0, 0}, {4, 0, 0})},
	{SYS_sendto, JAIL_SERVES, IF_BOTH({3, MSG_NOSIGNAL, MSG_MORE}, {4, 0, 0})},
	{SYS_sendmsg, JAIL_SERVES, IF(2, MSG_NOSIGNAL, MSG_MORE)},
	{SYS_shutdown, JAIL_SERVES, ANY},
	{SYS_getsockname, JAIL_SERVES, ANY},
	{SYS_getsockopt, JAIL_SERVES, IF(1, SOL_SOCKET, 0)},
	{SYS_setsockopt, JAIL_SERVES,
	 IF_BOTH({1, IPPROTO_TCP, 0}, {2, TCP_NODELAY, TCP_NODELAY ^ TCP_CORK})},
	{SYS_epoll_create1, JAIL_SERVES, ANY},
	{SYS_epoll_ctl, JAIL_SERVES, ANY},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, JAIL_SERVES, ANY},
#else
	{SYS_epoll_pwait, JAIL_SERVES, ANY},
#endif

	/* Last words. */
	{SYS_write, 0, IF(0, STDERR_FILENO, 0)},
	{SYS_writev, 0, IF(0, STDERR_FILENO, 0)},
	{SYS_lseek, 0, IF(0, STDERR_FILENO, 0)}, /* dprintf() asks whether it can */

	/* Memory: all of it counts as data. MAP_SHARED, MAP_GROWSDOWN and huge pages would not. */
	{SYS_mmap, 0,
	 IF_BOTH({2, NO_CODE}, {3, MAP_PRIVATE | MAP_ANONYMOUS, MAP_FIXED | MAP_NORESERVE})},
	{SYS_mprotect, 0, IF(2, NO_CODE)},
	{SYS_munmap, 0, ANY},
	{SYS_mremap, 0, IF(3, 0, MREMAP_MAYMOVE)},
	{SYS_madvise, 0, IF(2, MADV_DONTNEED, 0)},
	{SYS_brk, 0, ANY},

	/* The clocks of the machine (those of processes have high numbers); chance; what libc asks of itself. */
	{SYS_clock_gettime, 0, IF(0, 0, 0xf)},
	{SYS_gettimeofday, 0, ANY},
	{SYS_getrandom, 0, ANY},
	{SYS_getpid, 0, ANY},
	{SYS_gettid, 0, ANY},
	{SYS_sysinfo, 0, ANY},			 /* qsort() */
	{SYS_sched_getaffinity, 0, IF(0, 0, 0)}, /* malloc() */
	{SYS_futex, 0, IF(1, FUTEX_WAIT, FUTEX_PRIVATE_FLAG)},
	{SYS_futex, 0, IF(1, FUTEX_WAKE, FUTEX_PRIVATE_FLAG)},

	/* Its own end, and the faults that it survives. */
	{SYS_rt_sigaction, 0, ANY},
	{SYS_rt_sigprocmask, 0, ANY},
	{SYS_rt_sigreturn, 0, ANY},
	{SYS_tgkill, 0, IF(0, OWN_PID, 0)},
	{SYS_exit, 0, ANY},
	{SYS_exit_group, 0, ANY},
};

/* What libraries try that look for files by themselves: there are none. */
static const unsigned finds_nothing[] = {
	SYS_openat, SYS_openat2,    SYS_readlinkat, SYS_faccessat, SYS_faccessat2,
	SYS_statx,  SYS_newfstatat,
#ifdef SYS_open
	SYS_open,   SYS_stat,	    SYS_lstat,	    SYS_readlink,  SYS_access,
#endif
};

enum { NR_ROWS = sizeof(rows) / sizeof(*rows) };
enum { NR_FINDS_NOTHING = sizeof(finds_nothing) / sizeof(*finds_nothing) };
/* A row: its call, its checks, its answer. Before and after them: the architecture, the last answer. */
enum { ROW_STEPS = 2 + CHECKS_MAX * 3 + 1 };
enum { NR_STEPS_MAX = 3 + NR_ROWS * ROW_STEPS + NR_FINDS_NOTHING * 3 + 1 };

struct program {
	struct sock_filter steps[NR_STEPS_MAX];
	unsigned short nr;
};

static void add(struct program *program, struct sock_filter step)
{
	program->steps[program->nr++] = step;
}

static void load(struct program *program, size_t offset)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void answer(struct program *program, unsigned what)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* If what is loaded is `value`, the next step; else what follows `nr` steps. */
static void when(struct program *program, unsigned value, size_t nr)
{
	add(program,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, (unsigned char)nr));
}

/* The row's answer, if its call and its arguments are those; else what follows it. */
static void add_row(struct program *program, const struct row *row)
{
	size_t nr_left = (size_t)row->nr_checks * 3 + 1;
	load(program, offsetof(struct seccomp_data, nr));
	when(program, row->call, nr_left);
	for (size_t i = 0; i < row->nr_checks; i++) {
		const struct check *check = &row->checks[i];
		nr_left -= 3;
		load(program,
		     offsetof(struct seccomp_data, args) + check->nr_argument * sizeof(__u64));
		add(program,
		    (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~check->but_for));
		when(program, check->value == OWN_PID ? (unsigned)getpid() : check->value, nr_left);
	}
	answer(program, SECCOMP_RET_ALLOW);
}

static bool has_right(const struct row *row, unsigned rights)
{
	return !row->rights || row->rights & rights;
}

static void build(struct program *program, unsigned rights)
{
	const unsigned forbidden = SECCOMP_RET_ERRNO | EPERM, absent = SECCOMP_RET_ERRNO | ENOENT;
	load(program, offsetof(struct seccomp_data, arch));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	answer(program, forbidden);
	for (size_t i = 0; i < NR_ROWS; i++)
		if (has_right(&rows[i], rights))
			add_row(program, &rows[i]);
	for (size_t i = 0; i < NR_FINDS_NOTHING; i++) {
		load(program, offsetof(struct seccomp_data, nr));
		when(program, finds_nothing[i], 1);
		answer(program, absent);
	}
	answer(program, forbidden);
}

int jail_filter(unsigned rights)
{
	struct program program = {.nr = 0};
	build(&program, rights);
	const struct sock_fprog filter = {program.nr, program.steps};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

bool jail_allows(unsigned rights, unsigned number)
{
	for (size_t i = 0; i < NR_ROWS; i++)
		if (rows[i].call == number && has_right(&rows[i], rights))
			return true;
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * What the kernel does for a child of each role: every number of a system call is tried from inside its jail, with
 * hostile arguments, in all ways that the processor has. What is let through is this list, and no more.
 *
 * Nothing is executed: a filter below the jail's own answers ENOSYS to what the jail lets through.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ctop/jail/jail.h>

#include "jailed/child/child_role.h"
#include "test.h"

/* Also those that the kernel does not have yet. */
enum { NR_NUMBERS = 1024, NR_SETS = 16, EVERYBODY = 0, LEAVE = 0x1eafe };

/* ---- what is expected ---- */

/* A call that is let through whatever its arguments are, for those who have the right. */
static const struct {
	unsigned number, right;
} always[] = {
#ifdef SYS_poll
	{SYS_poll, EVERYBODY},
#else
	{SYS_ppoll, EVERYBODY},
#endif
	{SYS_restart_syscall, EVERYBODY},
	{SYS_close, EVERYBODY},
	{SYS_fstat, EVERYBODY},
	{SYS_munmap, EVERYBODY},
	{SYS_brk, EVERYBODY},
	{SYS_gettimeofday, EVERYBODY},
	{SYS_getrandom, EVERYBODY},
	{SYS_getpid, EVERYBODY},
	{SYS_gettid, EVERYBODY},
	{SYS_sysinfo, EVERYBODY},
	{SYS_rt_sigaction, EVERYBODY},
	{SYS_rt_sigprocmask, EVERYBODY},
	{SYS_rt_sigreturn, EVERYBODY},
	{SYS_exit, EVERYBODY},
	{SYS_exit_group, EVERYBODY},
	{SYS_read, JAIL_READS},
	{SYS_write, JAIL_WRITES},
	{SYS_pread64, JAIL_READS_AT},
	{SYS_shutdown, JAIL_SERVES},
	{SYS_getsockname, JAIL_SERVES},
	{SYS_epoll_create1, JAIL_SERVES},
	{SYS_epoll_ctl, JAIL_SERVES},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, JAIL_SERVES},
#else
	{SYS_epoll_pwait, JAIL_SERVES},
#endif
};

#define RW	 PROT_READ | PROT_WRITE
#define ANYWHERE MAP_PRIVATE | MAP_ANONYMOUS
enum { NOBODY = 1 << 30, SELF = 0x5e1f, TO_MAIN = MSG_DONTWAIT | MSG_NOSIGNAL };

/* A call whose arguments decide. SELF: this process. */
static const struct attempt {
	unsigned number, right; /* NOBODY: refused to all */
	long arguments[6];
} attempts[] = {
	{SYS_recvmsg, EVERYBODY, {3, 0, MSG_DONTWAIT | MSG_CMSG_CLOEXEC}},
	{SYS_recvmsg, NOBODY, {4, 0, MSG_DONTWAIT | MSG_CMSG_CLOEXEC}},
	{SYS_recvmsg, NOBODY, {3, 0, 0}},
	{SYS_sendmsg, EVERYBODY, {3, 0, TO_MAIN}},
	{SYS_sendmsg, NOBODY, {4, 0, TO_MAIN}},
	{SYS_sendmsg, NOBODY, {3, 0, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL}},
	{SYS_sendmsg, JAIL_SERVES, {4, 0, MSG_NOSIGNAL}},
	{SYS_sendto, JAIL_SERVES, {4, 0, 0, MSG_NOSIGNAL, 0, 0}},
	/* To whomever it likes. */
	{SYS_sendto, NOBODY, {4, 0, 0, MSG_NOSIGNAL, 4096, 16}},
	{SYS_sendto, NOBODY, {4, 0, 0, MSG_NOSIGNAL | MSG_OOB, 0, 0}},
	{SYS_recvfrom, JAIL_SERVES, {4, 0, 0, 0, 0, 0}},
	{SYS_recvfrom, NOBODY, {4, 0, 0, MSG_ERRQUEUE, 0, 0}},
	{SYS_accept4, JAIL_SERVES, {4, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK}},
	{SYS_accept4, NOBODY, {4, 0, 0, 0}},
	{SYS_getsockopt, JAIL_SERVES, {4, SOL_SOCKET, SO_PEERCRED}},
	{SYS_getsockopt, NOBODY, {4, IPPROTO_IP, 0}},
	{SYS_setsockopt, JAIL_SERVES, {4, IPPROTO_TCP, TCP_NODELAY}},
	{SYS_setsockopt, JAIL_SERVES, {4, IPPROTO_TCP, TCP_CORK}},
	{SYS_setsockopt, NOBODY, {4, IPPROTO_TCP, TCP_REPAIR}},
	{SYS_setsockopt, NOBODY, {4, SOL_SOCKET, SO_ATTACH_FILTER}},
	{SYS_bind, NOBODY, {4, 0, 0}},
	{SYS_connect, NOBODY, {4, 0, 0}},
	{SYS_listen, NOBODY, {4, 1}},
	{SYS_newfstatat, EVERYBODY, {4, 0, 0, AT_EMPTY_PATH}},
	{SYS_newfstatat, NOBODY, {AT_FDCWD, 0, 0, 0}},
	{SYS_newfstatat, NOBODY, {AT_FDCWD, 0, 0, AT_SYMLINK_NOFOLLOW}},
	{SYS_lseek, JAIL_SEEKS, {4, 0, SEEK_SET}},
	{SYS_lseek, NOBODY, {4, 0, SEEK_END}},
	{SYS_lseek, NOBODY, {4, 0, SEEK_CUR}},
	{SYS_lseek, EVERYBODY, {2, 0, SEEK_CUR}},
	{SYS_fadvise64, JAIL_SEEKS, {4, 0, 0, POSIX_FADV_WILLNEED}},
	{SYS_fadvise64, NOBODY, {4, 0, 0, POSIX_FADV_DONTNEED}},
	{SYS_fcntl, JAIL_MAPS_FILES, {4, F_GETFD}},
	{SYS_fcntl, JAIL_MAPS_FILES, {4, F_GETFL}},
	/* Kills whoever it likes, through the owner of a descriptor that becomes ready. */
	{SYS_fcntl, NOBODY, {4, F_SETOWN, 1}},
	{SYS_fcntl, NOBODY, {4, F_SETOWN_EX, 0}},
	{SYS_fcntl, NOBODY, {4, F_SETSIG, SIGKILL}},
	{SYS_fcntl, NOBODY, {4, F_SETFL, O_ASYNC}},
	{SYS_fcntl, NOBODY, {4, F_NOTIFY, 0}},
	{SYS_fcntl, NOBODY, {4, F_SETLEASE, F_WRLCK}},
	/* What all can see: /proc/locks. */
	{SYS_fcntl, NOBODY, {4, F_SETLK, 0}},
	{SYS_fcntl, NOBODY, {4, F_SETLKW, 0}},
	{SYS_fcntl, NOBODY, {4, F_OFD_SETLK, 0}},
	{SYS_fcntl, NOBODY, {4, F_DUPFD, 0}},
	{SYS_fcntl, NOBODY, {4, F_SETFD, 0}},
	{SYS_fcntl, NOBODY, {4, F_ADD_SEALS, 0}},
	{SYS_fcntl, NOBODY, {4, F_SETPIPE_SZ, 1 << 20}},
	{SYS_mmap, EVERYBODY, {0, 4096, RW, ANYWHERE, -1}},
	{SYS_mmap, EVERYBODY, {0, 4096, PROT_NONE, ANYWHERE | MAP_NORESERVE, -1}},
	{SYS_mmap, EVERYBODY, {0, 4096, PROT_READ, ANYWHERE | MAP_FIXED, -1}},
	{SYS_mmap, JAIL_MAPS_FILES, {0, 4096, PROT_READ, MAP_PRIVATE, 4}},
	{SYS_mmap, JAIL_SHARES_MEMORY, {0, 4096, RW, MAP_SHARED, 4}},
	{SYS_mmap, JAIL_SHARES_MEMORY, {0, 4096, PROT_READ, MAP_SHARED, 4}},
	{SYS_mmap, NOBODY, {0, 4096, RW, MAP_PRIVATE, 4}},
	{SYS_mmap, NOBODY, {0, 4096, RW | PROT_EXEC, ANYWHERE, -1}},
	{SYS_mmap, NOBODY, {0, 4096, PROT_EXEC, ANYWHERE, -1}},
	{SYS_mmap, NOBODY, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 4}},
	{SYS_mmap, NOBODY, {0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, 4}},
	/* Memory that nobody counts. */
	{SYS_mmap, NOBODY, {0, 4096, RW, MAP_SHARED | MAP_ANONYMOUS, -1}},
	{SYS_mmap, NOBODY, {0, 4096, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1}},
	{SYS_mmap, NOBODY, {0, 4096, RW, MAP_SHARED_VALIDATE, 4}},
	{SYS_mmap, NOBODY, {0, 4096, RW, ANYWHERE | MAP_GROWSDOWN, -1}},
	{SYS_mmap, NOBODY, {0, 4096, RW, ANYWHERE | MAP_HUGETLB, -1}},
	{SYS_mmap, NOBODY, {0, 4096, RW, ANYWHERE | MAP_LOCKED, -1}},
	{SYS_mprotect, EVERYBODY, {0, 4096, RW}},
	{SYS_mprotect, EVERYBODY, {0, 4096, PROT_NONE}},
	{SYS_mprotect, NOBODY, {0, 4096, PROT_READ | PROT_EXEC}},
	{SYS_mprotect, NOBODY, {0, 4096, RW | PROT_GROWSDOWN}},
	{SYS_mremap, EVERYBODY, {0, 4096, 8192, MREMAP_MAYMOVE}},
	{SYS_mremap, EVERYBODY, {0, 4096, 8192, 0}},
	{SYS_mremap, NOBODY, {0, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED}},
	{SYS_madvise, EVERYBODY, {0, 4096, MADV_DONTNEED}},
	{SYS_madvise, NOBODY, {0, 4096, MADV_HWPOISON}},
	{SYS_madvise, NOBODY, {0, 4096, MADV_REMOVE}},
	{SYS_madvise, NOBODY, {0, 4096, MADV_MERGEABLE}},
	{SYS_clock_gettime, EVERYBODY, {CLOCK_REALTIME, 0}},
	{SYS_clock_gettime, EVERYBODY, {CLOCK_MONOTONIC, 0}},
	{SYS_clock_gettime, EVERYBODY, {CLOCK_BOOTTIME, 0}},
	{SYS_clock_gettime, NOBODY, {-14, 0}}, /* the CPU time of process 1 */
	{SYS_sched_getaffinity, EVERYBODY, {0, 0, 0}},
	{SYS_sched_getaffinity, NOBODY, {1, 0, 0}},
	{SYS_futex, EVERYBODY, {0, FUTEX_WAIT, 0}},
	{SYS_futex, EVERYBODY, {0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 0}},
	{SYS_futex, NOBODY, {0, FUTEX_LOCK_PI, 0}},
	{SYS_futex, NOBODY, {0, FUTEX_CMP_REQUEUE_PI, 0}},
	{SYS_futex, NOBODY, {0, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 0}},
	{SYS_tgkill, EVERYBODY, {SELF, SELF, SIGABRT}},
	{SYS_tgkill, NOBODY, {1, 1, SIGKILL}},
	{SYS_tgkill, NOBODY, {-1, 1, SIGKILL}},
	{SYS_write, EVERYBODY, {2, 0, 0}},
	{SYS_write, JAIL_WRITES, {4, 0, 0}},
	{SYS_writev, EVERYBODY, {2, 0, 0}},
	{SYS_writev, NOBODY, {1, 0, 0}},
	{SYS_writev, NOBODY, {4, 0, 0}},
	/* A few of those that are nobody's, with arguments that would do something. */
	{SYS_prctl, NOBODY, {PR_SET_DUMPABLE, 1}},
	{SYS_prctl, NOBODY, {PR_SET_PTRACER, -1}},
	{SYS_prctl, NOBODY, {PR_SET_PDEATHSIG, 0}},
	{SYS_ioctl, NOBODY, {2, 0x5412, 0}}, /* TIOCSTI */
	{SYS_ioctl, NOBODY, {4, PERF_EVENT_IOC_SET_OUTPUT, 0}},
	{SYS_socket, NOBODY, {AF_UNIX, SOCK_STREAM, 0}},
	{SYS_clone, NOBODY, {SIGCHLD}},
	{SYS_clone, NOBODY, {CLONE_NEWUSER | SIGCHLD}},
	{SYS_kill, NOBODY, {-1, SIGKILL}},
	{SYS_memfd_create, NOBODY, {0, 0}},
	{SYS_sendmmsg, NOBODY, {3, 0, 1, TO_MAIN}},
};

enum { NR_ALWAYS = sizeof(always) / sizeof(*always) };
enum { NR_ATTEMPTS = sizeof(attempts) / sizeof(*attempts) };

static bool has(unsigned rights, unsigned right)
{
	return right == EVERYBODY || rights & right;
}

static bool is_always_let_through(unsigned rights, unsigned number)
{
	for (size_t i = 0; i < NR_ALWAYS; i++)
		if (always[i].number == number && has(rights, always[i].right))
			return true;
	return false;
}

static bool is_ever_let_through(unsigned rights, unsigned number)
{
	for (size_t i = 0; i < NR_ATTEMPTS; i++)
		if (attempts[i].number == number && has(rights, attempts[i].right))
			return true;
	return is_always_let_through(rights, number);
}

/* ---- inside ---- */

struct findings {
	int failed;				  /* at what; 0: nothing */
	signed char numbers[NR_NUMBERS][NR_SETS]; /* 1: let through */
	bool x32, i386;				  /* any */
	signed char attempts[NR_ATTEMPTS];
};

static void set_filter_below(void)
{
	enum {
		NR = offsetof(struct seccomp_data, nr),
		FIRST = offsetof(struct seccomp_data, args)
	};
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NR),
		/* The jail's own filter asks for these two. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 3, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST + 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LEAVE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		/* With nobody who traces: ENOSYS. What the jail refuses counts for more. */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	};
	const struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), steps};
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static bool is_let_through(unsigned number, const long *arguments)
{
	errno = 0;
	long got = syscall((long)number, arguments[0], arguments[1], arguments[2], arguments[3],
			   arguments[4], arguments[5]);
	return !(got == -1 && (errno == EPERM || errno == ENOENT));
}

/* Zeros, ones, what is small, what is large, and chance. */
static void make_set(unsigned nr, uint64_t *seed, long *arguments)
{
	for (size_t i = 0; i < 6; i++) {
		*seed = *seed * 6364136223846793005U + 1442695040888963407U;
		const long chance = (long)(*seed >> 20);
		const long made[] = {0,		-1,	   nr,	      (long)i, INT32_MAX,
				     INT32_MIN, INT64_MAX, INT64_MIN, 1L << nr};
		arguments[i] = nr < sizeof(made) / sizeof(*made) ? made[nr] : chance;
	}
}

/* uretprobe, uprobe: the kernel asks no filter, and ends who calls from elsewhere than its own trampoline. */
static bool passes_all_filters(unsigned number)
{
#ifdef __x86_64__
	return number == 335 || number == 336;
#else
	(void)number;
	return false;
#endif
}

static void try_all(struct findings *findings)
{
	uint64_t seed = 1;
	for (unsigned number = 0; number < NR_NUMBERS; number++) {
		for (unsigned set = 0; set < NR_SETS && !passes_all_filters(number); set++) {
			long arguments[6];
			make_set(set, &seed, arguments);
			findings->numbers[number][set] = is_let_through(number, arguments);
#ifdef __x86_64__
			enum { X32 = 0x40000000 };
			findings->x32 |= is_let_through(number | X32, arguments);
#endif
		}
	}
	for (size_t i = 0; i < NR_ATTEMPTS; i++) {
		long arguments[6];
		for (size_t k = 0; k < 6; k++)
			arguments[k] = attempts[i].arguments[k] == SELF ? getpid()
									: attempts[i].arguments[k];
		findings->attempts[i] = is_let_through(attempts[i].number, arguments);
	}
}

/* The other way into a kernel of x86-64; one that does not have it ends the process, which is fine. */
static void try_i386(struct findings *findings)
{
#ifdef __x86_64__
	for (long number = 0; number < NR_NUMBERS; number++) {
		long got = number;
		__asm__ volatile("int $0x80"
				 : "+a"(got)
				 : "b"(0L), "c"(0L), "d"(0L), "S"(0L), "D"(0L)
				 : "memory", "r8", "r9", "r10", "r11");
		findings->i386 |= got != -EPERM;
	}
#else
	(void)findings;
#endif
}

static void look(const struct child_role *role, struct findings *findings,
		 void (*try)(struct findings *findings))
{
	unsigned walls;
	findings->failed = child_enter(role, &walls);
	if (!findings->failed) {
		set_filter_below();
		findings->failed = jail_filter(role->rights);
	}
	if (!findings->failed)
		try(findings);
	for (;;)
		syscall(SYS_exit_group, 0, LEAVE);
}

/* ---- outside ---- */

static int in_jail(const struct child_role *role, struct findings *findings,
		   void (*try)(struct findings *findings))
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		look(role, findings, try);
	int status = -1;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void check_role(const struct child_role *role, struct findings *findings)
{
	int nr_wrong = 0;
	memset(findings, 0, sizeof(*findings));
	CHECK_EQ(in_jail(role, findings, try_all), 0);
	CHECK_EQ(findings->failed, 0);
	for (unsigned number = 0; number < NR_NUMBERS; number++) {
		const bool ever = is_ever_let_through(role->rights, number);
		const bool always_wanted = is_always_let_through(role->rights, number);
		bool any = false, all = true;
		for (unsigned set = 0; set < NR_SETS; set++) {
			any |= findings->numbers[number][set] != 0;
			all &= findings->numbers[number][set] != 0;
		}
		if ((any && !ever) || (!all && always_wanted) ||
		    jail_allows(role->rights, number) != ever) {
			printf("# %s: call %u: let through %s, expected %s, by the table %s\n",
			       role->name, number,
			       all   ? "always"
			       : any ? "at times"
				     : "never",
			       always_wanted ? "always"
			       : ever	     ? "at times"
					     : "never",
			       jail_allows(role->rights, number) ? "yes" : "no");
			nr_wrong++;
		}
	}
	for (size_t i = 0; i < NR_ATTEMPTS; i++) {
		const bool wanted = is_always_let_through(role->rights, attempts[i].number) ||
				    has(role->rights, attempts[i].right);
		if (findings->attempts[i] == wanted)
			continue;
		printf("# %s: call %u (%ld, %ld, %ld, %ld): %s\n", role->name, attempts[i].number,
		       attempts[i].arguments[0], attempts[i].arguments[1], attempts[i].arguments[2],
		       attempts[i].arguments[3], wanted ? "refused" : "let through");
		nr_wrong++;
	}
	CHECK_EQ(nr_wrong, 0);
	CHECK(!findings->x32);
	in_jail(role, findings, try_i386);
	CHECK(!findings->i386);
}

static void what_is_let_through_is_each_roles_table(void)
{
	if (jail_sanitized())
		SKIP("a sanitizer's run time needs more: there is no filter");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		SKIP("this kernel has no seccomp");
	struct findings *findings = mmap(NULL, sizeof(*findings), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(findings != MAP_FAILED);
	for (const struct child_role *role = child_roles; role->name; role++)
		check_role(role, findings);
	munmap(findings, sizeof(*findings));
}

int main(void)
{
	RUN(what_is_let_through_is_each_roles_table);
	return test_done();
}

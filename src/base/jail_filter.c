/* SPDX-License-Identifier: MIT */
#include <ctop/base/jail.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* All that a child does once it is jailed: it reads and writes what it was given, and has memory. */
static const unsigned allowed[] = {
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_ppoll,
	SYS_read,
	SYS_pread64,
	SYS_readv,
	SYS_write,
	SYS_writev,
	SYS_pwrite64,
	SYS_lseek,
	SYS_fadvise64,
	SYS_close,
	SYS_fstat,
	SYS_fcntl,
	SYS_dup,
	SYS_dup3,
	SYS_fsync,
	SYS_fdatasync,
	SYS_ftruncate,
	SYS_brk,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sysinfo,
	SYS_getrandom,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_dup2
	SYS_dup2,
#endif
};

/* What libraries try that look for files by themselves: there are none. */
static const unsigned finds_nothing[] = {
	SYS_openat, SYS_openat2, SYS_readlinkat, SYS_faccessat, SYS_faccessat2, SYS_statx,
#ifdef SYS_open
	SYS_open,   SYS_stat,	 SYS_lstat,	 SYS_readlink,	SYS_access,
#endif
};

enum { NR_ALLOWED = sizeof(allowed) / sizeof(*allowed) };
enum { NR_FINDS_NOTHING = sizeof(finds_nothing) / sizeof(*finds_nothing) };
/* Two for the architecture and its refusal, and what follows the lists: see below. */
enum { NR_STEPS_MAX = NR_ALLOWED * 2 + NR_FINDS_NOTHING * 2 + 32 };

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

/* If what is loaded is `value`, the next `nr` steps; else what follows them. */
static void when(struct program *program, unsigned value, unsigned char nr)
{
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, nr));
}

/* The low half of a call's argument: no value of interest has another. */
static size_t argument(unsigned nr)
{
	return offsetof(struct seccomp_data, args) + nr * sizeof(__u64);
}

/* The call is allowed if that argument has none of the bits (or, with must_have, some); else its answer is `refusal`. */
static void allow_by_bits(struct program *program, unsigned call, unsigned nr_argument,
			  unsigned bits, bool must_have, unsigned refusal)
{
	when(program, call, 4);
	load(program, argument(nr_argument));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits,
						  must_have ? 1 : 0, must_have ? 0 : 1));
	answer(program, refusal);
	answer(program, SECCOMP_RET_ALLOW);
}

static void build(struct program *program)
{
	const unsigned forbidden = SECCOMP_RET_ERRNO | EPERM, absent = SECCOMP_RET_ERRNO | ENOENT;
	load(program, offsetof(struct seccomp_data, arch));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	answer(program, forbidden);
	load(program, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NR_ALLOWED; i++) {
		when(program, allowed[i], 1);
		answer(program, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < NR_FINDS_NOTHING; i++) {
		when(program, finds_nothing[i], 1);
		answer(program, absent);
	}
	/* Memory, but no code; the state of descriptors (libc asks with an empty path, which a filter cannot see). */
	allow_by_bits(program, SYS_mmap, 2, PROT_EXEC, false, forbidden);
	allow_by_bits(program, SYS_mprotect, 2, PROT_EXEC, false, forbidden);
	allow_by_bits(program, SYS_newfstatat, 3, AT_EMPTY_PATH, true, absent);
	/* abort() is of its own process. */
	when(program, SYS_tgkill, 4);
	load(program, argument(0));
	when(program, (unsigned)getpid(), 1);
	answer(program, SECCOMP_RET_ALLOW);
	answer(program, forbidden);
	answer(program, forbidden);
}

int jail_filter(void)
{
	struct program program = {.nr = 0};
	build(&program);
	const struct sock_fprog filter = {program.nr, program.steps};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/jail/jail.h>

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/base/promptness.h>

#include "jail_internal.h"

/*
 * A child of root's becomes one of these, at random: nobody else is to be it, its siblings and what other services run
 * as nobody included. Distributions, systemd and container managers give out ids below 0x70000000, and none above.
 */
#define FIRST_OWN_ID UINT32_C(0x78000000)
#define NR_OWN_IDS   (UINT32_C(1) << 26)
/* The kernel's overflow id: what distributions name nobody. */
enum { NOBODY = 65534 };

#define STACK_BYTES ((rlim_t)8 << 20)
/* Of the child that connects: what TLS and its lists of certificates take. */
#define CONNECTED_BYTES ((size_t)256 << 20)
enum { CONNECTED_DESCRIPTORS = 64 };

/* ---- namespaces ---- */

/*
 * The kernel keeps signals without a handler from the first process of a pid namespace, abort()'s among them; only faults
 * end it. So they have one.
 */
static void end(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0) /* somebody sent it */
		_exit(JAIL_SIGNALLED + number);
	signal(number, SIG_DFL); /* what failed does so again */
}

static void stay_mortal(void)
{
	static const int deadly[] = {SIGABRT, SIGTERM, SIGHUP, SIGINT, SIGQUIT,
				     SIGSEGV, SIGILL,  SIGFPE, SIGBUS};
	const struct sigaction action = {.sa_sigaction = end, .sa_flags = SA_SIGINFO};
	for (size_t i = 0; getpid() == 1 && i < sizeof(deadly) / sizeof(*deadly); i++)
		sigaction(deadly[i], &action, NULL);
}

/* An empty root; whatever still has the old one open keeps it. 0 or -errno. */
static int enter_empty_root(void)
{
	/* /proc is there: this program was executed from it. */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("ctop", "/proc", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=4k") ||
	    chdir("/proc"))
		return -errno;
	/* Stacks the old root on the new one, whence it is taken away. */
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		return umount2(".", MNT_DETACH) ? -errno : 0;
	/* Where the root is no mount, as in a chroot. */
	return chroot(".") ? -errno : 0;
}

/* Needs CAP_SYS_ADMIN. The pid namespace is jail_spawn()'s business. */
static unsigned enter_namespaces(void)
{
	enum { ALL = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS };
	if (jail_sanitized() || getpid() != 1)
		return 0;
	privilege_raise(PRIVILEGE_JAIL); /* for good: it drops all in a moment */
	if (unshare(ALL))
		return 0;
	/* What mounts may be refused all the same. */
	return JAIL_NAMESPACES | (enter_empty_root() ? 0 : JAIL_EMPTY_ROOT);
}

/* ---- limits ---- */

/* Lowers a limit for good; one that is lower already stays. 0 or -errno. */
static int lower_limit(__rlimit_resource_t resource, rlim_t wanted)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit))
		return -errno;
	if (wanted < limit.rlim_max)
		limit.rlim_max = wanted;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) ? -errno : 0;
}

static int lower_limits(const struct jail_limits *limits)
{
	int error = lower_limit(RLIMIT_NOFILE, limits->nr_descriptors);
	/* A stack is not counted as data. */
	if (!error)
		error = lower_limit(RLIMIT_STACK, STACK_BYTES);
	if (!error && limits->heap_bytes)
		error = lower_limit(RLIMIT_DATA, limits->heap_bytes);
	return error;
}

/* ---- ids and capabilities ---- */

static uint32_t pick_id(void)
{
	uint32_t number;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return NOBODY;
	return FIRST_OWN_ID + number % NR_OWN_IDS;
}

struct user {
	uid_t uid;
	gid_t gid;
};

/* Who is that user already, keeps his groups. */
static int become(const struct user *user)
{
	if (getuid() == user->uid && geteuid() == user->uid)
		return 0;
	if (setgroups(0, NULL) || setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	return 0;
}

/*
 * From root to somebody. Where root is root of a user namespace only, an id may
 * have no number there (EINVAL); where root was stripped of the capability, it
 * can't change (EPERM). Such a root is an ordinary user outside, and stays one
 * here, without capabilities.
 */
static int drop_ids(unsigned *walls, const struct user *user)
{
	if (user)
		return become(user);
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) && errno != EPERM)
		return -errno;
	const uint32_t ids[] = {pick_id(), NOBODY};
	for (size_t i = 0; i < 2; i++) {
		const uint32_t id = ids[i];
		if (setresgid(id, id, id) && errno != EPERM && errno != EINVAL)
			return -errno;
		/* The kernel makes a process that changes its user what fs.suid_dumpable says: jail_enter() undoes that. */
		if (setresuid(id, id, id) == 0) {
			*walls |= id == NOBODY ? 0 : JAIL_OWN_ID;
			return 0;
		}
		if (errno != EPERM && errno != EINVAL)
			return -errno;
	}
	return 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capset, &header, none))
		return -errno;
	/* Ambient ones went with the permitted ones. */
	return 0;
}

/* What exec could give back; needs CAP_SETPCAP, and no_new_privs stands behind it where it is missing. */
static void drop_bounding_set(void)
{
	for (unsigned long capability = 0; capability < 64; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			break;
}

/* Capabilities go last: while it has them, they keep others off whenever the kernel makes it dumpable again. */
static int drop_privileges(unsigned *walls, const struct user *user)
{
	drop_bounding_set();
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	int error = drop_ids(walls, user);
	if (!error && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		error = -errno;
	/*
	 * Whether somebody may trace this process, the kernel asks dumpable first and capabilities then, under a lock of
	 * this task's (ptrace_may_access(), task_lock()). A CPU that an interrupt or a hypervisor takes between the two
	 * has seen it dumpable, and would see it without capabilities. A limit is set under the same lock: whoever asks
	 * has both answers by then, or finds it undumpable.
	 */
	if (!error)
		error = lower_limit(RLIMIT_CORE, 0);
	if (!error)
		error = drop_capabilities();
	if (!error && prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
		error = -errno;
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = -errno;
	return error || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? error : -EPERM;
}

int jail_enter(const struct jail_limits *limits, unsigned *walls)
{
	/* Before anything else: exec has made it dumpable. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	stay_mortal();
	*walls = enter_namespaces();
	int error = drop_privileges(walls, NULL);
	/* After the ids: changing them resets it. Had the parent been gone before, nobody would take the hello. */
	if (!error && prctl(PR_SET_PDEATHSIG, limits->outlives_parent ? 0 : SIGKILL, 0, 0, 0))
		error = -errno;
	if (!error)
		error = lower_limits(limits);
	if (!error && !jail_sanitized())
		*walls |= landlock_enter();
	if (!limits->is_prompt)
		promptness_end();
	return error;
}

int jail_enter_as(uid_t uid, gid_t gid)
{
	const struct user user = {uid, gid};
	const struct jail_limits limits = {.heap_bytes = jail_sanitized() ? 0 : CONNECTED_BYTES,
					   .nr_descriptors = CONNECTED_DESCRIPTORS};
	unsigned walls = 0;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	stay_mortal();
	int error = drop_privileges(&walls, &user);
	if (!error && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		error = -errno;
	if (!error)
		error = lower_limits(&limits);
	promptness_end();
	return error;
}

int jail_write_below(int directory_fd, uint64_t most_bytes)
{
	signal(SIGXFSZ, SIG_IGN); /* a write that is refused is enough */
	int error = lower_limit(RLIMIT_FSIZE, most_bytes);
	return error || jail_sanitized() ? error : landlock_write_below(directory_fd);
}

int jail_write_nowhere(void)
{
	return jail_write_below(-1, 0);
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

bool jail_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                     \
	__has_feature(memory_sanitizer)
	return true;
#else
	return false;
#endif
}

/* SPDX-License-Identifier: MIT */
#include <ctop/base/privilege.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/*
 * What the kernel asks for, by any of its versions: CAP_SYS_ADMIN was all of CAP_PERFMON before Linux 5.8 and of
 * CAP_CHECKPOINT_RESTORE before 5.9.
 */
static const uint64_t wanted[NR_PRIVILEGES] = {
	[PRIVILEGE_SAMPLE] = BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE),
	[PRIVILEGE_LOCK] = BIT(CAP_IPC_LOCK),
	[PRIVILEGE_KERNEL_NAMES] = BIT(CAP_SYSLOG),
	[PRIVILEGE_KERNEL_CODE] = BIT(CAP_SYS_RAWIO),
	[PRIVILEGE_INSPECT] =
		BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYS_ADMIN),
	[PRIVILEGE_JAIL] = BIT(CAP_SYS_ADMIN),
	[PRIVILEGE_MOUNT] = BIT(CAP_SYS_ADMIN),
	[PRIVILEGE_PROMPTNESS] = BIT(CAP_SYS_NICE),
	[PRIVILEGE_BECOME] = BIT(CAP_SETUID) | BIT(CAP_SETGID),
};

/* Root's, all the time: others' directories and files, its limits, the ends of its children, which are nobody's. */
static const uint64_t roots = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) |
			      BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_KILL) |
			      BIT(CAP_SYS_RESOURCE);

struct sets {
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static bool get(struct sets *sets)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	memset(sets, 0, sizeof(*sets));
	return syscall(SYS_capget, &header, sets->words) == 0;
}

static bool set(const struct sets *sets)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capset, &header, sets->words) == 0;
}

static uint32_t word_of(uint64_t bits, size_t word)
{
	return (uint32_t)(bits >> (32 * word));
}

void privilege_begin(void)
{
	struct sets sets;
	if (!get(&sets))
		return;
	const uint64_t kept = geteuid() == 0 ? roots : 0;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets.words[i].effective &= word_of(kept, i);
	/* Less is always allowed; where a filter refuses it, all stays as it was. */
	set(&sets);
}

void privilege_keep_for_looks(void)
{
	const uint64_t kept = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);
	struct sets sets;
	if (!get(&sets))
		return;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		struct __user_cap_data_struct *word = &sets.words[i];
		word->permitted &= word_of(kept, i);
		word->effective = word->permitted;
		word->inheritable = 0;
	}
	set(&sets);
}

struct privilege_before privilege_raise(enum privilege privilege)
{
	const int error = errno;
	struct privilege_before before = {.changed = false};
	struct sets sets;
	if (get(&sets)) {
		for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
			struct __user_cap_data_struct *word = &sets.words[i];
			uint32_t more = word_of(wanted[privilege], i) & word->permitted;
			before.effective[i] = word->effective;
			before.changed |= more & ~word->effective;
			word->effective |= more;
		}
		before.changed = before.changed && set(&sets);
	}
	errno = error;
	return before;
}

void privilege_restore(const struct privilege_before *before)
{
	const int error = errno;
	struct sets sets;
	if (before->changed && get(&sets)) {
		for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
			sets.words[i].effective = before->effective[i];
		set(&sets);
	}
	errno = error;
}

int privilege_openat(enum privilege privilege, int dir_fd, const char *path, int flags)
{
	struct privilege_before before = privilege_raise(privilege);
	int fd = openat(dir_fd, path, flags);
	privilege_restore(&before);
	return fd;
}

bool privilege_has(unsigned capability)
{
	struct sets sets;
	return get(&sets) &&
	       sets.words[CAP_TO_INDEX(capability)].permitted & CAP_TO_MASK(capability);
}

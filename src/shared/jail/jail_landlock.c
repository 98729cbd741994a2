/* SPDX-License-Identifier: MIT */
#include "jail_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/jail/jail.h>

/* Of linux/landlock.h, which may be older than the kernel, or missing: landlock(7). */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, RULESET_VERSION = 1 };

struct ruleset {
	uint64_t accesses_fs, accesses_net, scopes;
};

/* How many kinds of access each version knows, the lowest bits first. */
static const struct {
	unsigned char nr_fs, nr_net, nr_scopes;
} versions[] = {
	{0, 0, 0}, {13, 0, 0}, {14, 0, 0}, {15, 0, 0}, {15, 2, 0}, {16, 2, 0}, {16, 2, 2},
};

static uint64_t bits(unsigned char nr)
{
	return (UINT64_C(1) << nr) - 1;
}

/* The row that speaks of this kernel's; 0: it has none. *version: its own number. */
static size_t known_version(long *version)
{
	enum { NEWEST = sizeof(versions) / sizeof(*versions) - 1 };
	*version = syscall(CREATE_RULESET, NULL, (size_t)0, RULESET_VERSION);
	if (*version < 1)
		return 0;
	return *version < NEWEST ? (size_t)*version : NEWEST;
}

unsigned landlock_enter(void)
{
	long version;
	const size_t known = known_version(&version);
	if (!known)
		return 0;
	/* No rule is added: what it speaks of is denied. Older kernels take the whole struct if what they don't know is zero. */
	const struct ruleset ruleset = {
		.accesses_fs = bits(versions[known].nr_fs),
		.accesses_net = bits(versions[known].nr_net),
		.scopes = bits(versions[known].nr_scopes),
	};
	int fd = (int)syscall(CREATE_RULESET, &ruleset, sizeof(ruleset), 0);
	if (fd < 0)
		return 0;
	long denied = syscall(RESTRICT_SELF, fd, 0);
	close(fd);
	if (denied)
		return 0;
	return JAIL_LANDLOCK | (ruleset.scopes ? JAIL_SCOPES : 0) |
	       JAIL_LANDLOCK_ABI * (unsigned)(version & 0xff);
}

int landlock_write_below(int directory_fd)
{
	enum { PATH_BENEATH = 1 };
	enum { READ_FILE = 1 << 2, READ_DIRECTORY = 1 << 3, BIND_TCP = 1 << 0 };
	/* Files and directories: written, removed, made, moved, cut. */
	enum { CHANGE = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 13 | 1 << 14 };
	struct {
		uint64_t accesses;
		int32_t directory_fd;
	} __attribute__((packed)) below = {.directory_fd = directory_fd};
	long version;
	const size_t known = known_version(&version);
	if (!known)
		return 0;
	const uint64_t all = bits(versions[known].nr_fs);
	const struct ruleset ruleset = {
		.accesses_fs = all & ~(uint64_t)(READ_FILE | READ_DIRECTORY),
		.accesses_net = bits(versions[known].nr_net) & BIND_TCP,
		.scopes = bits(versions[known].nr_scopes),
	};
	below.accesses = all & CHANGE;
	int fd = (int)syscall(CREATE_RULESET, &ruleset, sizeof(ruleset), 0);
	if (fd < 0)
		return -errno;
	int result = (directory_fd >= 0 && syscall(ADD_RULE, fd, PATH_BENEATH, &below, 0)) ||
				     syscall(RESTRICT_SELF, fd, 0)
			     ? -errno
			     : 0;
	close(fd);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "jail_internal.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/jail/jail.h>

/* Of linux/landlock.h, which may be older than the kernel, or missing: landlock(7). */
enum { CREATE_RULESET = 444, RESTRICT_SELF = 446, RULESET_VERSION = 1 };

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

unsigned landlock_enter(void)
{
	enum { NEWEST = sizeof(versions) / sizeof(*versions) - 1 };
	long version = syscall(CREATE_RULESET, NULL, (size_t)0, RULESET_VERSION);
	if (version < 1)
		return 0;
	const size_t known = version < NEWEST ? (size_t)version : NEWEST;
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

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CHILD_CHILD_ROLE_H
#define CTOP_CHILD_CHILD_ROLE_H

/* What a jailed child may be, what it may do, and what it may use. */

#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>

struct child_role {
	const char *name;
	int (*run)(struct channel *channel);
	unsigned rights; /* of enum jail_right */
	struct jail_limits limits;
	void (*prepare)(void); /* before it is jailed: libraries that it alone needs. NULL: nothing */
};

/* The last one has no name. */
extern const struct child_role child_roles[];

/* In the child: the jail but for its filter. 0 or -errno. */
int child_enter(const struct child_role *role, unsigned *walls);

#endif

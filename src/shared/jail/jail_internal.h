/* SPDX-License-Identifier: MIT */
#ifndef CTOP_JAIL_JAIL_INTERNAL_H
#define CTOP_JAIL_JAIL_INTERNAL_H

/*
 * jail_landlock.c: takes from this process whatever Landlock can take: paths, TCP, and (its scopes) signals and abstract
 * sockets of others. Needs no_new_privs. What stands, of enum jail_wall; 0 where the kernel has none.
 */
unsigned landlock_enter(void);
/* See jail_write_below(): what of it Landlock does; directory_fd -1: none. 0 or -errno; a kernel without it is no error. */
int landlock_write_below(int directory_fd);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DIAGNOSE_DOCTOR_CHECKS_H
#define CTOP_DIAGNOSE_DOCTOR_CHECKS_H

/*
 * What profiling needs of the kernel, of this user and of a target: facts, each with what it means and what
 * would change it. They explain; whether it works is found out by doing it (doctor.c).
 */

#include <stddef.h>
#include <stdint.h>

enum check_state {
	CHECK_GOOD,
	CHECK_NOTE, /* it works, with less */
	CHECK_BAD   /* it may be what keeps it from working */
};

struct check {
	const char *name;
	enum check_state state;
	char finding[256];
	char remedy[192]; /* "" when there is nothing to change */
};

enum { CHECKS_MAX = 32 };

struct checks {
	struct check items[CHECKS_MAX];
	size_t nr;
};

/* The kernel, this user's privileges and limits. frequency_hz: as it will be asked for; 0: a count is. */
void checks_of_machine(struct checks *checks, uint64_t frequency_hz);
/* The jail of ctop's children: starts one, which reports the walls that it has. */
void checks_of_jail(struct checks *checks);
/* A process or thread that is to be profiled. */
void checks_of_target(struct checks *checks, int32_t pid);

#endif

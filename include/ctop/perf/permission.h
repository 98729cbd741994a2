/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_PERMISSION_H
#define CTOP_PERF_PERMISSION_H

/*
 * Who may sample what, and what would change that: what each level of kernel.perf_event_paranoid allows, and for each cause
 * of a refusal its remedy and the ways out. Whoever is refused finds the cause (advice.c); the line of an error, ctop doctor
 * and the screen of a refusal tell the same of it. Main only.
 */

#include <stdbool.h>

#include <ctop/base/error.h>

/* Whose rules forbid to sample: struct error.refusal. */
enum sampler_refusal {
	SAMPLER_NOT_REFUSED,
	SAMPLER_REFUSED_ALL, /* the level of perf_event_paranoid, above 2: without privilege nothing */
	SAMPLER_REFUSED_KERNEL, /* the level: no kernel, user code only */
	SAMPLER_REFUSED_CPUS,	/* the level: no whole CPUs, own processes only */
	SAMPLER_REFUSED_OTHERS, /* the target is another user's */
	SAMPLER_REFUSED_CLOSED, /* the target is closed to its own user, or runs with another's rights */
	SAMPLER_REFUSED_CONTAINER, /* this user's rights end at a user namespace */
	SAMPLER_REFUSED_FILTER,	   /* a seccomp filter */
	SAMPLER_REFUSED_MODULE,	   /* a security module, as far as can be told */
	SAMPLER_REFUSED_PROBE,	   /* probes are root's */
	NR_SAMPLER_REFUSALS,
};

/* What a user without privilege may ask for. Who may have one may have those before it. */
enum permission { PERMISSION_OWN, PERMISSION_KERNEL, PERMISSION_CPUS, NR_PERMISSIONS };

struct permission_row {
	long level;	     /* the highest that allows it */
	const char *command; /* sets that level, for all users */
	const char *gives;   /* what that allows in all */
	const char *adds;    /* what it adds */
	const char *left;    /* where it is refused: what is left */
};
extern const struct permission_row permission_rows[NR_PERMISSIONS];

/* Ways out of a refusal: the one that changes least first. */
enum way {
	WAY_PROFILE, /* restart the container with another seccomp profile */
	WAY_LOG,     /* ask the kernel's log */
	WAY_LEAVE,   /* leave the container */
	WAY_OWNER,   /* run as the target's own user */
	WAY_CAPABILITIES,
	WAY_ROOT,
	WAY_LEVEL, /* lower the level */
	NR_WAYS,
};

struct refusal_row {
	const char *remedy;    /* in a line */
	unsigned ways;	       /* a bit each */
	enum permission lacks; /* of WAY_LEVEL, where the target does not say it */
};
extern const struct refusal_row refusal_rows[NR_SAMPLER_REFUSALS];

/* What raises the limit of locked memory. */
#define PERMISSION_RAISE_LOCKED                                                                    \
	"ulimit -l unlimited, or sudo sysctl kernel.perf_event_mlock_kb=8196"

/* kernel.perf_event_paranoid, as it is set now. */
long permission_level(void);
/* The level allows it to everybody. */
bool permission_is_open(enum permission permission);
/* The first that neither the level nor a privilege gives to this user; NR_PERMISSIONS: none. */
enum permission permission_lacking(void);
/*
 * Who answers with that code to an event of ctop's own that counts nothing: the level, a filter or a security module. Not
 * refused: it is not about rights, or the kernel has no perf_event_open.
 */
enum sampler_refusal permission_refused(int code);

/* Sets the cause, with the remedy for such a refusal. Returns code. */
int permission_refuse(struct error *error, int code, enum sampler_refusal refusal,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_FAULT_H
#define CTOP_BASE_FAULT_H

/*
 * Places where a test makes a child fail. The shipped ctop has none: only build/faulty/ctop, which tests start,
 * is compiled with CTOP_FAULTS and linked with tests/faults/, which describes what CTOP_FAULT may ask for.
 */

#ifdef CTOP_FAULTS

#define FAULT_VARIABLE "CTOP_FAULT"

#include <stdbool.h>
#include <stddef.h>

struct channel;

/* In a child, before anything else: which role this process has. It is the first place, "start", too. */
void fault_begin(const char *role);

/*
 * A place by its name; what: of which of several things it is (a path), or ""; the channel to main, or NULL where there
 * is none. Does what was asked for this place, or nothing.
 */
void fault_at(const char *where, const char *what, struct channel *channel);

/* Whether a child is to kill itself: the first process of a namespace cannot. */
bool fault_kills(void);

/* In main. Whether deaths of children count as of one moment, however far apart the machine makes them. */
bool fault_counts_all_deaths(void);
/* In main. Whether a session's child that died once is given up. */
bool fault_gives_up(void);

/* In main. How many bytes may wait for the writer: what a test asks for, or this many. */
size_t fault_waiting_max(size_t bytes);

/* In the collector. Whether no stack is to take anything from its thread's last one. */
bool fault_unwinds_all(void);

#else

#define fault_unwinds_all()	  false
#define fault_kills()		  false
#define fault_counts_all_deaths() false
#define fault_gives_up()	  false
#define fault_waiting_max(bytes)  ((size_t)(bytes))
#define fault_begin(role)                                                                          \
	do {                                                                                       \
	} while (0)
/* Arguments are compiled, never evaluated. */
#define fault_at(where, what, channel)                                                             \
	do {                                                                                       \
		if (0) {                                                                           \
			(void)(what);                                                              \
			(void)(channel);                                                           \
		}                                                                                  \
	} while (0)

#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_GOROUTINE_FINDER_H
#define CTOP_SESSION_GOROUTINE_FINDER_H

/* Asks a jailed child where a process's program keeps its goroutines, one program after the other, while main goes on. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/broker/broker.h>
#include <ctop/ipc/goroutines_protocol.h>
#include <ctop/jail/jail.h>

struct goroutine_finder {
	int32_t pid; /* whose; 0: nobody is asked about */
	bool is_opening, has_child;
	int fd; /* what was opened; -1: nothing, or not yet */
	struct jail_child child;
	uint64_t until_ns;
};

/* 0; -EBUSY: it is asking already; or -errno: it cannot ask about this one now. */
int goroutine_finder_ask(struct goroutine_finder *finder, struct broker *broker, int32_t pid);
/* Of which process the answer is; 0: there is none yet. */
int32_t goroutine_finder_serve(struct goroutine_finder *finder, uint64_t now_ns,
			       struct goroutines_answer *answer);
void goroutine_finder_end(struct goroutine_finder *finder, struct broker *broker);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAIT_CHAINS_H
#define CTOP_TIME_WAIT_CHAINS_H

/*
 * What a thread waits for, by the kernel's callchain as it began to: x86-64's registers of user code do not tell which system call it is in. The same chain is
 * the same wait, of whatever thread, so what was seen of one of them stands for all. A hash of their addresses is compared, nothing else. Memory is bounded: one chain
 * may take the place of another.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/kernel/record.h>
#include <ctop/wait_kind.h>

enum { WAIT_CHAINS = 1024 };

/* All zero at first. */
struct wait_chains {
	struct wait_chain {
		uint64_t hash; /* 0: none */
		enum wait_kind kind;
	} items[WAIT_CHAINS];
};

/* False: not known. */
bool wait_chains_find(const struct wait_chains *chains, const struct record_sample *sample,
		      enum wait_kind *kind);
/* A wait of that kind had it. */
void wait_chains_learn(struct wait_chains *chains, const struct record_sample *sample,
		       enum wait_kind kind);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAIT_CHAINS_H
#define CTOP_TIME_WAIT_CHAINS_H

/*
 * What a thread waits for, by the kernel's callchain as it began to: x86-64's registers of user code do not tell which system call it is in. The same chain is
 * the same wait, of whatever thread, so what was seen of one of them stands for all. A hash of their addresses is compared, nothing else. Memory is bounded: one chain
 * may take the place of another. A wait that is over before anybody can see what its chain stands for is what looks have seen at the same place of the program, where they saw one kind alone: a call stands there, and
 * nearly all are one system call's.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/kernel/record.h>
#include <ctop/wait_kind.h>

enum { WAIT_CHAINS = 1024, WAIT_PLACES = 256 };

/* All zero at first. */
struct wait_chains {
	struct wait_chain {
		uint64_t hash; /* 0: none */
		enum wait_kind kind;
	} items[WAIT_CHAINS];
	struct wait_place_kind {
		int32_t pid; /* 0: none */
		uint64_t pc;
		enum wait_kind kind;
		bool is_several; /* it is not known which */
	} places[WAIT_PLACES];
};

/* False: not known. */
bool wait_chains_find(const struct wait_chains *chains, const struct record_sample *sample,
		      enum wait_kind *kind);
/* False: no look was there, or others saw other kinds. */
bool wait_chains_find_place(const struct wait_chains *chains, int32_t pid, uint64_t pc,
			    enum wait_kind *kind);
/* A look saw it there. */
void wait_chains_learn_place(struct wait_chains *chains, int32_t pid, uint64_t pc,
			     enum wait_kind kind);
/* A wait of that kind had it. */
void wait_chains_learn(struct wait_chains *chains, const struct record_sample *sample,
		       enum wait_kind kind);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_WAIT_SHARES_H
#define CTOP_SESSION_WAIT_SHARES_H

/*
 * Which of a thread's waiting belongs to which of the stacks that it was seen waiting with. A wait that was looked at has all of its own time, exactly.
 * What nobody looked at goes to the next wait that was looked at and was short, too: looks at any time see of short waits as many of each kind as they
 * take time. That is an estimate, and counted as one. The account (time_account.h) tells of every stretch of time; times are of its clock.
 */

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
struct wait_shares {
	uint64_t began;	    /* the wait in hand, or the last one */
	bool is_unsettled;  /* the wait of the last look has not been told of yet: */
	uint64_t looked_at; /* when that was */
	bool is_looked_at;  /* the wait in hand was, by the look before that one */
	bool has_stack;	    /* any ever was */
	bool wants_again;   /* whoever keeps the stacks has lost the last one */
	uint64_t nr_runs;   /* of the last look */
	/* To be given to the stack of the last look, and of the one before it; of them what nobody looked at. */
	uint64_t at_last, at_before, estimated;
	uint64_t pool;	  /* nobody looked at it, and it is not given to any stack yet */
	uint64_t for_cpu; /* to be given: it did not wait, it wanted a CPU */
};

/* It waited so long. */
void wait_shares_add(struct wait_shares *shares, uint64_t from, uint64_t until);
/* It did something else. */
void wait_shares_pass(struct wait_shares *shares, uint64_t until);
void wait_shares_begin(struct wait_shares *shares, uint64_t at);
/* The wait in hand is over. Of waits shorter than that not each is looked at. */
void wait_shares_end(struct wait_shares *shares, uint64_t at, uint64_t short_ns);
/* A look has found its stack, and all that there was to give has been given. */
void wait_shares_look(struct wait_shares *shares, uint64_t at, uint64_t nr_runs);
/* What nobody looked at goes to the stack of the last look, if there ever was one. */
void wait_shares_give_pool(struct wait_shares *shares);

#endif

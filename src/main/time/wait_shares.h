/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAIT_SHARES_H
#define CTOP_TIME_WAIT_SHARES_H

/*
 * Which of a thread's waiting belongs to which of the stacks that it was seen waiting with. A wait that was looked at has all of its own time, exactly.
 * What nobody looked at goes to waits that were looked at and took about as long: looks at any time see of each kind as many as it takes of the time. A sample is one of so many waits,
 * however long they are: it takes what as many of its length come to, and where more than that gathers a part of it, by its length. That is an
 * estimate, and counted as one. The account (account.h) tells of every stretch of time; times are of its clock.
 */

#include <stdbool.h>
#include <stdint.h>

/* Waits that took about as long: each class is twice as long as the one before. */
enum { WAIT_CLASSES = 15 };

/* All zero at first. */
struct wait_shares {
	uint64_t began; /* the wait in hand, or the last one */
	bool is_unsettled; /* no record from after the last look has come: it may have been at another wait */
	uint64_t looked_at; /* when that was */
	bool is_looked_at;  /* the wait in hand was, by the look before that one, or as it began */
	uint64_t
		sampled_of; /* ... as it began, one of so many; 0: it was not. Until it begins: the next one is to be */
	bool has_stack;	     /* any ever was */
	bool wants_again;    /* whoever keeps the stacks has lost the last one */
	unsigned last_class; /* of the last wait that was looked at and is over */
	uint64_t nr_runs;    /* of the last look */
	/* To be given to the stack of the last look, and of the one before it; of them what nobody looked at. */
	uint64_t at_last, at_before, estimated;
	/* Not given to any stack yet: of the wait in hand, of others by how long they were. */
	uint64_t unseen, pool[WAIT_CLASSES];
	uint64_t for_cpu; /* to be given: it did not wait, it wanted a CPU */
};

/* It waited so long. */
void wait_shares_add(struct wait_shares *shares, uint64_t from, uint64_t until);
/* It did something else. */
void wait_shares_pass(struct wait_shares *shares, uint64_t until);
void wait_shares_begin(struct wait_shares *shares, uint64_t at);
/* The wait in hand is over. */
void wait_shares_end(struct wait_shares *shares, uint64_t at);
/* It is over, and whatever comes now is of others, nobody knows how many. */
void wait_shares_break(struct wait_shares *shares);
/* A look has found its stack, and all that there was to give has been given. */
void wait_shares_look(struct wait_shares *shares, uint64_t at, uint64_t nr_runs);
/*
 * The wait that begins next is sampled, as one of so many: its stack becomes the last one, or, where it is not settled what became of the last look, the one before; all that there was
 * to give has been given.
 */
void wait_shares_sample(struct wait_shares *shares, uint64_t period);
/* No wait begins: it was something else. */
void wait_shares_drop_sample(struct wait_shares *shares);
/* Of waits of unknown length: what nobody looked at goes to the last stack. */
void wait_shares_give_unseen(struct wait_shares *shares);
/* Nothing more comes. Returns what is left of what nobody looked at, and took longer or shorter than the last that was looked at. */
uint64_t wait_shares_close(struct wait_shares *shares, uint64_t at);

#endif

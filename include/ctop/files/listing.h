/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_LISTING_H
#define CTOP_FILES_LISTING_H

/*
 * The instructions of a function, from a disassembler (ipc/listing_protocol.h): a jailed child that is given one file, lists one
 * function, and ends. One at a time; main waits for nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ipc/listing_protocol.h>

struct listing {
	struct listing_answer answer;
	struct listing_row *rows;   /* by address; none overlaps the next */
	struct listing_file *files; /* every text of these is within strings, and ends there */
	struct listing_call *calls; /* by row; each is in one before it */
	uint32_t *names;	    /* texts of functions and files of calls */
	char *strings;
	bool is_of_profile; /* lines and names of targets are what a profile knows: see annotate/annotation.h */
	void *memory;
};

/*
 * What a child left in memory (of LISTING_BYTES, which nobody else writes any more; taken over) beside its answer. 0, -ENOMEM, or -EIO:
 * it makes no sense.
 */
int listing_take(const struct listing_answer *answer, void *memory, struct listing **listing);
void listing_free(struct listing *listing); /* NULL is fine */

/* The listing is the taker's; NULL with an error, as struct listing_answer has it, or -ETIMEDOUT, -EIO. */
typedef void listing_taker(void *context, int error, struct listing *listing);

struct disassembler;

struct disassembler *disassembler_new(void); /* NULL: out of memory */
void disassembler_free(struct disassembler *disassembler);
struct disassembler_request {
	int fd, debug_fd;	    /* -1: no debug file. They stay the caller's */
	int common_fd;		    /* what dwz has put into a file of its own; -1: none */
	int split_fd;		    /* what -gsplit-dwarf has; of split_unit, which is not 0 */
	uint64_t split_unit;	    /* 0: none */
	uint64_t start;		    /* of the function, as frames have it */
	const char *name;	    /* as the history has it; NULL: none is known */
	enum listing_source source; /* what fd is */
	struct listing_bytes bytes; /* LISTING_OF_BYTES, LISTING_OF_MEMORY */
	uint64_t memory_start;	    /* the latter: of these */
	bool wants_calls;	    /* that were inlined */
};
/* Lists that function. What was asked before is dropped. The answer comes from disassembler_serve(). 0 or -errno. */
int disassembler_ask(struct disassembler *disassembler, const struct disassembler_request *request,
		     listing_taker *taker, void *context);
/* What was asked is dropped, without an answer. */
void disassembler_forget(struct disassembler *disassembler);
int disassembler_fd(
	const struct disassembler *disassembler); /* to poll for POLLIN; -1: nothing is awaited */
int disassembler_timeout_ms(const struct disassembler *disassembler);
void disassembler_serve(struct disassembler *disassembler);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DISASSEMBLER_LISTING_H
#define CTOP_DISASSEMBLER_LISTING_H

/* The instructions of a function, with the lines that they come from, for a jailed disassembler: all bytes are untrusted. Opens nothing. */

#include <ctop/ipc/listing_protocol.h>

/* Before the jail, which lets nobody open it later: loads libcapstone, if it is installed. */
void listing_prepare(void);

/* What comes beside a question; -1: there is none. */
struct listing_fds {
	int module, debug, common, split;
};

/* Takes the descriptors over. memory: LISTING_BYTES, all zero; only what is needed is touched. */
void listing_make(const struct listing_fds *fds, const struct listing_question *question,
		  void *memory, struct listing_answer *answer);

#endif

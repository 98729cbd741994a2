/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DISASSEMBLER_LISTING_H
#define CTOP_DISASSEMBLER_LISTING_H

/* The instructions of a function, with the lines that they come from, for a jailed disassembler: all bytes are untrusted. Opens nothing. */

#include <ctop/ipc/listing_protocol.h>

/* Before the jail, which lets nobody open it later: loads libcapstone, if it is installed. */
void listing_prepare(void);

/* Takes the descriptors over (-1: there is none). memory: LISTING_BYTES, all zero; only what is needed is touched. */
void listing_make(int fd, int debug_fd, int common_fd, const struct listing_question *question,
		  void *memory, struct listing_answer *answer);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DISASSEMBLER_DECODER_H
#define CTOP_DISASSEMBLER_DECODER_H

/*
 * One instruction after the other, in words: libcapstone's, of x86-64 in Intel's notation, and of arm64. The library is loaded by who needs
 * it: nobody else pays for it, and ctop runs without.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ipc/listing_protocol.h>

struct decoder;

struct instruction {
	uint8_t size; /* bytes; of what is none, as many as are to be skipped */
	enum listing_kind kind;
	uint64_t target; /* of a jump or call by address; 0 */
	char mnemonic[32];
	char operands[192];
};

/* Of an ELF file's e_machine. 0; -ENOSYS: the library is not installed, -ENOTSUP: another machine, -ENOMEM. */
int decoder_open(uint16_t machine, struct decoder **decoder);
void decoder_close(struct decoder *decoder); /* NULL is fine */
/* size: at least 1. What is no instruction is LISTING_NOT_CODE. */
void decoder_next(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		  struct instruction *instruction);
/* See listing_prepare(). */
void decoder_prepare(void);

#endif

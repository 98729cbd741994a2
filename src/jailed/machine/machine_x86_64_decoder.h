/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_MACHINE_X86_64_DECODER_H
#define CTOP_MACHINE_MACHINE_X86_64_DECODER_H

/* The bytes of an instruction of x86-64, taken apart: how long it is, which opcode and operands it has. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As instructions number registers. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R11 = 11, NONE = 0xff };

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };
enum encoding { PLAIN, VEX, EVEX };

struct decoder {
	const uint8_t *at, *end;
	bool failed;
	bool operand16, address32, repeated; /* prefixes 66, 67, f3 or f2 */
	enum encoding encoding;
	unsigned rex; /* its bits, wherever they came from */
	bool has_rex;
	unsigned vvvv;
	unsigned map; /* 1: one byte; 2: 0f; 3: 0f 38; 4: 0f 3a; more: EVEX's */
	uint8_t opcode;
	char form;
	bool has_modrm;
	unsigned mode, reg, rm;	     /* with REX's bits */
	unsigned base, index, scale; /* of an address; NONE: none */
	bool relative;		     /* to the next instruction */
	int64_t displacement, immediate;
};

/* False when it is none, or does not end within size bytes. */
bool decoder_read(struct decoder *d, const uint8_t *code, size_t size);

#endif

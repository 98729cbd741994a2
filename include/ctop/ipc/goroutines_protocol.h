/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_GOROUTINES_PROTOCOL_H
#define CTOP_IPC_GOROUTINES_PROTOCOL_H

/*
 * Between main and the child that finds out where a program of Go's keeps its goroutines: one datagram each way, a word with the file
 * beside it, and the answer. That is the file's own claim: goroutine_layout_is_sane() is to be asked before it is used.
 */

#include <stdbool.h>
#include <stdint.h>

enum goroutine_refusal {
	GOROUTINES_SHOWN,
	GOROUTINES_NOT_GO,
	GOROUTINES_NO_SYMBOLS, /* -ldflags=-s */
	GOROUTINES_NO_LAYOUT,  /* -ldflags=-w, and a version whose layout ctop does not know */
	GOROUTINES_DAMAGED,
	NR_GOROUTINE_REFUSALS
};

enum {
	GOROUTINE_REASONS = 64,
	GOROUTINE_REASON_BYTES = 32,
	GOROUTINE_BYTES_MAX = 1024, /* of a goroutine's descriptor, as far as it is read */
};

/* Go's src/runtime/runtime2.go: offsets in struct g of what its name says, bytes. */
struct goroutine_layout {
	uint64_t
		entry; /* of the file: where it lies in memory is told by what the kernel says of that */
	uint64_t nr, addresses; /* ELF addresses of runtime.allglen and allgptr */
	uint16_t stack_hi, sp, pc, status, id;
	uint16_t reason;   /* one byte: the number of a reason */
	uint16_t sequence; /* one byte: counts how often it stopped running; 0: there is none */
	uint16_t creator;  /* the return address of the go statement; 0: there is none */
	char reasons[GOROUTINE_REASONS]
		    [GOROUTINE_REASON_BYTES]; /* "": the runtime's own goroutines wait for that */
};

struct goroutines_answer {
	uint32_t refusal; /* enum goroutine_refusal */
	uint32_t reserved;
	struct goroutine_layout layout;
};

/* Whether nothing is read outside of GOROUTINE_BYTES_MAX, and each reason is a short line of ASCII. */
bool goroutine_layout_is_sane(const struct goroutine_layout *layout);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOLIZER_CODE_COPIES_H
#define CTOP_SYMBOLIZER_CODE_COPIES_H

/* Code of functions on its way out of processes' memory. */

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/symbolizer/symbolizer.h>

/* Each takes at most the size of a copy. */
enum { CODE_COPIES_MAX = 64 };

/* Whose code is in memory here. */
#ifdef __aarch64__
enum { CODE_COPY_MACHINE = EM_AARCH64 };
#else
enum { CODE_COPY_MACHINE = EM_X86_64 };
#endif

struct code_copy {
	struct code_range range;
	uint64_t start, end; /* of the function, as the map said when it was asked for */
	uint64_t read_ns;
	uint32_t module;
	uint32_t function;  /* row of the hot functions */
	uint8_t *bytes;	    /* on the heap; NULL: they are awaited */
	uint32_t size;	    /* of these */
	bool asked_map;	    /* again, behind them */
	uint32_t maps_read; /* how often the map had been read then */
};

struct code_copies {
	struct code_copy items[CODE_COPIES_MAX];
	size_t nr;
};

void code_copies_drop(struct code_copies *copies, size_t number);
void code_copies_release(struct code_copies *copies);

#endif

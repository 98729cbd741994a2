/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_KEPT_CODE_H
#define CTOP_STORE_KEPT_CODE_H

/*
 * The code of functions, beside the names of an epoch (store/symbols.h): so that a recording can show instructions where the file is
 * not. Who writes names writes it; main, and whoever reads, take what it says as input. A piece is of one function of one module of
 * the epoch, and never changes. Where functions take each other's place it is of the one that has its name, too. Nothing here knows
 * what the bytes mean.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/store/symbols.h>

enum {
	KEPT_CODE_MAX = 1 << 20,       /* bytes of all pieces of a recording, with their names */
	KEPT_FUNCTION_MAX = 128 << 10, /* of one: what is longer is cut */
	KEPT_PIECES_MAX = 16 << 10,
	KEPT_NAME_MAX = 4096,
};

struct kept_code {
	uint64_t start;	  /* of the function, as frames of the module have it */
	uint64_t bias;	  /* added to frames' addresses gives elf addresses */
	uint64_t read_ns; /* in memory, at that time by CLOCK_MONOTONIC; 0: in a file */
	const char *name; /* as its frames have it; not terminated */
	uint32_t
		name_bytes; /* at most KEPT_NAME_MAX; 0: what begins there is always the same function */
	struct module_id module;
	uint32_t size;	  /* bytes, 1 to KEPT_FUNCTION_MAX */
	uint16_t machine; /* EM_X86_64, ... */
	bool is_cut;	  /* the function goes on */
};

/* Takes a copy. 0, -ENOSPC, or -EINVAL: no piece has that size, or it goes beyond the end of all addresses. */
int symbols_keep_code(struct symbols *symbols, const struct kept_code *code, const void *bytes);
/* Those there are. */
uint32_t symbols_nr_code(const struct symbols *symbols);
/* The room that is left for bytes. */
uint32_t symbols_code_room(const struct symbols *symbols);
/*
 * The piece of that number, and where its bytes and its name are, borrowed: whoever writes the region may change them at any time.
 * False: what the region says makes no sense.
 */
bool symbols_code(const struct symbols *symbols, uint32_t number, struct kept_code *code,
		  const uint8_t **bytes);
/* Whether what is said of a piece may be true. */
bool kept_code_makes_sense(const struct kept_code *code);

#endif

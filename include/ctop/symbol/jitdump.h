/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_JITDUMP_H
#define CTOP_SYMBOL_JITDUMP_H

/*
 * The functions that a JIT wrote into its jit-PID.dump, as perf's documentation describes it (jitdump-specification.txt): code that
 * was loaded or moved, each with the time at which that was. So code may take the place of other code, and each has its own name. The
 * file grows while it is read: what is new is read each time. Of code itself it is known where it stands; unwinding information is passed
 * over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/symbol/hit.h>
#include <ctop/symbol/jitdump_lines.h>

struct jitdump;

struct jitdump *jitdump_new(void); /* NULL: out of memory */
void jitdump_free(struct jitdump *dump);

/* Whether a file begins as such a dump does. fd stays the caller's. */
bool jitdump_is_one(int fd);

/*
 * Reads what fd has beyond what was read before, or all of it when it is another file or was written again. fd stays the
 * caller's. 0 or -errno; behind a record that makes no sense nothing is read, and what exceeds the bounds is left out.
 */
int jitdump_read(struct jitdump *dump, int fd);

/* The function that was at an address then, by CLOCK_MONOTONIC; where the dump's own clock is another one, the last. */
bool jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time_ns,
		  struct symbol_hit *hit);
size_t
jitdump_count(const struct jitdump *dump); /* functions kept, where they were moved to as well */
size_t jitdump_bytes(const struct jitdump *dump);

struct jit_code {
	uint64_t whole_bytes; /* of the function */
	uint32_t size;	      /* of these, from its start on: what was copied */
	uint16_t machine;     /* EM_X86_64, ... */
	struct jit_table lines;
};

/* The file that was read last, for jitdump_code(); taken over. */
void jitdump_hold(struct jitdump *dump, int fd);
/*
 * Copies the code of the function of that name that begins at an address, at most so many bytes, after another look at what the file says
 * of it. 0; -ENOENT: there is none; -ENODATA: its code is not there, or not that function's any more; -ENOTUNIQ: several of that name
 * were there, one after the other, that are not the same; -ENOMEM.
 */
int jitdump_code(const struct jitdump *dump, uint64_t start, const char *name, uint8_t *bytes,
		 size_t most, struct jit_code *code);
/* The line of a byte of it; false: none is told. *file is borrowed until more is read. */
bool jitdump_line(const struct jitdump *dump, const struct jit_code *code, uint64_t offset,
		  const char **file, uint32_t *line);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_ENTRIES_H
#define CTOP_CODE_CODE_ENTRIES_H

/*
 * The functions that compilers' start files put into every module, and that no unwind table covers: what runs first and last in
 * it (_init, frame_dummy, __do_global_dtors_aux, _fini). The file says where they are, so that none of its code need be read for that.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/code/code_rule.h>

struct object;

enum { CODE_ENTRIES_MAX = 10 };

struct code_entries {
	uint64_t starts[CODE_ENTRIES_MAX]; /* elf addresses */
	size_t nr;
};

void code_entries_read(struct code_entries *entries, const struct object *object);

/* The one that an address is in, if it is in one. False: it is in none. */
bool code_entries_find(const struct code_entries *entries, uint64_t address,
		       struct code_function *function);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_CODE_CACHE_H
#define CTOP_UNWIND_CODE_CACHE_H

/*
 * What is known of code addresses: the mapping they lie in and the rule there.
 * A large direct-mapped cache on (address, generation of the address space): one
 * probe per frame, 32 bytes per slot. Slots name their mapping by a serial number into a ring of places;
 * a place that is overwritten takes all its slots with it.
 */

#include <ctop/cfi/rule.h>
#include <ctop/unwind/unwind.h>

/* A mapping of an address space as of a generation. */
struct place {
	uint64_t serial; /* 0: none */
	uint64_t generation;
	struct unwind_mapping mapping;
};

struct code {
	const struct place *place; /* valid until the next look-up */
	struct rule rule;
};

/* Reads code of a mapping, at an address of the process. */
bool mapping_read(const struct unwind_mapping *mapping, uint64_t address, void *bytes, size_t size);

struct code_cache;
struct code_cache *code_cache_new(struct unwind_counters *counters); /* borrows counters */
void code_cache_free(struct code_cache *cache);

/*
 * Finds the code at a look-up address. UNWIND_PENDING is returned only when pending_matters; else a pending
 * module is one without tables. code is filled in with UNWIND_FOUND alone.
 */
enum unwind_lookup code_cache_find(struct code_cache *cache, const struct unwind_space *space,
				   uint64_t address, bool pending_matters, struct code *code);

#endif

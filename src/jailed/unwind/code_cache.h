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

/*
 * Whether the code at an address leads on to a function, as it was found out before by reading it (calls.c), for as long as its place lives.
 * Code that its process has made may change: of that nothing is kept.
 */
struct way {
	uint64_t serial; /* of the place of the address; 0: it is not kept */
	uint64_t address, function;
	bool indirectly;
};
static inline struct way way_from(const struct place *place, uint64_t address, uint64_t function,
				  bool indirectly)
{
	return (struct way){place->mapping.live ? 0 : place->serial, address, function, indirectly};
}
/* False: it is not known. */
bool code_cache_find_way(const struct code_cache *cache, const struct way *way, bool *leads_there);
void code_cache_keep_way(struct code_cache *cache, const struct way *way, bool leads_there);

#endif

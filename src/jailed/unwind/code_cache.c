/* SPDX-License-Identifier: MIT */
#include "code_cache.h"

#include <stdlib.h>

#include <ctop/base/index.h>
#include <ctop/cfi/cfi.h>
#include <ctop/code/live_code.h>
#include <ctop/elf/object.h>

enum {
	NR_SLOTS =
		1 << 16, /* 2 MiB; 509 slots, as others have, miss twice as often on a compiler */
	SLOT_SHIFT = 64 - 16,
	NR_WAYS = 1 << 12,
	NR_PLACES =
		1 << 12 /* system-wide: some 200 processes with 20 mappings each that run code */
};

struct slot {
	uint64_t address;
	uint64_t serial; /* of the place, which is places[serial % NR_PLACES] while it lives */
	struct rule rule;
};

#if defined(__x86_64__)
_Static_assert(sizeof(struct slot) == 32, "two slots per cache line");
#endif

struct kept_way {
	struct way way;
	bool leads_there;
};

struct code_cache {
	struct unwind_counters *counters;
	uint64_t last_serial;
	struct place places[NR_PLACES];
	uint64_t recent[NR_PLACES]; /* serials by hash of (generation, start of the mapping) */
	struct place uncached;	    /* of a mapping that may change without a new generation */
	struct slot slots[NR_SLOTS];
	struct kept_way ways[NR_WAYS];
};

struct code_cache *code_cache_new(struct unwind_counters *counters)
{
	struct code_cache *cache = calloc(1, sizeof(*cache));
	if (cache)
		cache->counters = counters;
	return cache;
}

void code_cache_free(struct code_cache *cache)
{
	free(cache);
}

bool mapping_read(const struct unwind_mapping *mapping, uint64_t address, void *bytes, size_t size)
{
	if (mapping->live)
		return live_code_read(mapping->live, address, bytes, size);
	return mapping->object &&
	       object_read(mapping->object, address - mapping->bias, bytes, size);
}

static bool same_mapping(const struct unwind_mapping *a, const struct unwind_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->object == b->object && a->live == b->live && a->cfi == b->cfi &&
	       a->unreadable == b->unreadable && a->module == b->module;
}

static const struct place *place_of(struct code_cache *cache, uint64_t generation,
				    const struct unwind_mapping *mapping)
{
	uint64_t hash = hash_two(generation, mapping->start);
	uint64_t *recent = &cache->recent[hash % NR_PLACES];
	struct place *place = &cache->places[*recent % NR_PLACES];
	if (*recent != 0 && place->serial == *recent && place->generation == generation &&
	    same_mapping(&place->mapping, mapping))
		return place;
	*recent = ++cache->last_serial;
	place = &cache->places[*recent % NR_PLACES];
	*place = (struct place){.serial = *recent, .generation = generation, .mapping = *mapping};
	return place;
}

/* What the bytes before and after the end of a call say; address is a look-up address. */
static uint8_t code_flags(const struct unwind_mapping *mapping, uint64_t address)
{
	uint8_t bytes[MACHINE_CALL_MAX_BYTES > MACHINE_RESTORER_BYTES ? MACHINE_CALL_MAX_BYTES
								      : MACHINE_RESTORER_BYTES];
	const uint64_t next = address + 1;
	uint8_t flags = 0;
	bool starts_stack = false;
	if (!mapping->object && !mapping->live)
		return RULE_CODE_UNREADABLE;
	if (mapping_read(mapping, next, bytes, MACHINE_RESTORER_BYTES)) {
		if (machine_is_restorer(bytes))
			flags |= RULE_RESTORER;
		starts_stack = !mapping->live && machine_starts_stack(bytes);
	}
	/* Fewer only where the segment starts just before. */
	size_t size = MACHINE_CALL_MAX_BYTES;
	while (size >= MACHINE_CALL_MIN_BYTES && !mapping_read(mapping, next - size, bytes, size))
		size--;
	if (size < MACHINE_CALL_MIN_BYTES)
		flags |= RULE_CODE_UNREADABLE;
	else if (machine_ends_in_call(bytes, size))
		flags |= RULE_AFTER_CALL;
	else if (starts_stack)
		flags |= RULE_STARTS_STACK;
	return flags;
}

static void evaluate(struct code_cache *cache, const struct unwind_mapping *mapping,
		     uint64_t address, struct rule *rule)
{
	*rule = (struct rule){.kind = RULE_NONE};
	if (mapping->cfi) {
		if (cfi_rule(mapping->cfi, address - mapping->bias, rule))
			cache->counters->rules_evaluated++;
	} else if (mapping->object) {
		rule->flags |= rule_flags_of_function(mapping->object, address - mapping->bias);
	}
	rule->flags |= code_flags(mapping, address);
}

static enum unwind_lookup find_slowly(struct code_cache *cache, const struct unwind_space *space,
				      uint64_t address, bool pending_matters, struct slot *slot,
				      struct code *code)
{
	struct unwind_mapping mapping = {0};
	enum unwind_lookup found = space->find(space->context, address, &mapping);
	if (found == UNWIND_NOT_EXECUTABLE || found == UNWIND_UNKNOWN ||
	    (found == UNWIND_PENDING && pending_matters))
		return found;
	if (found == UNWIND_PENDING) {
		/* It may arrive before the generation changes. */
		mapping.object = NULL;
		mapping.live = NULL;
		mapping.cfi = NULL;
		mapping.unreadable = STACK_REASON_NO_TABLE;
		cache->uncached = (struct place){.mapping = mapping};
		code->place = &cache->uncached;
		code->rule = (struct rule){.kind = RULE_NONE, .flags = RULE_CODE_UNREADABLE};
		return UNWIND_FOUND;
	}
	code->place = place_of(cache, space->generation, &mapping);
	evaluate(cache, &mapping, address, &code->rule);
	if (mapping.live)
		return UNWIND_FOUND; /* it changes without a new generation */
	*slot = (struct slot){
		.address = address, .serial = code->place->serial, .rule = code->rule};
	return UNWIND_FOUND;
}

enum unwind_lookup code_cache_find(struct code_cache *cache, const struct unwind_space *space,
				   uint64_t address, bool pending_matters, struct code *code)
{
	/* Fibonacci hashing; generations are small numbers, so they are spread first. */
	uint64_t key = address ^ space->generation * UINT64_C(0xd6e8feb86659fd93);
	struct slot *slot = &cache->slots[key * UINT64_C(0x9e3779b97f4a7c15) >> SLOT_SHIFT];
	const struct place *place = &cache->places[slot->serial % NR_PLACES];
	if (slot->address == address && slot->serial != 0 && place->serial == slot->serial &&
	    place->generation == space->generation) {
		cache->counters->cache_hits++;
		code->place = place;
		code->rule = slot->rule;
		return UNWIND_FOUND;
	}
	cache->counters->cache_misses++;
	return find_slowly(cache, space, address, pending_matters, slot, code);
}

static size_t way_slot(const struct way *way)
{
	return hash_two(way->address, way->function + way->indirectly) % NR_WAYS;
}

bool code_cache_find_way(const struct code_cache *cache, const struct way *way, bool *leads_there)
{
	const struct kept_way *kept = &cache->ways[way_slot(way)];
	*leads_there = kept->leads_there;
	return way->serial && kept->way.serial == way->serial &&
	       kept->way.address == way->address && kept->way.function == way->function &&
	       kept->way.indirectly == way->indirectly;
}

void code_cache_keep_way(struct code_cache *cache, const struct way *way, bool leads_there)
{
	if (way->serial)
		cache->ways[way_slot(way)] = (struct kept_way){*way, leads_there};
}

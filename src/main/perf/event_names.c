/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <stdio.h>
#include <string.h>

#include <ctop/kernel/named_events.h>

/* ---- caches: CACHE-OPERATION, as in L1-dcache-load-misses ---- */

/* How a word is spelled: the first is the name shown, all are understood. */
struct spelling {
	const char *words[5];
};

enum { MAY_LOAD = 1, MAY_STORE = 2, MAY_PREFETCH = 4 };

static const struct cache {
	struct spelling spelling;
	unsigned operations; /* what the kernel has numbers for */
	const char *what;
} caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = {{{"L1-dcache", "l1-d", "l1d", "L1-data"}},
				     MAY_LOAD | MAY_STORE | MAY_PREFETCH,
				     "the first data cache"},
	[PERF_COUNT_HW_CACHE_L1I] = {{{"L1-icache", "l1-i", "l1i", "L1-instruction"}},
				     MAY_LOAD | MAY_PREFETCH,
				     "the first instruction cache"},
	[PERF_COUNT_HW_CACHE_LL] = {{{"LLC", "L2"}},
				    MAY_LOAD | MAY_STORE | MAY_PREFETCH,
				    "the last cache level"},
	[PERF_COUNT_HW_CACHE_DTLB] = {{{"dTLB", "d-tlb", "Data-TLB"}},
				      MAY_LOAD | MAY_STORE | MAY_PREFETCH,
				      "the TLB of data"},
	[PERF_COUNT_HW_CACHE_ITLB] = {{{"iTLB", "i-tlb", "Instruction-TLB"}},
				      MAY_LOAD,
				      "the TLB of instructions"},
	[PERF_COUNT_HW_CACHE_BPU] = {{{"branch", "bpu", "btb", "bpc"}},
				     MAY_LOAD,
				     "the branch predictor"},
	[PERF_COUNT_HW_CACHE_NODE] = {{{"node"}},
				      MAY_LOAD | MAY_STORE | MAY_PREFETCH,
				      "the memory of this CPU's node"},
};
enum { NR_CACHES = sizeof(caches) / sizeof(caches[0]) };

static const struct cache_event {
	struct spelling spelling;
	unsigned operation, result, needs;
	const char *what;
} cache_events[] = {
	{{{"loads", "load", "read", "load-refs", "load-access"}},
	 PERF_COUNT_HW_CACHE_OP_READ,
	 PERF_COUNT_HW_CACHE_RESULT_ACCESS,
	 MAY_LOAD,
	 "loads of"},
	{{{"load-misses", "loads-misses", "read-misses", "misses", "miss"}},
	 PERF_COUNT_HW_CACHE_OP_READ,
	 PERF_COUNT_HW_CACHE_RESULT_MISS,
	 MAY_LOAD,
	 "loads missing in"},
	{{{"stores", "store", "write", "store-refs", "store-access"}},
	 PERF_COUNT_HW_CACHE_OP_WRITE,
	 PERF_COUNT_HW_CACHE_RESULT_ACCESS,
	 MAY_STORE,
	 "stores to"},
	{{{"store-misses", "stores-misses", "write-misses"}},
	 PERF_COUNT_HW_CACHE_OP_WRITE,
	 PERF_COUNT_HW_CACHE_RESULT_MISS,
	 MAY_STORE,
	 "stores missing in"},
	{{{"prefetches", "prefetch", "speculative-read", "prefetch-refs", "speculative-load"}},
	 PERF_COUNT_HW_CACHE_OP_PREFETCH,
	 PERF_COUNT_HW_CACHE_RESULT_ACCESS,
	 MAY_PREFETCH,
	 "prefetches from"},
	{{{"prefetch-misses", "prefetches-misses", "speculative-read-misses"}},
	 PERF_COUNT_HW_CACHE_OP_PREFETCH,
	 PERF_COUNT_HW_CACHE_RESULT_MISS,
	 MAY_PREFETCH,
	 "prefetches missing in"},
};
enum { NR_CACHE_EVENTS = sizeof(cache_events) / sizeof(cache_events[0]) };

static const size_t nr_spellings = sizeof(((struct spelling *)NULL)->words) / sizeof(char *);

static bool is_spelled(const struct spelling *spelling, const char *word)
{
	for (size_t i = 0; i < nr_spellings && spelling->words[i]; i++)
		if (strcasecmp(spelling->words[i], word) == 0)
			return true;
	return false;
}

/* What follows a cache's name and a hyphen; NULL when the name is another's. */
static const char *behind_cache(const struct cache *cache, const char *name)
{
	for (size_t i = 0; i < nr_spellings && cache->spelling.words[i]; i++) {
		size_t size = strlen(cache->spelling.words[i]);
		if (strncasecmp(cache->spelling.words[i], name, size) == 0 && name[size] == '-')
			return name + size + 1;
	}
	return NULL;
}

static bool find_cache_event(const char *name, struct event *event)
{
	for (unsigned c = 0; c < NR_CACHES; c++) {
		const char *operation = behind_cache(&caches[c], name);
		for (size_t i = 0; operation && i < NR_CACHE_EVENTS; i++) {
			const struct cache_event *found = &cache_events[i];
			if (!(caches[c].operations & found->needs) ||
			    !is_spelled(&found->spelling, operation))
				continue;
			event->type = PERF_TYPE_HW_CACHE;
			event->config = c | found->operation << 8 | found->result << 16;
			return true;
		}
	}
	return false;
}

/* ---- both ---- */

bool names_find(const char *name, struct event *event)
{
	for (size_t i = 0; i < nr_named_events; i++) {
		if (!named_events[i].description || strcmp(named_events[i].name, name) != 0)
			continue;
		event->type = named_events[i].type;
		event->config = named_events[i].config;
		return true;
	}
	return find_cache_event(name, event);
}

static enum event_kind kind_of(const struct named_event *named)
{
	if (named->type == PERF_TYPE_HARDWARE)
		return EVENT_HARDWARE;
	return named->config == PERF_COUNT_SW_CPU_CLOCK || named->config == PERF_COUNT_SW_TASK_CLOCK
		       ? EVENT_CLOCK
		       : EVENT_SOFTWARE;
}

void names_each(const struct catalog_reader *reader)
{
	for (size_t i = 0; i < nr_named_events; i++)
		if (named_events[i].description)
			reader->event(reader->context, kind_of(&named_events[i]),
				      named_events[i].name, named_events[i].description);
	for (size_t c = 0; c < NR_CACHES; c++)
		for (size_t i = 0; i < NR_CACHE_EVENTS; i++) {
			char name[64], description[96];
			if (!(caches[c].operations & cache_events[i].needs))
				continue;
			snprintf(name, sizeof(name), "%s-%s", caches[c].spelling.words[0],
				 cache_events[i].spelling.words[0]);
			snprintf(description, sizeof(description), "%s %s", cache_events[i].what,
				 caches[c].what);
			reader->event(reader->context, EVENT_CACHE, name, description);
		}
}

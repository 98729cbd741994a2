/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/name_cache.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/index.h>
#include <ctop/symbol/hit.h>
#include <ctop/symbol/demangle.h>

#include "demangle_languages.h"

/* Two names of at most 4 KiB per slot: 4 MiB at worst, some 100 KiB as a rule. */
enum { NR_SLOTS = 512 };

struct slot {
	bool by_ada;
	char *name; /* as asked; NULL: empty */
	char *shown;
};

struct name_cache {
	struct slot slots[NR_SLOTS];
	char scratch[SYMBOL_NAME_MAX];
};

struct name_cache *name_cache_new(void)
{
	return calloc(1, sizeof(struct name_cache));
}

static void clear(struct slot *slot)
{
	free(slot->name);
	free(slot->shown);
	*slot = (struct slot){0};
}

void name_cache_free(struct name_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < NR_SLOTS; i++)
		clear(&cache->slots[i]);
	free(cache);
}

static bool is_version(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '.' && *text != '_')
			return false;
	return true;
}

/* Where "@VERSION", "@@VERSION" or "@plt" begins; the name's end when it has
 * none. */
static size_t base_size(const char *name)
{
	const char *at = strchr(name, '@');
	return at && at > name && is_version(at + strspn(at, "@")) ? (size_t)(at - name)
								   : strlen(name);
}

static void cut(char *name)
{
	memcpy(name + SYMBOL_NAME_MAX - 4, "...", 4);
}

/* Fills scratch with the name as shown. */
static void show(struct name_cache *cache, const char *name, size_t size, bool by_ada)
{
	static const char stub[] = "@plt";
	char base[SYMBOL_NAME_MAX];
	char *out = cache->scratch;
	memcpy(base, name, size);
	base[size] = '\0';
	size_t at = base_size(base);
	bool is_stub = strcmp(base + at, stub) == 0;
	base[at] = '\0';
	if (!demangle(base, out, sizeof(cache->scratch)) &&
	    !(by_ada && demangle_ada(base, out, sizeof(cache->scratch))))
		memcpy(out, base, at + 1);
	size_t used = strlen(out);
	if (!is_stub)
		return;
	if (used > sizeof(cache->scratch) - sizeof(stub))
		used = sizeof(cache->scratch) - sizeof(stub);
	memcpy(out + used, stub, sizeof(stub));
}

static char *copy_of(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	if (copy) {
		memcpy(copy, text, size);
		copy[size] = '\0';
	}
	return copy;
}

const char *name_cache_show(struct name_cache *cache, const char *name, bool by_ada)
{
	size_t size = strnlen(name, SYMBOL_NAME_MAX);
	if (size == SYMBOL_NAME_MAX) {
		memcpy(cache->scratch, name, size);
		cut(cache->scratch);
		return cache->scratch;
	}
	struct slot *slot = &cache->slots[hash_bytes(name, size) % NR_SLOTS];
	if (slot->name && slot->by_ada == by_ada && strcmp(slot->name, name) == 0)
		return slot->shown;
	show(cache, name, size, by_ada);
	clear(slot);
	slot->by_ada = by_ada;
	slot->name = copy_of(name, size);
	slot->shown = copy_of(cache->scratch, strlen(cache->scratch));
	/* Without memory there is no cache, but a name all the same. */
	if (!slot->name || !slot->shown)
		clear(slot);
	return cache->scratch;
}

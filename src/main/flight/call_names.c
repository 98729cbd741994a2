/* SPDX-License-Identifier: MIT */
#include "call_names.h"

#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h> /* which uthash uses */
#include <ctop/base/vec.h>
#include <uthash.h>

/* Of a name; of all, before there are no more with what a call is for, or none. */
enum { NAME_BYTES_MOST = 512, BYTES_MOST = 1 << 20, BYTES_MOST_OF_ALL = 2 << 20 };

/* Of a call for whose name there is no room. */
#define UNNAMED 1

struct call_name {
	uint16_t number;
	uint64_t nr_holders;
	UT_hash_handle hh;
	char text[];
};

struct call_names {
	struct call_name *by_text;
	/* A name's number is its row and 1. Of rows that are free the last one let go is used first. */
	struct {
		struct call_name **items;
		size_t nr, capacity;
	} rows;
	struct {
		uint16_t *items;
		size_t nr, capacity;
	} free_numbers;
	uint64_t bytes;
};

void call_names_free(struct call_names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->by_text);
	for (size_t i = 0; i < names->rows.nr; i++)
		free(names->rows.items[i]);
	free(names->rows.items);
	free(names->free_numbers.items);
	free(names);
}

/* 0: there is none. Letting go of a number needs no memory then. */
static uint16_t new_number(struct call_names *names)
{
	if (names->free_numbers.nr)
		return names->free_numbers.items[--names->free_numbers.nr];
	if (names->rows.nr == UINT16_MAX || vec_reserve(&names->rows, names->rows.nr + 1) ||
	    vec_reserve(&names->free_numbers, names->rows.nr + 1))
		return 0;
	names->rows.items[names->rows.nr++] = NULL;
	return (uint16_t)names->rows.nr;
}

static void free_number(struct call_names *names, uint16_t number)
{
	names->rows.items[number - 1] = NULL;
	names->free_numbers.items[names->free_numbers.nr++] = number;
}

static struct call_name *find(const struct call_names *names, const char *text, size_t size)
{
	struct call_name *name = NULL;
	if (size)
		HASH_FIND(hh, names->by_text, text, size, name);
	return name;
}

static struct call_name *add(struct call_names *names, const char *text, size_t size)
{
	const uint16_t number = size && size <= NAME_BYTES_MOST ? new_number(names) : 0;
	struct call_name *name = number ? calloc(1, sizeof(*name) + size + 1) : NULL;
	if (name) {
		name->number = number;
		memcpy(name->text, text, size);
		HASH_ADD_KEYPTR(hh, names->by_text, name->text, size, name);
	}
	if (!name || !name->hh.tbl) {
		free(name);
		if (number)
			free_number(names, number);
		return NULL;
	}
	names->rows.items[number - 1] = name;
	names->bytes += sizeof(*name) + size + 1;
	return name;
}

static struct call_name *of_call_alone(struct call_names *names, const char *text)
{
	const size_t size = strcspn(text, ",");
	struct call_name *name = find(names, text, size);
	return name || names->bytes >= BYTES_MOST_OF_ALL ? name : add(names, text, size);
}

struct call_names *call_names_new(void)
{
	struct call_names *names = calloc(1, sizeof(*names));
	if (names && call_names_hold(names, "call ?") == UNNAMED)
		return names;
	call_names_free(names);
	return NULL;
}

uint16_t call_names_hold(struct call_names *names, const char *text)
{
	const size_t size = text ? strlen(text) : 0;
	struct call_name *name = find(names, text, size);
	if (!name && names->bytes < BYTES_MOST)
		name = add(names, text, size);
	if (!name && size)
		name = of_call_alone(names, text);
	if (!name && size)
		name = names->rows.items[UNNAMED - 1];
	if (!name)
		return 0;
	name->nr_holders++;
	return name->number;
}

void call_names_let_go(struct call_names *names, uint16_t number)
{
	struct call_name *name = number ? names->rows.items[number - 1] : NULL;
	if (!name || --name->nr_holders)
		return;
	names->bytes -= sizeof(*name) + name->hh.keylen + 1;
	HASH_DEL(names->by_text, name);
	free(name);
	free_number(names, number);
}

const char *call_names_text(const struct call_names *names, uint16_t number)
{
	return number ? names->rows.items[number - 1]->text : NULL;
}

uint64_t call_names_bytes(const struct call_names *names)
{
	return names->bytes + vec_bytes(&names->rows) + vec_bytes(&names->free_numbers);
}

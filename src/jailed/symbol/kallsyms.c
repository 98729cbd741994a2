/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/kallsyms.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/kernel/names_text.h>

#include "hex.h"

/* 200,000 symbols with all their modules have 15 MiB. */
enum { TEXT_MAX_BYTES = 128 << 20, TEXT_FIRST_BYTES = 1 << 20 };
/* What is read at once takes less than 1 ms; the kernel hands out a page at most for each call. */
enum { PART_BYTES = 128 << 10, READ_BYTES = 16 << 10 };
/* Behind the last function before a gap there is no end to be seen: as perf
 * does, assume up to a page more. */
enum { FUNCTION_MAX_BYTES = 1 << 20, KERNEL_PAGE_BYTES = 4096 };

struct kernel_symbol {
	uint64_t address;
	uint32_t name;	 /* offset into text */
	uint32_t module; /* likewise; 0: none (the text begins with an address) */
	uint32_t demerits;
};

struct kallsyms {
	bool is_kept; /* what main's opener keeps of it: without what the kernel makes while it runs */
	struct {
		struct kernel_symbol *items;
		size_t nr, capacity;
	} symbols;
	int fd;
	char *text; /* NUL-terminated, when there is any */
	size_t text_bytes, capacity;
	size_t parsed_bytes;	       /* of text: whole lines */
	bool hidden;		       /* a function at address 0 was seen */
	uint64_t text_start, text_end; /* of _text and _etext; 0: not seen */
};

struct kallsyms *kallsyms_new(int fd)
{
	struct kallsyms *kallsyms = calloc(1, sizeof(*kallsyms));
	if (kallsyms)
		kallsyms->fd = fd;
	return kallsyms;
}

void kallsyms_free(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	if (kallsyms->fd >= 0)
		close(kallsyms->fd);
	free(kallsyms->symbols.items);
	free(kallsyms->text);
	free(kallsyms);
}

size_t kallsyms_bytes(const struct kallsyms *kallsyms)
{
	return sizeof(*kallsyms) + kallsyms->capacity +
	       kallsyms->symbols.capacity * sizeof(*kallsyms->symbols.items);
}

/* Appends a part to the text, which stays NUL-terminated. 1, 0: that was the end, or -errno. */
static int read_text(struct kallsyms *kallsyms)
{
	const size_t first = kallsyms->text_bytes;
	while (kallsyms->text_bytes - first < PART_BYTES) {
		const size_t used = kallsyms->text_bytes;
		if (used + READ_BYTES > TEXT_MAX_BYTES)
			return -EFBIG;
		if (used + READ_BYTES >= kallsyms->capacity) {
			const size_t capacity = kallsyms->capacity * 2 + TEXT_FIRST_BYTES;
			char *grown = realloc(kallsyms->text, capacity);
			if (!grown)
				return -ENOMEM;
			kallsyms->text = grown;
			kallsyms->capacity = capacity;
		}
		const ssize_t got =
			pread(kallsyms->fd, kallsyms->text + used, READ_BYTES, (off_t)used);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got >= 0)
			kallsyms->text[used + (size_t)got] = '\0';
		if (got == 0)
			return 0;
		if (got > 0)
			kallsyms->text_bytes += (size_t)got;
	}
	return 1;
}

/* One line, without its newline. What makes no sense is passed over. */
static int add_line(struct kallsyms *kallsyms, char *line)
{
	uint64_t address;
	char *at = hex_take(line, &address);
	if (!at || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return 0;
	char type = at[1], *name = at + 3;
	char *end = name + strcspn(name, " \t");
	char *module = end + strspn(end, " \t");
	*end = '\0';
	if (!name[0])
		return 0;
	if (!address) {
		kallsyms->hidden = true;
		return 0;
	}
	if (!strcmp(name, "_text"))
		kallsyms->text_start = address;
	if (!strcmp(name, "_etext"))
		kallsyms->text_end = address;
	if (vec_reserve(&kallsyms->symbols, kallsyms->symbols.nr + 1))
		return -ENOMEM;
	kallsyms->symbols.items[kallsyms->symbols.nr++] = (struct kernel_symbol){
		.address = address,
		.name = (uint32_t)(name - kallsyms->text),
		.module = module > end && *module ? (uint32_t)(module - kallsyms->text) : 0,
		/* perf's order: weak ones last, then local ones. */
		.demerits = type == 'T'	  ? 0
			    : type == 't' ? 1
					  : 2,
	};
	return 0;
}

/* The lines that have come as a whole; at the end the last one, too, which may lack its newline. 0 or -ENOMEM. */
static int add_lines(struct kallsyms *kallsyms, bool is_end)
{
	char *line = kallsyms->text + kallsyms->parsed_bytes;
	int result = 0;
	while (*line && !result) {
		char *newline = strchr(line, '\n');
		if (!newline && !is_end)
			break;
		char *next = newline ? newline + 1 : line + strlen(line);
		if (newline)
			*newline = '\0';
		result = add_line(kallsyms, line);
		line = next;
	}
	kallsyms->parsed_bytes = (size_t)(line - kallsyms->text);
	return result;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct kernel_symbol *left = a, *right = b;
	return (left->address > right->address) - (left->address < right->address);
}

static bool is_better(const struct kallsyms *kallsyms, const struct kernel_symbol *a,
		      const struct kernel_symbol *b)
{
	const struct symbol_choice choice_a = {kallsyms->text + a->name, a->demerits};
	const struct symbol_choice choice_b = {kallsyms->text + b->name, b->demerits};
	return symbol_choice_compare(&choice_a, &choice_b) < 0;
}

/* The kernel itself comes in order, modules mostly do: a list of 200,000 that is sorted need not be sorted. */
static bool is_sorted(const struct kernel_symbol *items, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (items[i].address < items[i - 1].address)
			return false;
	return true;
}

static void sort_and_choose(struct kallsyms *kallsyms)
{
	struct kernel_symbol *items = kallsyms->symbols.items;
	size_t kept = 0;
	if (!is_sorted(items, kallsyms->symbols.nr))
		qsort(items, kallsyms->symbols.nr, sizeof(*items), compare_addresses);
	for (size_t i = 1; i < kallsyms->symbols.nr; i++) {
		if (items[i].address != items[kept].address)
			items[++kept] = items[i];
		else if (is_better(kallsyms, &items[i], &items[kept]))
			items[kept] = items[i];
	}
	kallsyms->symbols.nr = kept + 1;
}

/*
 * The bytes in front of a function have a name of their own where the kernel was built with room there (__pfx_NAME, since 6.2). None
 * of them runs; but of a function interrupted at its first instruction the address is taken for a return address, and looked for one before.
 */
static void name_prefixes(struct kallsyms *kallsyms)
{
	static const char prefix[] = "__pfx_";
	for (size_t i = 0; i + 1 < kallsyms->symbols.nr; i++) {
		struct kernel_symbol *symbol = &kallsyms->symbols.items[i];
		const char *name = kallsyms->text + symbol->name;
		if (strncmp(name, prefix, strlen(prefix)) == 0 &&
		    strcmp(name + strlen(prefix), kallsyms->text + symbol[1].name) == 0)
			symbol->name = symbol[1].name;
	}
}

int kallsyms_read_part(struct kallsyms *kallsyms)
{
	static const char first_line[] = KERNEL_NAMES_FIRST_LINE "\n";
	const int more = read_text(kallsyms);
	if (more >= 0 && !kallsyms->parsed_bytes)
		kallsyms->is_kept =
			strncmp(kallsyms->text, first_line, sizeof(first_line) - 1) == 0;
	const int result = more < 0 ? more : add_lines(kallsyms, !more);
	if (result || more)
		return result ? result : more;
	if (!kallsyms->symbols.nr)
		return kallsyms->hidden ? -EPERM : -ENODATA;
	sort_and_choose(kallsyms);
	name_prefixes(kallsyms);
	return 0;
}

static const char *module_of(const struct kallsyms *kallsyms, const struct kernel_symbol *symbol)
{
	return symbol->module ? kallsyms->text + symbol->module : NULL;
}

static bool same_module(const struct kallsyms *kallsyms, const struct kernel_symbol *a,
			const struct kernel_symbol *b)
{
	const char *of_a = module_of(kallsyms, a), *of_b = module_of(kallsyms, b);
	return of_a && of_b ? strcmp(of_a, of_b) == 0 : of_a == of_b;
}

/* Functions have no sizes here: each ends where the next begins, unless that is
 * another module's. */
static uint64_t end_of(const struct kallsyms *kallsyms, size_t i)
{
	const struct kernel_symbol *symbol = &kallsyms->symbols.items[i];
	/* Where something may be left out the next page may be that. */
	const uint64_t more_bytes = kallsyms->is_kept ? 0 : KERNEL_PAGE_BYTES;
	uint64_t page_end = (symbol->address | (KERNEL_PAGE_BYTES - 1)) + more_bytes + 1;
	if (page_end < symbol->address)
		page_end = UINT64_MAX;
	if (i + 1 == kallsyms->symbols.nr)
		return page_end;
	const struct kernel_symbol *next = symbol + 1;
	if (next->address < page_end || (next->address - symbol->address <= FUNCTION_MAX_BYTES &&
					 same_module(kallsyms, symbol, next)))
		return next->address;
	return page_end;
}

bool kallsyms_is_kept(const struct kallsyms *kallsyms)
{
	return kallsyms->is_kept;
}

bool kallsyms_text(const struct kallsyms *kallsyms, uint64_t *start, uint64_t *end)
{
	*start = kallsyms->text_start;
	*end = kallsyms->text_end;
	return *start && *start < *end;
}

bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, struct symbol_hit *hit)
{
	size_t low = 0, high = kallsyms->symbols.nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (kallsyms->symbols.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= end_of(kallsyms, low - 1))
		return false;
	const struct kernel_symbol *symbol = &kallsyms->symbols.items[low - 1];
	*hit = (struct symbol_hit){
		.name = kallsyms->text + symbol->name,
		.module = module_of(kallsyms, symbol),
		.start = symbol->address,
	};
	return true;
}

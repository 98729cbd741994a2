/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/kallsyms.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/sort.h>
#include <ctop/base/vec.h>
#include <ctop/symbol/kept_names.h>

#include "hex.h"
#include "kernel_choice.h"

/* 200,000 symbols with all their modules have 15 MiB. There is room for these at first, since growing copies; what is not used is given back untouched. */
enum { TEXT_MAX_BYTES = 128 << 20, TEXT_FIRST_BYTES = 16 << 20, SYMBOLS_FIRST = 256 << 10 };
/* What is read at once takes less than 1 ms; the kernel hands out a page at most for each call. */
enum { PART_BYTES = 128 << 10, READ_BYTES = 16 << 10 };
/* Behind the last function before a gap there may be another page of it, as perf assumes. */
enum { KERNEL_PAGE_BYTES = 4096 };

struct kernel_symbol {
	uint64_t address; /* first: what they are sorted by */
	uint32_t name;	  /* offset into text */
	uint32_t module;  /* likewise; 0: none (the text begins with an address) */
	uint32_t demerits;
};

struct kallsyms {
	bool is_kept;		 /* the text is what main's opener keeps of it: then all is in */
	struct kept_names *kept; /* and what is below stays empty */
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
	kept_names_free(kallsyms->kept);
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
			const size_t capacity =
				kallsyms->capacity ? kallsyms->capacity * 2 : TEXT_FIRST_BYTES;
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
	const char *at = hex_take(line, &address);
	unsigned demerits;
	if (!at || at[0] != ' ' || !kernel_demerits(at[1], &demerits) || at[2] != ' ')
		return 0;
	char *name = line + (at + 3 - line);
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
	const size_t nr = kallsyms->symbols.nr + 1;
	if (vec_reserve(&kallsyms->symbols, nr > SYMBOLS_FIRST ? nr : SYMBOLS_FIRST))
		return -ENOMEM;
	kallsyms->symbols.items[kallsyms->symbols.nr++] = (struct kernel_symbol){
		.address = address,
		.name = (uint32_t)(name - kallsyms->text),
		.module = module > end && *module ? (uint32_t)(module - kallsyms->text) : 0,
		.demerits = demerits,
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

static void sort_and_choose(struct kallsyms *kallsyms)
{
	struct kernel_symbol *items = kallsyms->symbols.items;
	size_t kept = 0;
	sort_by_u64(items, kallsyms->symbols.nr, sizeof(*items));
	for (size_t i = 1; i < kallsyms->symbols.nr; i++) {
		if (items[i].address != items[kept].address)
			items[++kept] = items[i];
		else if (kernel_is_better(kallsyms->text + items[i].name, items[i].demerits,
					  kallsyms->text + items[kept].name, items[kept].demerits))
			items[kept] = items[i];
	}
	kallsyms->symbols.nr = kept + 1;
}

static void name_prefixes(struct kallsyms *kallsyms)
{
	for (size_t i = 0; i + 1 < kallsyms->symbols.nr; i++) {
		struct kernel_symbol *symbol = &kallsyms->symbols.items[i];
		if (kernel_is_prefix(kallsyms->text + symbol->name,
				     kallsyms->text + symbol[1].name))
			symbol->name = symbol[1].name;
	}
}

int kallsyms_read_part(struct kallsyms *kallsyms)
{
	if (!kallsyms->text_bytes) {
		const int kept = kept_names_open(kallsyms->fd, &kallsyms->kept);
		kallsyms->is_kept = kept != -EINVAL;
		if (kallsyms->is_kept)
			return kept;
	}
	const int more = read_text(kallsyms);
	const int result = more < 0 ? more : add_lines(kallsyms, !more);
	if (result || more)
		return result ? result : more;
	if (!kallsyms->symbols.nr)
		return kallsyms->hidden ? -EPERM : -ENODATA;
	sort_and_choose(kallsyms);
	name_prefixes(kallsyms);
	vec_give_back(&kallsyms->symbols);
	vec_trim((void **)&kallsyms->text, &kallsyms->capacity, kallsyms->text_bytes + 1, 1);
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

static uint64_t end_of(const struct kallsyms *kallsyms, size_t i)
{
	const struct kernel_symbol *symbol = &kallsyms->symbols.items[i];
	const bool has_next = i + 1 < kallsyms->symbols.nr;
	return kernel_function_end(symbol->address, has_next ? symbol[1].address : 0,
				   has_next && same_module(kallsyms, symbol, symbol + 1),
				   KERNEL_PAGE_BYTES);
}

bool kallsyms_is_kept(const struct kallsyms *kallsyms)
{
	return kallsyms->is_kept;
}

bool kallsyms_text(const struct kallsyms *kallsyms, uint64_t *start, uint64_t *end)
{
	if (kallsyms->kept)
		return kept_names_code(kallsyms->kept, start, end);
	*start = kallsyms->text_start;
	*end = kallsyms->text_end;
	return *start && *start < *end;
}

bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, struct symbol_hit *hit)
{
	if (kallsyms->kept)
		return kept_names_find(kallsyms->kept, address, hit);
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

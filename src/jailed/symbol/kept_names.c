/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/kept_names.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <ctop/kernel/names_text.h>

#include "hex.h"
#include "kernel_choice.h"

/* Longer ones than the kernel's (KSYM_NAME_LEN, MODULE_NAME_LEN in brackets) are cut. */
enum { NAME_BYTES = 512 + 1, MODULE_BYTES = 64 + 3 };
/* Further lines are not looked at, nor further functions of one address. */
enum { LINE_MAX_BYTES = 1024, ALIASES_MAX = 64 };

static const char first_line[] = KERNEL_NAMES_FIRST_LINE "\n";

struct function {
	uint64_t address;
	unsigned demerits;
	char name[NAME_BYTES], module[MODULE_BYTES]; /* "": none */
};

struct kept_names {
	void *text;
	size_t bytes;
	const char *first, *end; /* of the functions' lines */
	struct function found, next;
};

/* ---- lines ---- */

/* Behind the newline; NULL: there is none where one has to be. */
static const char *line_end(const char *at, const char *end)
{
	const size_t most = end - at < LINE_MAX_BYTES ? (size_t)(end - at) : LINE_MAX_BYTES;
	const char *newline = memchr(at, '\n', most);
	return newline ? newline + 1 : NULL;
}

/* Where the line of a byte begins; NULL likewise. */
static const char *line_start(const struct kept_names *names, const char *at)
{
	const size_t before = (size_t)(at - names->first);
	const size_t most = before < LINE_MAX_BYTES ? before : LINE_MAX_BYTES;
	const char *newline = memrchr(at - most, '\n', most);
	return newline ? newline + 1 : most == before ? names->first : NULL;
}

/* Takes "ADDRESS " off a line that ends. */
static bool take_address(const char **at, uint64_t *address)
{
	const char *end = hex_take(*at, address);
	if (!end || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static void take_word(const char **at, const char *end, char *word, size_t capacity)
{
	size_t size = 0;
	for (; *at < end && **at != '\t' && **at != ' ' && **at != '\n'; ++*at)
		if (size + 1 < capacity)
			word[size++] = **at;
	word[size] = '\0';
	while (*at < end && (**at == '\t' || **at == ' '))
		++*at;
}

/* The line up to `end`, its newline among it. */
static bool read_function(const char *at, const char *end, struct function *function)
{
	if (!take_address(&at, &function->address) || end - at < 3 ||
	    !kernel_demerits(at[0], &function->demerits) || at[1] != ' ')
		return false;
	at += 2;
	take_word(&at, end, function->name, sizeof(function->name));
	take_word(&at, end, function->module, sizeof(function->module));
	return function->name[0] && function->address;
}

/* ---- looking up ---- */

/* The first line of a higher address; the end. NULL: what is between makes no sense. */
static const char *line_behind(const struct kept_names *names, uint64_t address)
{
	const char *low = names->first, *high = names->end;
	while (low < high) {
		const char *line = line_start(names, low + (high - low) / 2);
		const char *end = line && line >= low ? line_end(line, high) : NULL;
		const char *at = line;
		uint64_t start;
		if (!end || !take_address(&at, &start))
			return NULL;
		if (start <= address)
			low = end;
		else
			high = line;
	}
	return low;
}

/* The best name of the address that the line has, out of it and those behind it. */
static bool choose(const struct kept_names *names, const char *line, struct function *chosen)
{
	struct function other;
	const char *end = line < names->end ? line_end(line, names->end) : NULL;
	if (!end || !read_function(line, end, chosen))
		return false;
	for (int i = 0; i < ALIASES_MAX && end < names->end; i++) {
		line = end;
		end = line_end(line, names->end);
		if (!end || !read_function(line, end, &other) || other.address != chosen->address)
			break;
		if (kernel_is_better(other.name, other.demerits, chosen->name, chosen->demerits))
			*chosen = other;
	}
	return true;
}

bool kept_names_find(struct kept_names *names, uint64_t address, struct symbol_hit *hit)
{
	struct function *found = &names->found, *next = &names->next;
	const char *behind = line_behind(names, address);
	const char *at = behind && behind > names->first ? line_start(names, behind - 1) : NULL;
	uint64_t start;
	if (!at || !take_address(&at, &start) || !start)
		return false;
	const char *first = line_behind(names, start - 1); /* of its names' lines */
	/* In a text that is not in order another line may be there. */
	if (!first || !choose(names, first, found) || found->address != start)
		return false;
	const bool has_next = choose(names, behind, next);
	const bool is_same_module = has_next && !strcmp(found->module, next->module);
	if (address >=
	    kernel_function_end(found->address, has_next ? next->address : 0, is_same_module, 0))
		return false;
	const bool is_prefix = has_next && kernel_is_prefix(found->name, next->name);
	*hit = (struct symbol_hit){
		.name = is_prefix ? next->name : found->name,
		.module = found->module[0] ? found->module : NULL,
		.start = found->address,
	};
	return true;
}

bool kept_names_code(const struct kept_names *names, uint64_t *start, uint64_t *end)
{
	static const char mark[] = KERNEL_NAMES_CODE;
	const size_t size = sizeof(mark) - 1;
	const char *at = names->end, *behind = (const char *)names->text + names->bytes;
	if ((size_t)(behind - at) < size || memcmp(at, mark, size) != 0 || !line_end(at, behind))
		return false;
	at += size;
	return take_address(&at, start) && take_address(&at, end) && *start && *start < *end;
}

/* ---- its life ---- */

/* Lines that begin with # are before the functions and behind them. */
static bool find_functions(struct kept_names *names)
{
	const char *text = names->text, *end = text + names->bytes, *at = text;
	while (at && at < end && *at == '#')
		at = line_end(at, end);
	names->first = at;
	for (names->end = end; at && names->end > at;) {
		const char *line = line_start(names, names->end - 1);
		if (!line || *line != '#')
			break;
		names->end = line;
	}
	return at && at < names->end && names->end[-1] == '\n';
}

int kept_names_open(int fd, struct kept_names **names)
{
	struct stat status;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    status.st_size < (off_t)sizeof(first_line) - 1)
		return -EINVAL;
	struct kept_names *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->bytes = (size_t)status.st_size;
	opened->text = mmap(NULL, opened->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	int result = opened->text == MAP_FAILED ? -errno : 0;
	if (result)
		opened->text = NULL;
	else if (memcmp(opened->text, first_line, sizeof(first_line) - 1) != 0)
		result = -EINVAL;
	else if (!find_functions(opened))
		result = -ENODATA;
	if (result)
		kept_names_free(opened);
	else
		*names = opened;
	return result;
}

void kept_names_free(struct kept_names *names)
{
	if (names && names->text)
		munmap(names->text, names->bytes);
	free(names);
}

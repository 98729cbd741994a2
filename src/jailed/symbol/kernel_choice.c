/* SPDX-License-Identifier: MIT */
#include "kernel_choice.h"

#include <string.h>

#include <ctop/symbol/hit.h>

/* Behind the last function before a gap there is no end to be seen. */
enum { FUNCTION_MAX_BYTES = 1 << 20, KERNEL_PAGE_BYTES = 4096 };

/* perf's order: weak ones last, then local ones. */
bool kernel_demerits(char type, unsigned *demerits)
{
	*demerits = type == 'T' ? 0 : type == 't' ? 1 : 2;
	return type == 'T' || type == 't' || type == 'W' || type == 'w';
}

bool kernel_is_better(const char *name, unsigned demerits, const char *than, unsigned than_demerits)
{
	const struct symbol_choice choice = {name, demerits}, other = {than, than_demerits};
	return symbol_choice_compare(&choice, &other) < 0;
}

bool kernel_is_prefix(const char *name, const char *of_next)
{
	static const char prefix[] = "__pfx_";
	return strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
	       strcmp(name + sizeof(prefix) - 1, of_next) == 0;
}

uint64_t kernel_function_end(uint64_t start, uint64_t next, bool is_same_module,
			     uint64_t more_bytes)
{
	uint64_t page_end = (start | (KERNEL_PAGE_BYTES - 1)) + more_bytes + 1;
	if (page_end < start)
		page_end = UINT64_MAX;
	const bool is_next =
		next && (next < page_end || (next - start <= FUNCTION_MAX_BYTES && is_same_module));
	return is_next ? next : page_end;
}

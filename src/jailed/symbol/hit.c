/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/hit.h>

#include <string.h>

/* Length without a version: "fork@@GLIBC_2.2.5" is no better a name than
 * "fork". */
static size_t shown_size(const char *name)
{
	size_t size = strnlen(name, SYMBOL_NAME_MAX);
	const char *at = memchr(name, '@', size);
	return at ? (size_t)(at - name) : size;
}

int symbol_choice_compare(const struct symbol_choice *a, const struct symbol_choice *b)
{
	if (a->demerits != b->demerits)
		return a->demerits < b->demerits ? -1 : 1;
	size_t a_underscores = strspn(a->name, "_"), b_underscores = strspn(b->name, "_");
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	size_t a_size = shown_size(a->name), b_size = shown_size(b->name);
	if (a_size != b_size)
		return a_size > b_size ? -1 : 1;
	return strncmp(a->name, b->name, SYMBOL_NAME_MAX); /* the same in every run */
}

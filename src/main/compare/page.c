/* SPDX-License-Identifier: MIT */
#include <ctop/compare/text.h>

#include <errno.h>

#include <ctop/format/page.h>

#include "internal.h"

/*
 * A comparison as a page. Its data (format/page.h), as ui/html/diff_data.js reads it; values are doubles, shares of A's whole:
 *
 *     version; of ctop, names of A and B, header; how A was measured, how B was
 *     functions   what it is, name, name in A, module, module in A ("": the same), self, total
 *     nodes       from 0 on, which is all; the others begin with how far before it its caller is, and its function.
 *                 What ends there in A and in B, the noise of what passes it, and what that says
 *
 * A value is that of A, of B, its noise, and what that says.
 */

enum { PAGE_DATA_VERSION = 1 };
enum { IS_LABEL = 1, IS_KERNEL = 2, IN_A = 4, IN_B = 8 };
enum { IS_TESTED = 1, IS_BEYOND = 2 };

static void put_noise(struct page *page, const struct noise_value *value)
{
	page_double(page, value->noise);
	page_number(page,
		    (value->tested ? IS_TESTED : 0u) | (value->beyond ? (unsigned)IS_BEYOND : 0u));
}

static void put_value(struct page *page, const struct noise_value *value)
{
	page_double(page, value->a);
	page_double(page, value->b);
	put_noise(page, value);
}

static void put_head(struct page *page, const struct compare_words *words,
		     const struct text *header)
{
	page_number(page, PAGE_DATA_VERSION);
	page_text(page, CTOP_VERSION);
	for (size_t side = 0; side < NR_COMPARE_SIDES; side++)
		page_name(page, words->names[side]);
	page_text_of(page, header);
	for (size_t side = 0; side < NR_COMPARE_SIDES; side++)
		page_text(page, words->measured[side]);
}

static int put_functions(const struct compare *compare, struct page *page)
{
	int result = 0;
	page_number(page, compare->functions.nr);
	for (uint32_t i = 0; !result && i < compare->functions.nr; i++) {
		const struct compare_function function = compare_measured(compare, i);
		page_number(page, (compare->functions.items[i].label ? IS_LABEL : 0u) |
					  (function.kernel ? (unsigned)IS_KERNEL : 0u) |
					  (function.in_a ? (unsigned)IN_A : 0u) |
					  (function.in_b ? (unsigned)IN_B : 0u));
		page_name(page, function.name);
		page_name(page, function.name_in_a);
		page_name(page, function.module);
		page_name(page, function.module_in_a);
		put_value(page, &function.self);
		put_value(page, &function.total);
		result = page_offer(page);
	}
	return result;
}

static int put_nodes(const struct compare *compare, struct page *page)
{
	int result = 0;
	page_number(page, compare->paths.nr - 1);
	for (uint32_t i = 0; !result && i < compare->paths.nr; i++) {
		const struct path_row *path = &compare->paths.items[i];
		const struct compare_function function = compare_path(compare, i);
		if (i) {
			page_number(page, i - path->parent);
			page_number(page, path->function);
		}
		page_double(page, function.self.a);
		page_double(page, function.self.b);
		put_noise(page, &function.total);
		result = page_offer(page);
	}
	return result;
}

int compare_page(struct compare *compare, const struct compare_words *words,
		 const struct options *options, const struct export_sink *sink)
{
	struct page *page = page_new(PAGE_DIFF, sink);
	struct text header = {0};
	int result = page ? page_begin(page) : -ENOMEM;
	if (!result) {
		compare_header(compare, words, options, &header);
		put_head(page, words, &header);
		result = put_functions(compare, page);
	}
	if (!result)
		result = put_nodes(compare, page);
	if (!result)
		result = page_end(page);
	text_release(&header);
	page_free(page);
	return result;
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_HTML_PAGE_H
#define CTOP_FORMAT_HTML_PAGE_H

/* The pages of ui/html, each up to its data and from there on: made by the build (ui/html/html.mk), in the order of enum page_kind. */

#include <stddef.h>

struct html_page {
	const unsigned char *head, *tail;
	size_t head_bytes, tail_bytes;
};
extern const struct html_page html_pages[];

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_PAGE_H
#define CTOP_FORMAT_PAGE_H

/*
 * A page for a browser, as one file: style and scripts from ui/html, and in front of the scripts the data, as text that no browser
 * takes for anything else: base64 of gzip of what the page's script reads, numbers as varints, texts counted UTF-8 that is safe to
 * show. Nothing in it is taken for markup.
 *
 *     page_begin(); page_number(), page_name(), ...; page_offer() now and then; page_end(); page_free()
 */

#include <stdint.h>

#include <ctop/format/formats.h>

enum page_kind { PAGE_PROFILE, PAGE_DIFF, NR_PAGE_KINDS };

struct page;

/* The sink is borrowed. NULL: out of memory. */
struct page *page_new(enum page_kind kind, const struct export_sink *sink);
void page_free(struct page *page); /* NULL is fine */
int page_begin(
	struct page *page); /* hands over what comes before the data; 0 or what the sink said */
int page_end(struct page *page); /* the rest; 0, -ENOMEM or what the sink said */

void page_number(struct page *page, uint64_t number);
void page_signed(struct page *page, int64_t number);
void page_double(struct page *page, double number); /* 8 bytes, low ones first */
void page_text(struct page *page, const char *safe);
void page_text_of(struct page *page, const struct text *safe); /* if that failed, page_end() does */
void page_name(struct page *page, const char *untrusted);      /* NULL: an empty one */
/* Hands over what has come together, once it is a whole piece. 0, -ENOMEM or what the sink said. */
int page_offer(struct page *page);
/* The same at once; then these bytes, as they are. */
int page_bytes(struct page *page, const void *bytes, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#include <ctop/format/page.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/recording/varint.h>

#include "base64.h"
#include "gzip.h"
#include "html_page.h"

enum { PIECE_BYTES = 1 << 16 };

struct page {
	enum page_kind kind;
	const struct export_sink *sink;
	struct base64 base64;
	struct export_sink packed; /* writes into base64 */
	struct gzip *gzip;
	struct buffer out;
	struct text scratch;
};

struct page *page_new(enum page_kind kind, const struct export_sink *sink)
{
	struct page *page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->kind = kind;
	page->sink = sink;
	page->base64.sink = sink;
	page->packed = base64_sink(&page->base64);
	page->gzip = gzip_new(&page->packed);
	if (!page->gzip) {
		page_free(page);
		return NULL;
	}
	return page;
}

void page_free(struct page *page)
{
	if (!page)
		return;
	gzip_free(page->gzip);
	buffer_release(&page->out);
	text_release(&page->scratch);
	free(page);
}

static int flush(struct page *page)
{
	int result =
		page->out.failed ? -ENOMEM : gzip_add(page->gzip, page->out.bytes, page->out.size);
	page->out.size = 0;
	return result;
}

int page_begin(struct page *page)
{
	const struct html_page *frame = &html_pages[page->kind];
	return page->sink->write(page->sink->context, frame->head, frame->head_bytes);
}

int page_end(struct page *page)
{
	const struct html_page *frame = &html_pages[page->kind];
	int result = flush(page);
	if (!result)
		result = gzip_end(page->gzip);
	if (!result)
		result = base64_end(&page->base64);
	return result ? result
		      : page->sink->write(page->sink->context, frame->tail, frame->tail_bytes);
}

void page_number(struct page *page, uint64_t number)
{
	put_varint(&page->out, number);
}

void page_signed(struct page *page, int64_t number)
{
	put_signed(&page->out, number);
}

void page_double(struct page *page, double number)
{
	uint8_t bytes[sizeof(number)];
	uint64_t bits;
	memcpy(&bits, &number, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	buffer_add(&page->out, bytes, sizeof(bytes));
}

void page_text(struct page *page, const char *safe)
{
	put_string(&page->out, safe, strlen(safe));
}

void page_text_of(struct page *page, const struct text *safe)
{
	page->out.failed |= safe->failed;
	page_text(page, text_string(safe));
}

void page_name(struct page *page, const char *untrusted)
{
	text_clear(&page->scratch);
	text_add_safe(&page->scratch, untrusted ? untrusted : "");
	page_text_of(page, &page->scratch);
}

int page_offer(struct page *page)
{
	return page->out.size < PIECE_BYTES && !page->out.failed ? 0 : flush(page);
}

int page_bytes(struct page *page, const void *bytes, size_t size)
{
	int result = flush(page);
	return result ? result : gzip_add(page->gzip, bytes, size);
}

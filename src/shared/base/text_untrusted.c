/* SPDX-License-Identifier: MIT */
#include <ctop/base/text.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "utf8.h"

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/* Characters that reorder what stands around them, or end a line without being a control. */
static bool reorders_or_breaks(uint32_t code)
{
	return code == 0x061c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Of eight bytes, all of plain ASCII: none has its high bit, is below ' ', or is DEL. */
static bool are_plain(const char *at)
{
	const uint64_t high = UINT64_C(0x8080808080808080), one = UINT64_C(0x0101010101010101);
	uint64_t bytes;
	memcpy(&bytes, at, sizeof(bytes));
	return !((bytes | (bytes - ' ' * one) | (bytes + one)) & high);
}

/* Past plain ASCII, which most text is all of. */
static const char *skip_plain(const char *at, const char *end)
{
	while (end - at >= (ptrdiff_t)sizeof(uint64_t) && are_plain(at))
		at += sizeof(uint64_t);
	while (*at >= 0x20 && *at < 0x7f)
		at++;
	return at;
}

void text_add_safe(struct text *text, const char *untrusted)
{
	const char *harmless = untrusted; /* begin of the run that is copied as it is */
	const char *at = untrusted, *const end = untrusted + strlen(untrusted);
	for (;;) {
		at = skip_plain(at, end);
		struct utf8_char next = utf8_next(at);
		bool harms = next.size && (next.code == UTF8_INVALID || is_control(next.code) ||
					   reorders_or_breaks(next.code));
		if (harms || !next.size)
			text_add_bytes(text, harmless, (size_t)(at - harmless));
		if (!next.size)
			return;
		if (harms) {
			for (unsigned i = 0; i < next.size; i++)
				text_addf(text, "\\x%02x", (unsigned char)at[i]);
			harmless = at + next.size;
		}
		at += next.size;
	}
}

void text_add_ascii(struct text *text, const char *bytes, size_t size)
{
	for (const char *end = bytes + size; bytes < end;) {
		const char *foreign = bytes;
		while (foreign < end && !(*foreign & 0x80))
			foreign++;
		text_add_bytes(text, bytes, (size_t)(foreign - bytes));
		const size_t left = (size_t)(end - foreign);
		const bool ellipsis =
			left >= sizeof("…") - 1 && !memcmp(foreign, "…", sizeof("…") - 1);
		if (foreign < end)
			text_add(text, ellipsis ? "~" : "?");
		/* The first byte of a character, and those that go on with it. */
		for (bytes = foreign + (foreign < end); bytes < end && (*bytes & 0xc0) == 0x80;)
			bytes++;
	}
}

void text_add_json(struct text *text, const char *untrusted)
{
	text_add(text, "\"");
	for (;;) {
		struct utf8_char next = utf8_next(untrusted);
		if (!next.size)
			break;
		if (next.code == UTF8_INVALID)
			text_add(text, "\xef\xbf\xbd"); /* U+FFFD */
		else if (next.code == '"' || next.code == '\\')
			text_addf(text, "\\%c", (char)next.code);
		else if (is_control(next.code) || reorders_or_breaks(next.code))
			text_addf(text, "\\u%04x", next.code);
		else
			text_add_bytes(text, untrusted, next.size);
		untrusted += next.size;
	}
	text_add(text, "\"");
}

size_t text_cols(const char *utf8)
{
	size_t cols = 0;
	for (struct utf8_char next; (next = utf8_next(utf8)).size; utf8 += next.size)
		cols += utf8_cols(next.code);
	return cols;
}

size_t text_fit(const char *utf8, size_t cols)
{
	const char *at = utf8;
	for (struct utf8_char next; (next = utf8_next(at)).size; at += next.size) {
		unsigned wanted = utf8_cols(next.code);
		if (wanted > cols)
			break;
		cols -= wanted;
	}
	return (size_t)(at - utf8);
}

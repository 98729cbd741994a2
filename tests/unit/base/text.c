/* SPDX-License-Identifier: MIT */
#include <iconv.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/text.h>

#include "test.h"

#define CHECK_SAFE(untrusted, wanted)                                                              \
	do {                                                                                       \
		struct text safe_ = {0};                                                           \
		text_add_safe(&safe_, untrusted);                                                  \
		CHECK_STR(text_string(&safe_), wanted);                                            \
		text_release(&safe_);                                                              \
	} while (0)

#define CHECK_JSON(untrusted, wanted)                                                              \
	do {                                                                                       \
		struct text json_ = {0};                                                           \
		text_add_json(&json_, untrusted);                                                  \
		CHECK_STR(text_string(&json_), wanted);                                            \
		text_release(&json_);                                                              \
	} while (0)

static void nothing_added_is_the_empty_string(void)
{
	struct text text = {0};
	CHECK_STR(text_string(&text), "");
	text_add(&text, "");
	CHECK_STR(text_string(&text), "");
	CHECK_EQ(text.size, 0);
	text_release(&text);
	CHECK_STR(text_string(&text), "");
}

static void pieces_are_joined(void)
{
	struct text text = {0};
	text_add(&text, "a");
	text_addf(&text, "-%d-%s", 12, "xyz");
	text_add_bytes(&text, "bcd", 2);
	CHECK_STR(text_string(&text), "a-12-xyzbc");
	CHECK_EQ(text.size, 10);
	text_clear(&text);
	CHECK_STR(text_string(&text), "");
	text_add(&text, "again");
	CHECK_STR(text_string(&text), "again");
	text_release(&text);
}

static void formats_of_every_length_fit(void)
{
	/* Around each doubling of the capacity, where the first try is cut. */
	struct text text = {0};
	char wanted[600];
	for (int length = 0; length < (int)sizeof(wanted); length++) {
		text_release(&text);
		memset(wanted, 'y', (size_t)length);
		wanted[length] = '\0';
		text_addf(&text, "%s", wanted);
		CHECK_STR(text_string(&text), wanted);
		text_addf(&text, "%*d", length, 7);
		CHECK_EQ(text.size, length + (length ? length : 1));
	}
	CHECK(!text.failed);
	text_release(&text);
}

static void a_failure_leaves_the_prefix_without_holes(void)
{
	struct text text = {0};
	volatile size_t impossible = SIZE_MAX;
	text_add(&text, "kept");
	text_add_bytes(&text, "x", impossible);
	CHECK(text.failed);
	text_add(&text, "later");
	text_addf(&text, "%d", 1);
	text_add_safe(&text, "later");
	text_add_json(&text, "later");
	CHECK_STR(text_string(&text), "kept");
	text_clear(&text);
	CHECK(!text.failed);
	text_add(&text, "fresh");
	CHECK_STR(text_string(&text), "fresh");
	text_release(&text);
}

static void harmless_text_stays_as_it_is(void)
{
	CHECK_SAFE("", "");
	CHECK_SAFE("std::map<int, char>::operator[](int&&) const",
		   "std::map<int, char>::operator[](int&&) const");
	CHECK_SAFE("C:\\path \\x1b", "C:\\path \\x1b");
	CHECK_SAFE("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80",
		   "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80");
}

static void controls_are_spelled_out(void)
{
	CHECK_SAFE("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07");
	CHECK_SAFE("a\nb\rc\td", "a\\x0ab\\x0dc\\x09d");
	CHECK_SAFE("\x7f", "\\x7f");
	CHECK_SAFE("\xc2\x9b"
		   "31m",
		   "\\xc2\\x9b31m"); /* C1's CSI */
	CHECK_SAFE("\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
}

static void reordering_and_line_breaks_are_spelled_out(void)
{
	CHECK_SAFE("a\xe2\x80\xae"
		   "b",
		   "a\\xe2\\x80\\xaeb"); /* U+202E */
	CHECK_SAFE("\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	CHECK_SAFE("\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
	CHECK_SAFE("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x80\\x8f");
	CHECK_SAFE("\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"); /* the neighbours */
}

static void invalid_utf8_is_spelled_out(void)
{
	CHECK_SAFE("\x80\xbf", "\\x80\\xbf");			/* no lead byte */
	CHECK_SAFE("\xc0\x80\xc1\xbf", "\\xc0\\x80\\xc1\\xbf"); /* overlong, 2 bytes */
	CHECK_SAFE("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");		/* overlong, 3 */
	CHECK_SAFE("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"); /* overlong, 4 */
	CHECK_SAFE("\xed\xa0\x80", "\\xed\\xa0\\x80");		/* a surrogate */
	CHECK_SAFE("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	CHECK_SAFE("\xf5\xfe\xff", "\\xf5\\xfe\\xff");		/* never used */
	CHECK_SAFE("\xc3", "\\xc3");				/* cut short ... */
	CHECK_SAFE("\xe6\xbc", "\\xe6\\xbc");
	CHECK_SAFE("\xf0\x9f\x98", "\\xf0\\x9f\\x98");
	CHECK_SAFE("\xe6\xbcx", "\\xe6\\xbcx"); /* ... and going on */
	CHECK_SAFE("\xc3\xc3\xbc", "\\xc3\xc3\xbc");
}

/* Whether glibc takes it for UTF-8: an opinion that owes nothing to our decoder. */
static bool iconv_takes(iconv_t utf8, const char *string, size_t size)
{
	char scratch[256];
	char *in = (char *)(uintptr_t)string, *out = scratch;
	size_t in_left = size, out_left = sizeof(scratch);
	iconv(utf8, NULL, NULL, NULL, NULL);
	return iconv(utf8, &in, &in_left, &out, &out_left) != (size_t)-1 && in_left == 0;
}

/* Each byte at each place of a word, at the end of a page. */
static void each_byte_is_seen_wherever_it_stands(void)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK_EQ(munmap(pages + page_bytes, page_bytes), 0);
	for (int byte = 1; byte < 256; byte++)
		for (size_t size = 1; size <= 17; size++)
			for (size_t at = 0; at < size; at++) {
				struct text text = {0}, expected = {0};
				char *string = pages + page_bytes - size - 1;
				memset(string, '~', size);
				string[size] = '\0';
				string[at] = (char)byte;
				text_add_bytes(&expected, string, at);
				if (byte >= ' ' && byte <= '~')
					text_add_bytes(&expected, string + at, 1);
				else
					text_addf(&expected, "\\x%02x", (unsigned)byte);
				text_add(&expected, string + at + 1);
				text_add_safe(&text, string);
				CHECK_STR(text_string(&text), text_string(&expected));
				text_release(&text);
				text_release(&expected);
			}
	munmap(pages, page_bytes);
}

static void any_bytes_come_out_as_harmless_utf8(void)
{
	iconv_t utf8 = iconv_open("UCS-4LE", "UTF-8");
	if (utf8 == (iconv_t)-1)
		SKIP("no iconv for UTF-8");
	struct text text = {0};
	uint64_t state = 1;
	for (unsigned round = 0; round < 300000; round++) {
		/* Every string of two bytes first, then longer ones that lean towards lead bytes. */
		char hostile[9] = {0};
		if (round < 0x10000) {
			hostile[0] = (char)(round >> 8);
			hostile[1] = (char)round;
		} else {
			state = state * 6364136223846793005u + 1442695040888963407u;
			for (unsigned i = 0; i < 8; i++)
				hostile[i] =
					(char)((state >> (8 * i)) | (i & 1 ? 0x80 : 0xc0 & state));
		}
		text_clear(&text);
		text_add_safe(&text, hostile);
		CHECK(!text.failed);
		CHECK(iconv_takes(utf8, text.bytes, text.size));
		for (size_t i = 0; i < text.size; i++)
			CHECK((unsigned char)text.bytes[i] >= 0x20 && text.bytes[i] != 0x7f);
		/* Left alone exactly when it was UTF-8 without anything to hide. */
		if (!iconv_takes(utf8, hostile, strlen(hostile)))
			CHECK(strcmp(text.bytes, hostile) != 0);
		CHECK(text_fit(hostile, 1000) == strlen(hostile));
		CHECK(text_cols(hostile) <= 2 * strlen(hostile));
	}
	text_release(&text);
	iconv_close(utf8);
}

/* Whether a terminal of eight bits takes one of the bytes for a C1 control. */
static bool has_c1(const struct text *text)
{
	for (size_t i = 0; i < text->size; i++)
		if ((unsigned char)text->bytes[i] >= 0x80 && (unsigned char)text->bytes[i] <= 0x9f)
			return true;
	return false;
}

static void c1_is_spelled_out_in_each_charset(void)
{
	/* Each C1 control as a byte of its own, and as UTF-8 has it. */
	for (int code = 0x80; code <= 0x9f; code++) {
		char byte[] = {'a', (char)code, 'b', 0},
		     spelled[] = {'a', '\xc2', (char)code, 'b', 0};
		char wanted[16];
		snprintf(wanted, sizeof(wanted), "a\\x%02xb", code);
		CHECK_SAFE(byte, wanted);
		snprintf(wanted, sizeof(wanted), "a\\xc2\\x%02xb", code);
		CHECK_SAFE(spelled, wanted);
		/* A letter with that byte inside stays, but where bytes are characters. */
		char letter[] = {'a', '\xc4', (char)code, 'b', 0};
		struct text text = {0}, ascii = {0};
		text_add_safe(&text, letter);
		CHECK_STR(text_string(&text), letter);
		CHECK(has_c1(&text));
		text_add_ascii(&ascii, text_string(&text), text.size);
		CHECK_STR(text_string(&ascii), "a?b");
		text_release(&text);
		text_release(&ascii);
	}
	/* Sequences of every length, cut ones, and what begins or ends with one. */
	static const char *const pairs[][2] = {
		{"", ""},
		{"plain\n", "plain\n"},
		{"\xc3\xbc", "?"},
		{"\xe2\x82\xac.", "?."},
		{"\xf0\x9f\x98\x80x\xc3\xbc", "?x?"},
		{"\x9b\x9b", "?"},
		{"a\xff", "a?"},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct text ascii = {0};
		text_add_ascii(&ascii, pairs[i][0], strlen(pairs[i][0]));
		CHECK_STR(text_string(&ascii), pairs[i][1]);
		text_release(&ascii);
	}
}

static void json_quotes(void)
{
	CHECK_JSON("", "\"\"");
	CHECK_JSON("a\"b\\c/", "\"a\\\"b\\\\c/\"");
	CHECK_JSON("\n\x1b\x7f\xc2\x85", "\"\\u000a\\u001b\\u007f\\u0085\"");
	CHECK_JSON("\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\"");
	CHECK_JSON("\xc3\xbc\xf0\x9f\x98\x80", "\"\xc3\xbc\xf0\x9f\x98\x80\"");
	CHECK_JSON("a\xff"
		   "b\xed\xa0\x80",
		   "\"a\xef\xbf\xbd"
		   "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void columns_are_those_of_a_terminal(void)
{
	CHECK_EQ(text_cols(""), 0);
	CHECK_EQ(text_cols("abc"), 3);
	CHECK_EQ(text_cols("\xc3\xbc"), 1);
	CHECK_EQ(text_cols("e\xcc\x81"), 1);				/* e, combining acute */
	CHECK_EQ(text_cols("\xe6\xbc\xa2\xe5\xad\x97"), 4);		/* Han */
	CHECK_EQ(text_cols("\xef\xbc\xa1"), 2);				/* fullwidth A */
	CHECK_EQ(text_cols("\xef\xbd\xb1"), 1);				/* halfwidth katakana */
	CHECK_EQ(text_cols("\xf0\x9f\x98\x80"), 2);			/* an emoji */
	CHECK_EQ(text_cols("\xe2\x80\x8b"), 0);				/* zero width space */
	CHECK_EQ(text_cols("\xc2\xad"), 1);				/* soft hyphen */
	CHECK_EQ(text_cols("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), 2); /* Hangul from its parts */
	CHECK_EQ(text_cols("\xf0\xa0\x80\x80"), 2);			/* plane 2 */
	CHECK_EQ(text_cols("\xe2\x94\x80\xe2\x96\x88"), 2);		/* box drawing, block */
	CHECK_EQ(text_cols("\xf3\xa0\x84\x80"), 0);			/* variation selector 17 */
	CHECK_EQ(text_cols("\xd8\x80"), 1); /* U+0600: a format character that shows */
	CHECK_EQ(text_cols("\xff"), 1);
}

static void what_fits_ends_between_characters(void)
{
	CHECK_EQ(text_fit("abc", 2), 2);
	CHECK_EQ(text_fit("abc", 3), 3);
	CHECK_EQ(text_fit("abc", 99), 3);
	CHECK_EQ(text_fit("", 5), 0);
	CHECK_EQ(text_fit("abc", 0), 0);
	CHECK_EQ(text_fit("\xe6\xbc\xa2\xe5\xad\x97", 3), 3); /* half a character never */
	CHECK_EQ(text_fit("\xe6\xbc\xa2\xe5\xad\x97", 1), 0);
	CHECK_EQ(text_fit("e\xcc\x81x", 1), 3); /* a combining mark stays with its base */
}

int main(void)
{
	RUN(nothing_added_is_the_empty_string);
	RUN(pieces_are_joined);
	RUN(formats_of_every_length_fit);
	RUN(a_failure_leaves_the_prefix_without_holes);
	RUN(harmless_text_stays_as_it_is);
	RUN(controls_are_spelled_out);
	RUN(reordering_and_line_breaks_are_spelled_out);
	RUN(invalid_utf8_is_spelled_out);
	RUN(each_byte_is_seen_wherever_it_stands);
	RUN(any_bytes_come_out_as_harmless_utf8);
	RUN(c1_is_spelled_out_in_each_charset);
	RUN(json_quotes);
	RUN(columns_are_those_of_a_terminal);
	RUN(what_fits_ends_between_characters);
	return test_done();
}

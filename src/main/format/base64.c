/* SPDX-License-Identifier: MIT */
#include "base64.h"

enum { GROUPS = 4096 };

static void put_group(char *out, const uint8_t *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
	for (int i = 0; i < 4; i++)
		out[i] = digits[bits >> (18 - 6 * i) & 63];
}

int base64_add(void *context, const void *bytes, size_t size)
{
	struct base64 *base64 = context;
	const uint8_t *at = bytes, *end = at + size;
	char out[4 * GROUPS];
	int result = 0;
	while (!result && at < end) {
		size_t nr = 0;
		while (nr < GROUPS && at < end) {
			while (base64->nr_left < 3 && at < end)
				base64->left[base64->nr_left++] = *at++;
			if (base64->nr_left < 3)
				break;
			put_group(out + 4 * nr++, base64->left);
			base64->nr_left = 0;
		}
		if (nr)
			result = base64->sink->write(base64->sink->context, out, 4 * nr);
	}
	return result;
}

int base64_end(struct base64 *base64)
{
	char out[4];
	const size_t nr = base64->nr_left;
	if (!nr)
		return 0;
	for (size_t i = nr; i < 3; i++)
		base64->left[i] = 0;
	put_group(out, base64->left);
	for (size_t i = nr; i < 3; i++)
		out[i + 1] = '=';
	base64->nr_left = 0;
	return base64->sink->write(base64->sink->context, out, sizeof(out));
}

struct export_sink base64_sink(struct base64 *base64)
{
	return (struct export_sink){.context = base64, .write = base64_add, .fd = -1};
}

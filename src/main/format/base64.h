/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_BASE64_H
#define CTOP_FORMAT_BASE64_H

/* A sink's bytes as base64 (RFC 4648), in one line. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/format/formats.h>

struct base64 {
	const struct export_sink *sink; /* borrowed */
	uint8_t left[3];
	size_t nr_left; /* bytes that wait for the rest of their group */
};

int base64_add(void *base64, const void *bytes, size_t size); /* 0 or what the sink said */
int base64_end(struct base64 *base64);
/* What writes into it. */
struct export_sink base64_sink(struct base64 *base64);

#endif

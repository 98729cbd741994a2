/* SPDX-License-Identifier: MIT */
#include "numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void add_grouped(struct text *text, uint64_t number)
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	for (int i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			text_add(text, ",");
		text_add_bytes(text, &digits[i], 1);
	}
}

void add_percent(struct text *text, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	if (part < whole && percent > 99.99)
		percent = 99.99;
	if (part && whole && percent < 0.01)
		percent = 0.01;
	text_addf(text, "%.2f", percent);
}

void add_bytes(struct text *text, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	if (bytes < 1024) {
		text_addf(text, "%" PRIu64 " bytes", bytes);
		return;
	}
	double scaled = (double)bytes / 1024;
	size_t unit = 0;
	while (scaled >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
		scaled /= 1024;
		unit++;
	}
	text_addf(text, scaled < 10 ? "%.1f %s" : "%.0f %s", scaled, units[unit]);
}

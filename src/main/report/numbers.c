/* SPDX-License-Identifier: MIT */
#include <ctop/report/numbers.h>

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

/* Three digits that count. */
static void add_scaled(struct text *text, double value, const char *unit)
{
	text_addf(text, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

static void add_time(struct text *text, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms"};
	double value = (double)ns;
	size_t unit = 0;
	for (; unit < sizeof(units) / sizeof(*units) && value >= 999.5; unit++)
		value /= 1000;
	if (unit == 0)
		text_addf(text, "%" PRIu64 " ns", ns);
	else if (unit < sizeof(units) / sizeof(*units))
		add_scaled(text, value, units[unit]);
	else
		text_addf(text, "%.2f s", value);
}

void add_weight(struct text *text, uint64_t weight, enum weight_unit unit)
{
	static const char *const scales[] = {"k", "M", "G", "T", "P", "E"};
	enum { EXACT_BELOW = 10000 };
	if (unit == WEIGHT_NS) {
		add_time(text, weight);
		return;
	}
	if (weight < EXACT_BELOW) {
		add_grouped(text, weight);
	} else {
		double value = (double)weight / 1000;
		size_t scale = 0;
		for (; value >= 999.5; scale++)
			value /= 1000;
		add_scaled(text, value, scales[scale]);
	}
	text_addf(text, " %s", weight_unit_name(unit, weight));
}

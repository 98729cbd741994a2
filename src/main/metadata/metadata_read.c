/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/metadata_read.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t metadata_number(const struct history *history, const char *key)
{
	const char *text = history_info(history, key);
	/* strtoull takes blanks and signs. */
	if (!text || *text < '0' || *text > '9')
		return 0;
	char *end;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

size_t metadata_list(const struct history *history, const char *key, const char **values,
		     size_t max)
{
	char numbered[64];
	size_t nr = 0;
	for (; nr < max; nr++) {
		snprintf(numbered, sizeof(numbered), "%s.%zu", key, nr);
		values[nr] = history_info(history, numbered);
		if (!values[nr])
			break;
	}
	return nr;
}

uint64_t metadata_event_number(const struct history *history, const char *name, size_t event)
{
	char key[64];
	snprintf(key, sizeof(key), "stats.%s.%zu", name, event);
	return metadata_number(history, key);
}

double metadata_share(const struct history *history, size_t event)
{
	enum { PARTS = 1000000 };
	uint64_t parts = metadata_event_number(history, "counted_ppm", event);
	return parts <= PARTS ? (double)parts / PARTS : 0;
}

static bool has_value(const struct history *history, const char *key, const char *value)
{
	const char *known = history_info(history, key);
	return known && !strcmp(known, value);
}

bool metadata_describe_event(const struct history *history, const char *event)
{
	return !event || has_value(history, "event.asked", event) ||
	       has_value(history, "event.opened", event);
}

struct cpu_times metadata_cpu_times(const struct history *history)
{
	const struct cpu_times times = {metadata_number(history, "stats.cpus.busy_ns"),
					metadata_number(history, "stats.cpus.idle_ns"),
					metadata_number(history, "stats.cpus.stolen_ns")};
	/* What is more than a CPU does in 146 years is nonsense. */
	const uint64_t most_ns = UINT64_C(1) << 62;
	return times.busy_ns < most_ns && times.idle_ns < most_ns && times.stolen_ns < most_ns
		       ? times
		       : (struct cpu_times){0};
}

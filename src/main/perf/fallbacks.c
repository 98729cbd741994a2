/* SPDX-License-Identifier: MIT */
/* Where the machine or the user gets less than was asked for: each fallback once, with the events that took it. */
#include "sampler_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int take_fallback(struct sampler *sampler, const struct fallback *fallback,
			 struct error *error)
{
	if (sampler->options.strict) {
		error_set(error, -EPERM, "%s", fallback->line);
		return error_remedy(error, "leave --strict out to profile all the same");
	}
	if (sampler->nr_fallbacks < SAMPLER_MAX_FALLBACKS)
		sampler->fallbacks[sampler->nr_fallbacks++] = *fallback;
	return 0;
}

int sampler_note_fallback(struct sampler *sampler, struct error *error, const char *format, ...)
{
	struct fallback fallback = {0};
	va_list args;
	va_start(args, format);
	vsnprintf(fallback.line, sizeof(fallback.line), format, args);
	va_end(args);
	return take_fallback(sampler, &fallback, error);
}

/* "page-faults, minor-faults and 13 more" */
static void name_events(const struct sampler *sampler, uint64_t events, char *names, size_t size)
{
	enum { NAMED_MOST = 3 };
	const int nr = __builtin_popcountll(events);
	const int nr_named = nr > NAMED_MOST ? NAMED_MOST - 1 : nr;
	size_t used = 0;
	int at = 0;
	names[0] = '\0';
	for (size_t i = 0; i < sampler->options.nr_events && at < nr_named && used < size; i++)
		if (events >> i & 1)
			used += (size_t)snprintf(names + used, size - used, "%s%.60s",
						 at++ ? ", " : "",
						 sampler->options.events[i].asked);
	if (nr > nr_named && used < size)
		snprintf(names + used, size - used, " and %d more", nr - nr_named);
}

static void write_fallback(const struct sampler *sampler, struct fallback *fallback)
{
	char names[FALLBACK_NAMES_BYTES - 2];
	const char *at = strstr(fallback->text, FALLBACK_EVENTS);
	name_events(sampler, fallback->events, names, sizeof(names));
	if (at)
		snprintf(fallback->line, sizeof(fallback->line), "%.*s%s%s",
			 (int)(at - fallback->text), fallback->text, names, at + 1);
	else if (sampler->options.nr_events > 1)
		snprintf(fallback->line, sizeof(fallback->line), "%s: %s", names, fallback->text);
	else
		snprintf(fallback->line, sizeof(fallback->line), "%s", fallback->text);
}

int sampler_note_event_fallback(struct sampler *sampler, size_t event, struct error *error,
				const char *format, ...)
{
	_Static_assert(SAMPLER_MAX_EVENTS <= 64, "a bit each");
	struct fallback fallback = {.events = UINT64_C(1) << event};
	va_list args;
	va_start(args, format);
	vsnprintf(fallback.text, sizeof(fallback.text), format, args);
	va_end(args);
	for (size_t i = 0; i < sampler->nr_fallbacks; i++) {
		if (!sampler->fallbacks[i].text[0] ||
		    strcmp(sampler->fallbacks[i].text, fallback.text) != 0)
			continue;
		sampler->fallbacks[i].events |= fallback.events;
		write_fallback(sampler, &sampler->fallbacks[i]);
		return 0;
	}
	write_fallback(sampler, &fallback);
	return take_fallback(sampler, &fallback, error);
}

size_t sampler_nr_fallbacks(const struct sampler *sampler)
{
	return sampler->nr_fallbacks;
}

const char *sampler_fallback(const struct sampler *sampler, size_t i)
{
	return sampler->fallbacks[i].line;
}

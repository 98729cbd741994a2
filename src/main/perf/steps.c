/* SPDX-License-Identifier: MIT */
/* Where the machine or the user gets less than was asked for: each fallback once, with the events that took it. */
#include "sampler_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int take_step(struct sampler *sampler, const struct step *step, struct error *error)
{
	if (sampler->options.strict) {
		error_set(error, -EPERM, "%s", step->line);
		error_remedy(error, "leave --strict out to profile all the same");
		return -EPERM;
	}
	if (sampler->nr_steps < SAMPLER_MAX_STEPS)
		sampler->steps[sampler->nr_steps++] = *step;
	return 0;
}

int sampler_note_step(struct sampler *sampler, struct error *error, const char *format, ...)
{
	struct step step = {0};
	va_list args;
	va_start(args, format);
	vsnprintf(step.line, sizeof(step.line), format, args);
	va_end(args);
	return take_step(sampler, &step, error);
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

static void write_step(const struct sampler *sampler, struct step *step)
{
	char names[STEP_NAMES_BYTES - 2];
	const char *at = strstr(step->text, STEP_EVENTS);
	name_events(sampler, step->events, names, sizeof(names));
	if (at)
		snprintf(step->line, sizeof(step->line), "%.*s%s%s", (int)(at - step->text),
			 step->text, names, at + 1);
	else if (sampler->options.nr_events > 1)
		snprintf(step->line, sizeof(step->line), "%s: %s", names, step->text);
	else
		snprintf(step->line, sizeof(step->line), "%s", step->text);
}

int sampler_note_event_step(struct sampler *sampler, size_t event, struct error *error,
			    const char *format, ...)
{
	_Static_assert(SAMPLER_MAX_EVENTS <= 64, "a bit each");
	struct step step = {.events = UINT64_C(1) << event};
	va_list args;
	va_start(args, format);
	vsnprintf(step.text, sizeof(step.text), format, args);
	va_end(args);
	for (size_t i = 0; i < sampler->nr_steps; i++) {
		if (!sampler->steps[i].text[0] || strcmp(sampler->steps[i].text, step.text) != 0)
			continue;
		sampler->steps[i].events |= step.events;
		write_step(sampler, &sampler->steps[i]);
		return 0;
	}
	write_step(sampler, &step);
	return take_step(sampler, &step, error);
}

size_t sampler_nr_steps(const struct sampler *sampler)
{
	return sampler->nr_steps;
}

const char *sampler_step(const struct sampler *sampler, size_t i)
{
	return sampler->steps[i].line;
}

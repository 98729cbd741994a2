/* SPDX-License-Identifier: MIT */
/* Tracepoints by a pattern: sched:*, syscalls:sys_enter_?tat:u. */
#include "event_internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

struct matches {
	char pattern[EVENT_TEXT_BYTES];
	struct {
		char (*items)[EVENT_TEXT_BYTES];
		size_t nr, capacity;
	} names;
	bool out_of_memory;
};

static void consider(void *context, enum event_kind kind, const char *name, const char *description)
{
	struct matches *matches = context;
	(void)kind;
	(void)description;
	if (strlen(name) >= EVENT_TEXT_BYTES || fnmatch(matches->pattern, name, FNM_NOESCAPE) != 0)
		return;
	if (vec_reserve(&matches->names, matches->names.nr + 1)) {
		matches->out_of_memory = true;
		return;
	}
	snprintf(matches->names.items[matches->names.nr++], EVENT_TEXT_BYTES, "%s", name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Whether it is written as a tracepoint, and has a wildcard. */
static bool is_pattern(const char *text)
{
	const char *colon = strchr(text, ':');
	return colon && colon != text && !probe_is(text) && !strchr(text, '/') &&
	       strpbrk(text, "*?[");
}

static int parse_each(const struct matches *matches, const char *modifiers, struct event *events,
		      size_t room, struct error *error)
{
	const size_t nr = matches->names.nr;
	int result = 0;
	if (!nr) {
		error_usage(error, "no tracepoint is called '%s'", matches->pattern);
		error_remedy(error, "'ctop list tracepoints' shows what there is");
		return -EINVAL;
	}
	if (nr > room) {
		error_usage(error, "'%s' are %zu events, and there is room for %zu",
			    matches->pattern, nr, room);
		error_remedy(error, "name fewer: 'ctop list \"%s\"' shows them", matches->pattern);
		return -EINVAL;
	}
	for (size_t i = 0; !result && i < nr; i++) {
		char text[2 * EVENT_TEXT_BYTES];
		snprintf(text, sizeof(text), "%s%s", matches->names.items[i], modifiers);
		result = event_parse(text, strlen(text), &events[i], error);
	}
	return result;
}

int event_parse_all(const char *text, size_t size, struct event *events, size_t room, size_t *nr,
		    struct error *error)
{
	char typed[EVENT_TEXT_BYTES];
	struct matches matches = {0};
	const struct catalog_reader reader = {&matches, consider};
	snprintf(typed, sizeof(typed), "%.*s", (int)size, text);
	*nr = 1;
	if (size >= sizeof(typed) || !is_pattern(typed))
		return event_parse(text, size, events, error);
	/* Behind a second colon are modifiers. */
	const char *modifiers = strchr(strchr(typed, ':') + 1, ':');
	const size_t pattern_size = modifiers ? (size_t)(modifiers - typed) : size;
	snprintf(matches.pattern, sizeof(matches.pattern), "%.*s", (int)pattern_size, typed);
	int result = tracepoint_each(&reader);
	if (result == -ENODEV || result == -EACCES)
		tracepoint_advise(matches.pattern, result, error);
	else if (result || matches.out_of_memory)
		result = error_set(error, -ENOMEM, "out of memory");
	if (!result) {
		if (matches.names.nr)
			qsort(matches.names.items, matches.names.nr, EVENT_TEXT_BYTES, by_name);
		result = parse_each(&matches, modifiers ? modifiers : "", events, room, error);
	}
	*nr = matches.names.nr;
	free(matches.names.items);
	return result;
}

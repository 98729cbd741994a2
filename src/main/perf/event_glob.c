/* SPDX-License-Identifier: MIT */
/* Tracepoints by a pattern: sched:*, syscalls:sys_enter_?tat:u, sched:sched_wa?ing/period=10/. */
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

/* What is written as a tracepoint and has a wildcard: its size, in front of terms or modifiers. 0: it is none. */
static size_t pattern_size(const char *text)
{
	const size_t system = strcspn(text, ":/");
	if (!system || text[system] != ':' || probe_is(text))
		return 0;
	const size_t size = system + 1 + strcspn(text + system + 1, ":/");
	return strcspn(text, "*?[") < size ? size : 0;
}

static int parse_each(const struct matches *matches, const char *behind, struct event *events,
		      size_t room, struct error *error)
{
	const size_t nr = matches->names.nr;
	int result = 0;
	if (!nr) {
		error_usage(error, "no tracepoint named '%s'", matches->pattern);
		return error_remedy(error, "'ctop list tracepoints' shows what there is");
	}
	if (nr > room) {
		error_usage(error, "'%s' matches %zu events, and there is room for %zu",
			    matches->pattern, nr, room);
		return error_remedy(error, "name fewer: 'ctop list \"%s\"' shows them",
				    matches->pattern);
	}
	for (size_t i = 0; !result && i < nr; i++) {
		char text[2 * EVENT_TEXT_BYTES];
		snprintf(text, sizeof(text), "%s%s", matches->names.items[i], behind);
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
	const size_t pattern = size < sizeof(typed) ? pattern_size(typed) : 0;
	if (!pattern)
		return event_parse(text, size, events, error);
	snprintf(matches.pattern, sizeof(matches.pattern), "%.*s", (int)pattern, typed);
	int result = tracepoint_each(&reader);
	if (result == -ENODEV || result == -EACCES)
		tracepoint_advise(matches.pattern, result, error);
	else if (result || matches.out_of_memory)
		result = error_set(error, -ENOMEM, "out of memory");
	if (!result) {
		if (matches.names.nr)
			qsort(matches.names.items, matches.names.nr, EVENT_TEXT_BYTES, by_name);
		result = parse_each(&matches, typed + pattern, events, room, error);
	}
	*nr = matches.names.nr;
	free(matches.names.items);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/perf/event.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/perf/pmu.h>

#include "event_internal.h"

/* ---- modifiers ---- */

static int bad_modifiers(const struct event *event, size_t at, struct error *error)
{
	error_marked(error, event->asked, at, "bad modifiers");
	return error_remedy(error, "modifiers are u (user code), k (kernel), h (hypervisor), H (no "
				   "guests), P (most precise) and up to three p, as in cycles:upp");
}

/*
 * Takes the modifiers off the name. Unit masks and tracepoints have colons, too: behind those, only known
 * letters are modifiers; behind a name of perf's everything is.
 */
static int take_modifiers(struct event *event, struct error *error)
{
	char *colon = strrchr(event->name, ':');
	if (!colon)
		return 0;
	struct event named;
	const char *letters = colon + 1;
	size_t at = (size_t)(letters - event->name), nr = strlen(letters);
	*colon = '\0';
	bool is_named = names_find(event->name, &named);
	if (is_named || (nr && strspn(letters, EVENT_MODIFIERS) == nr)) {
		int bad = event_add_modifiers(event, letters, nr);
		return nr && bad < 0
			       ? 0
			       : bad_modifiers(event, at + (size_t)(bad < 0 ? 0 : bad), error);
	}
	*colon = ':';
	return 0;
}

/* ---- names ---- */

/* rNNN: a code for the CPU's own counters, in hexadecimal. */
static bool find_raw(struct event *event)
{
	const char *digits = event->name + 1;
	size_t nr = strlen(digits);
	if (event->name[0] != 'r' || !nr || nr > 16)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (!isxdigit((unsigned char)digits[i]))
			return false;
	event->type = PERF_TYPE_RAW;
	event->config = strtoull(digits, NULL, 16);
	return true;
}

static int unknown(const struct event *event, struct error *error)
{
	char near[EVENT_TEXT_BYTES];
	near_name(event->name, near, sizeof(near));
	int code = error_usage(error, "unknown event '%s'", event->asked);
	if (near[0])
		error_remedy(error, "did you mean '%s'? 'ctop list' shows what there is", near);
	else if (!libpfm_is_here())
		error_remedy(error, "install libpfm4, which knows the CPU's own events by name; "
				    "'ctop list' shows what there is without");
	else
		error_remedy(error, "'ctop list' shows what there is; for example: cycles, "
				    "cpu-clock, page-faults, context-switches");
	return code;
}

/* System calls' tracepoints are given the caller's registers: they count as user code's. */
static bool is_of_calls(const char *name)
{
	static const char calls[] = "syscalls:";
	return !strncmp(name, calls, strlen(calls));
}

static int find_tracepoint(struct event *event, struct error *error)
{
	int result = tracepoint_id(event->name, &event->config);
	event->type = PERF_TYPE_TRACEPOINT;
	event->happens_in_kernel = !is_of_calls(event->name);
	if (!result || libpfm_find(event->name, event))
		return 0;
	return result == -ENODEV || result == -EACCES
		       ? tracepoint_advise(event->name, result, error)
		       : unknown(event, error);
}

/* cycles/period=1000/: what stands in front of the terms is no PMU but an event. */
static bool is_named_by_perf(struct event *event, size_t size)
{
	char name[EVENT_TEXT_BYTES];
	snprintf(name, sizeof(name), "%.*s", (int)size, event->asked);
	return names_find(name, event);
}

/* sched:sched_switch/period=10/: no PMU's name has a colon. */
static int find_tracepoint_with_terms(struct event *event, size_t size, struct error *error)
{
	event->name[size] = '\0';
	int result =
		tracepoint_is(event->name) ? find_tracepoint(event, error) : unknown(event, error);
	return result ? result : pmu_parse_terms(event, error);
}

static int find(struct event *event, struct error *error)
{
	if (probe_is(event->asked))
		return probe_parse(event, error);
	if (breakpoint_is(event->asked))
		return breakpoint_parse(event, error);
	const char *slash = strchr(event->asked, '/');
	if (slash && is_named_by_perf(event, (size_t)(slash - event->asked)))
		return pmu_parse_terms(event, error);
	if (slash && memchr(event->asked, ':', (size_t)(slash - event->asked)))
		return find_tracepoint_with_terms(event, (size_t)(slash - event->asked), error);
	if (slash)
		return pmu_parse(PMU_DEVICES, event, error);
	int result = take_modifiers(event, error);
	if (result)
		return result;
	if (names_find(event->name, event) || find_raw(event))
		return 0;
	if (tracepoint_is(event->name))
		return find_tracepoint(event, error);
	return libpfm_find(event->name, event) ? 0 : unknown(event, error);
}

/* What follows from type and number, whoever named them. */
static void classify(struct event *event)
{
	if (event->type == PERF_TYPE_HARDWARE)
		event->cycles = event->config == PERF_COUNT_HW_CPU_CYCLES;
	if (event->type != PERF_TYPE_SOFTWARE)
		return;
	event->clock = event->config == PERF_COUNT_SW_CPU_CLOCK ||
		       event->config == PERF_COUNT_SW_TASK_CLOCK;
	event->happens_in_kernel = event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
				   event->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
				   event->config == PERF_COUNT_SW_CGROUP_SWITCHES;
}

int event_parse(const char *text, size_t size, struct event *event, struct error *error)
{
	*event = (struct event){.user = true, .kernel = true, .hypervisor = true};
	if (size == 0 || size >= sizeof(event->asked)) {
		error_usage(error, size ? "an event's name is too long" : "an event has no name");
		return error_remedy(error, "for example: -e cycles or -e cpu-clock:u,page-faults");
	}
	memcpy(event->asked, text, size);
	memcpy(event->name, text, size);
	for (size_t i = 0; i < size; i++) {
		if (text[i] && !iscntrl((unsigned char)text[i]))
			continue;
		error_marked(error, event->asked, i, "a control character");
		return error_remedy(error, "for example: -e cycles or -e cpu-clock:u,page-faults");
	}
	int result = find(event, error);
	if (!result)
		classify(event);
	return result;
}

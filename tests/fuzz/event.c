/* SPDX-License-Identifier: MIT */
/*
 * The text behind -e: events of every kind, lists and groups, modifiers. The machine's own files are left out
 * but for /sys/bus/event_source: suggestions and tracefs are replaced.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "main/options/option_values.h"

/* Replaced by the linker. */
void __wrap_near_name(const char *name, char *nearest, size_t size);
int __wrap_tracepoint_id(const char *name, uint64_t *id);

void __wrap_near_name(const char *name, char *nearest, size_t size)
{
	REQUIRE(size > 0);
	REQUIRE(strlen(name) < EVENT_TEXT_BYTES);
	nearest[0] = '\0';
}

int __wrap_tracepoint_id(const char *name, uint64_t *id)
{
	const char *colon = strchr(name, ':');
	REQUIRE(colon && colon > name && colon[1]);
	/* It becomes a path. */
	REQUIRE(!strchr(name, '/') && !strstr(name, ".."));
	*id = 42;
	return strlen(name) % 3 ? 0 : -ENOENT;
}

static void check_event(const struct event *event)
{
	REQUIRE(memchr(event->asked, 0, sizeof(event->asked)));
	REQUIRE(memchr(event->name, 0, sizeof(event->name)) && event->name[0]);
	REQUIRE(memchr(event->probe, 0, sizeof(event->probe)));
	REQUIRE(memchr(event->function, 0, sizeof(event->function)));
	REQUIRE(event->precise <= 3);
	REQUIRE(event->user || event->kernel || event->hypervisor);
	REQUIRE(event->asked_user_only == (event->user && !event->kernel && !event->hypervisor));
	REQUIRE(!event->function[0] || event->probe[0]);
	struct perf_event_attr attr = {0};
	event_fill_attr(event, &attr);
	REQUIRE(attr.type == event->type && attr.config == event->config);
}

/* What was taken as one event is one by itself, the same but for what its group added. */
static void check_again(const struct event *event)
{
	struct event again;
	struct error error = {0};
	REQUIRE(event_parse(event->asked, strlen(event->asked), &again, &error) == 0);
	REQUIRE(again.type == event->type && again.config == event->config &&
		again.config1 == event->config1 && again.config2 == event->config2);
	REQUIRE(!strcmp(again.name, event->name) && !strcmp(again.probe, event->probe));
	REQUIRE(event->group || (again.user == event->user && again.kernel == event->kernel &&
				 again.precise == event->precise));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct options options;
	struct error error = {0};
	/* As the command line gives it: without a NUL inside, with one behind. */
	char *text = malloc(size + 1);
	REQUIRE(text != NULL);
	memcpy(text, bytes, size);
	text[size] = '\0';
	memset(&options, 0, sizeof(options));
	/* Behind a line's end, which no event has, a filter for them. */
	char *filter = strchr(text, '\n');
	if (filter)
		*filter++ = '\0';
	int result = parse_events("-e", text, &options, &error);
	REQUIRE(result <= 0 && options.nr_events <= SAMPLER_MAX_EVENTS);
	REQUIRE(!result == (error.cause[0] == '\0'));
	REQUIRE(!result || (error.exit_code && error.remedy[0]));
	REQUIRE(result || options.nr_events > 0);
	for (size_t i = 0; !result && i < options.nr_events; i++) {
		const struct event *event = &options.events[i];
		check_event(event);
		check_again(event);
		REQUIRE(event->group <= i + 1);
		REQUIRE(!event->group || event->group == i + 1 ||
			event->group == options.events[i - 1].group);
	}
	struct error wrong = {0};
	if (!result && filter && parse_trace_filter("--filter", filter, &options, &wrong))
		REQUIRE(wrong.cause[0] && wrong.remedy[0] && wrong.exit_code);
	free(text);
	return 0;
}

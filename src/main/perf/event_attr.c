/* SPDX-License-Identifier: MIT */
/* An event as the kernel is asked for it, whoever named it. */
#include <ctop/perf/event.h>

int event_add_modifiers(struct event *event, const char *letters, size_t nr_letters)
{
	bool user = false, kernel = false, hypervisor = false;
	for (size_t i = 0; i < nr_letters; i++) {
		if (letters[i] == 'u')
			user = true;
		else if (letters[i] == 'k')
			kernel = true;
		else if (letters[i] == 'h')
			hypervisor = true;
		else if (letters[i] == 'H')
			event->host_only = true;
		else if (letters[i] == 'P')
			event->most_precise = true;
		else if (letters[i] == 'p' && event->precise < 3)
			event->precise++;
		else
			return (int)i;
	}
	/* Precision alone leaves everything in. */
	if (!user && !kernel && !hypervisor)
		return -1;
	event->user = user;
	event->kernel = kernel;
	event->hypervisor = hypervisor;
	event->asked_user_only = user && !kernel && !hypervisor;
	return -1;
}

void event_fill_attr(const struct event *event, struct perf_event_attr *attr)
{
	attr->type = event->type;
	attr->config = event->config;
	const char *probe = event->probe_place[0] ? event->probe_place : event->probe;
	attr->config1 = probe[0] ? (uint64_t)(uintptr_t)probe : event->config1;
	attr->config2 = event->config2;
	attr->bp_type = event->breakpoint;
}

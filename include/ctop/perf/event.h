/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_EVENT_H
#define CTOP_PERF_EVENT_H

/*
 * Event names to perf_event_attr. The only user of libpfm4 (which names what
 * the table of common events does not). Main only; opens nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include <ctop/base/error.h>

struct event {
	char asked[128]; /* as typed */
	char name[128];	 /* without modifiers: "cycles" */
	uint32_t type;
	uint64_t config, config1, config2;
	bool user, kernel;    /* :u, :k; both when no modifier */
	bool hypervisor;      /* :h; with the kernel when no modifier */
	uint8_t precise;      /* number of p's */
	bool clock;	      /* cpu-clock, task-clock: period in ns */
	bool cycles;	      /* has a stand-in when the machine has no counters */
	bool asked_user_only; /* ":u" was typed, so user-only is no step down */
};

/*
 * Parses one "name[:mods]", mods of the letters u, k, h and up to three p. 0 or -EINVAL with cause, remedy
 * (near misses) and exit code 2. That it is known does not mean that this machine can count it.
 */
int event_parse(const char *text, size_t size, struct event *event, struct error *error);

/*
 * Nanoseconds for a number of cycles at this CPU's frequency, at least 1; *assumed when nothing told
 * it (3 GHz then). *source names the origin for the message, a static string.
 */
uint64_t event_cycles_to_ns(uint64_t cycles, bool *assumed, const char **source);

/* Calls each(name, description) for the events that have names of their own here. */
void event_each_common(void (*each)(void *context, const char *name, const char *description),
		       void *context);

#endif

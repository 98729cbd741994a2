/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_EVENT_H
#define CTOP_PERF_EVENT_H

/*
 * Event names to perf_event_attr: perf's own names (cycles, L1-dcache-load-misses), rNNN, what sysfs
 * describes (pmu/config=1,name/), tracepoints (sched:sched_switch), probes (uprobe:/path:function), and
 * what libpfm4 knows for this CPU. Main only; opens no event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include <ctop/base/error.h>

enum { EVENT_TEXT_BYTES = 256 };
#define EVENT_MODIFIERS "ukhHpP"

struct event {
	char asked[EVENT_TEXT_BYTES]; /* as typed */
	char name[EVENT_TEXT_BYTES];  /* without modifiers: "cycles" */
	uint32_t type;
	uint64_t config, config1, config2;
	uint32_t
		breakpoint; /* which accesses, HW_BREAKPOINT_*: to config1, of config2 bytes; 0: it is none */
	/*
	 * A probe's file (uprobe) or function (kprobe), instead of config1; "" for all others. A file without a slash is
	 * a library or program that is still to be found.
	 */
	char probe[EVENT_TEXT_BYTES];
	/* The file of a uprobe as the kernel gets it, where it is not to be found by the name that probe has; else "". */
	char probe_place[32];
	/* A uprobe's function: config2, its offset in the file, is still to be found; then "". */
	char function[EVENT_TEXT_BYTES];
	const char *
		filter; /* of a tracepoint's fields, as the kernel takes it; borrowed; NULL: all hits */
	bool user, kernel;	       /* :u, :k; both when no modifier */
	bool hypervisor;	       /* :h; with the kernel when no modifier */
	uint64_t period, frequency_hz; /* of its own; both 0: as of all others */
	uint8_t precise;	       /* number of p's */
	bool most_precise;	       /* :P: as precise as this machine can be */
	bool host_only;		       /* :H: not what guests of this machine do */
	uint8_t group;		       /* events of one pair of braces have the same; 0: none */
	bool clock;		       /* cpu-clock, task-clock: period in ns */
	bool cycles;		       /* has a stand-in when the machine has no counters */
	bool asked_user_only;	       /* ":u" was typed, so user-only is no fallback */
	bool happens_in_kernel;	       /* a context switch: user code alone shows nothing of it */
	bool happens_in_user;	       /* a uprobe: the kernel alone shows nothing of it */
};

/*
 * Parses one event. 0, or -errno with cause and remedy: -EINVAL and exit code 2 for what nobody could open (with near
 * misses, and the place marked), else what keeps ctop from telling (tracefs is not readable). A known
 * event need not be one that this machine can count.
 */
int event_parse(const char *text, size_t size, struct event *event, struct error *error);
/*
 * Parses what may stand for several: a tracepoint with *, ? or [ in it is all that match, by name. *nr: how many
 * events were filled, of at most room, which is 1 or more. 0, or as event_parse().
 */
int event_parse_all(const char *text, size_t size, struct event *events, size_t room, size_t *nr,
		    struct error *error);
/*
 * Of a tracepoint only hits whose fields are so: FIELD OPERATOR VALUE, with &&, ||, ! and parentheses. text is borrowed.
 * 0, or -EINVAL and exit code 2 with the place marked.
 */
int event_set_filter(struct event *event, const char *text, struct error *error);
/*
 * Adds modifiers, letters of EVENT_MODIFIERS, of p up to three, to an event parsed; -1 when all are fine, else the
 * position of the first that is not.
 */
int event_add_modifiers(struct event *event, const char *letters, size_t nr_letters);

/* What of the attributes says which event it is. attr borrows from the event. */
void event_fill_attr(const struct event *event, struct perf_event_attr *attr);

/*
 * Nanoseconds for a number of cycles at this CPU's frequency, at least 1; *assumed when nothing told
 * it (3 GHz then). *source names the origin for the message, a static string.
 */
uint64_t event_cycles_to_ns(uint64_t cycles, bool *assumed, const char **source);

#endif

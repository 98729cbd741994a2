/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_EVENT_INTERNAL_H
#define CTOP_PERF_EVENT_INTERNAL_H

/*
 * The sources of event names, one per file: event_names.c (tables), event_libpfm.c, event_probe.c,
 * event_glob.c, tracefs.c, pmu.c; event_near.c finds what an unknown one was meant to be.
 */

#include <ctop/perf/catalog.h>
#include <ctop/perf/event.h>

/* ---- event_names.c ---- */

/* perf's names and aliases; those of the caches in any case. */
bool names_find(const char *name, struct event *event);
void names_each(const struct catalog_reader *reader);

/* ---- event_libpfm.c ---- */

/* Whether it is installed: it is loaded when the first name is asked for that nothing else knows. */
bool libpfm_is_here(void);
/* What libpfm4 knows for this CPU, unit masks included. */
bool libpfm_find(const char *name, struct event *event);
void libpfm_each(const struct catalog_reader *reader);

/* ---- event_probe.c ---- */

bool probe_is(const char *text);
/* "uprobe:/path:function" and its kin, with modifiers. 0 or -EINVAL. */
int probe_parse(struct event *event, struct error *error);

/* ---- event_breakpoint.c ---- */

bool breakpoint_is(const char *text);
/* "mem:ADDRESS/LENGTH:rw", with modifiers. 0 or -EINVAL. */
int breakpoint_parse(struct event *event, struct error *error);

/* ---- tracefs.c ---- */

/* Whether a name is written as tracepoints are: "system:name". */
bool tracepoint_is(const char *name);
/* Its number. -ENOENT: there is no such tracepoint; -ENODEV: tracefs is not mounted; -EACCES: not for this user. */
int tracepoint_id(const char *name, uint64_t *id);
/* What it says of its fields; cut at size. 0 or as above. */
int tracepoint_format(const char *name, char *text, size_t size);
/* Where in a record a field of plain numbers is. -ENOENT: it has none of that name; or as above. */
int tracepoint_field(const char *name, const char *field, uint32_t *offset, uint32_t *bytes);
/* 0, -ENODEV or -EACCES. */
int tracepoint_each(const struct catalog_reader *reader);
/* The cause and the remedy for what tracepoint_id() could not find out. Returns code. */
int tracepoint_advise(const char *name, int code, struct error *error);

/* ---- cpu_list.c ---- */

/* How much of the text is a list of CPUs as the kernel reads one: up to the entry that is wrong. */
size_t cpu_list_size(const char *text, size_t size);

/* ---- event_near.c ---- */

/* What was probably meant, of all names; "" when nothing is near. */
void near_name(const char *name, char *nearest, size_t size);

#endif

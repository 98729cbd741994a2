/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_CALL_NAMES_H
#define CTOP_FLIGHT_CALL_NAMES_H

/*
 * Names of system calls with what they are for ("read, pipe:[4711]"), untrusted, each once and by a number, for as long as somebody holds it. Beyond 1 MiB the call alone is named,
 * beyond 2 MiB or 65,535 names a new one is "call ?". Main only.
 */

#include <stdint.h>

struct call_names;

struct call_names *call_names_new(void); /* NULL: out of memory */
void call_names_free(struct call_names *names);

/* Each time that a name is held it is to be let go once. 0: NULL or "". */
uint16_t call_names_hold(struct call_names *names, const char *name);
void call_names_let_go(struct call_names *names, uint16_t number);
/* Borrowed until it is let go. NULL: 0. */
const char *call_names_text(const struct call_names *names, uint16_t number);

uint64_t call_names_bytes(const struct call_names *names);

#endif

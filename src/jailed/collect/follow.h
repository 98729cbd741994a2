/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_FOLLOW_H
#define CTOP_COLLECT_FOLLOW_H

/* What records say of processes: forks, execs, maps, names, exits. */

struct collector;
struct record;

/* 0 or -ENOMEM. */
int follow_record(struct collector *collector, const struct record *record);
/* Main switched the events off: what happens until they are on again comes as no record. */
void follow_forget(struct collector *collector);

#endif

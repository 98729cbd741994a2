/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_LIVE_H
#define CTOP_COLLECT_LIVE_H

/* Code that processes have made, of which main brings copies: the pages that stacks hit. */

#include <ctop/ipc/protocol.h>

struct collector;
struct module;
struct process;
struct record;
struct stack_gap;

/* The module of the process's code, with a place for copies. NULL: it has none, or none are to be had. */
struct module *live_code_of(struct collector *collector, struct process *process);
/* Asks main for what the gap lacks. 0; -ENOBUFS: main cannot be asked now; or what else ended the asking. */
int live_code_ask(struct collector *collector, const struct stack_gap *gap);
/* 0 or -ENOMEM. fd stays the caller's. */
int live_code_answer(struct collector *collector, const struct message_code *answer, int fd);
/* Something was mapped: what was copied there before is of before that. */
void live_code_follow(struct collector *collector, const struct record *record);

#endif

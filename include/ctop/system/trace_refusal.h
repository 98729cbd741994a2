/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_TRACE_REFUSAL_H
#define CTOP_SYSTEM_TRACE_REFUSAL_H

/* Why the kernel keeps from us where a thread waits, which it tells those who may trace it (ptrace(2), Yama). Main only. */

#include <stdbool.h>
#include <stdint.h>

/* Written into recordings. */
enum trace_refusal {
	TRACE_NOT_REFUSED,
	TRACE_REFUSED,		    /* of another user, of a program that hides itself */
	TRACE_REFUSED_TO_OTHERS,    /* kernel.yama.ptrace_scope 1: only who started it may */
	TRACE_REFUSED_TO_USERS,	    /* 2: only root */
	TRACE_REFUSED_TO_ALL,	    /* 3 */
	TRACE_REFUSED_IN_CONTAINER, /* to a root without CAP_SYS_PTRACE */
	TRACE_REFUSED_TO_ROOT,	    /* to one that has it: by a security module */
	NR_TRACE_REFUSALS
};

/* Whether this process may look at those alone that it has started, and none of its children at them: Yama's scope 1, without CAP_SYS_PTRACE. */
bool trace_needs_ancestor(void);
/* As this process is refused now. */
enum trace_refusal trace_refusal_find(void);
/* ptrace_scope (-1: there is no Yama), and what this process is. */
enum trace_refusal trace_refusal_of(int ptrace_scope, bool may_trace_all, bool is_root);
/* The cause, and the remedy behind it: a line's part. Any number may be given; NULL: nothing was refused, or it is not known. */
const char *trace_refusal_words(uint64_t refusal);

#endif

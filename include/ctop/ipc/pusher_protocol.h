/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_PUSHER_PROTOCOL_H
#define CTOP_IPC_PUSHER_PROTOCOL_H

/*
 * Between main and a pusher, a child that posts one body to one server: the question, with the body beside it in memory that nobody
 * can write to, and one report. What it says is the child's word.
 */

#include <stdint.h>

enum { PUSH_URL_MAX = 2048, PUSH_TYPE_MAX = 128, PUSH_WHY_MAX = 128 };

struct push_question {
	uint32_t patience_s;
	char url[PUSH_URL_MAX];
	char type[PUSH_TYPE_MAX]; /* its header Content-Type, whole */
};

struct push_report {
	uint32_t status; /* as HTTP has it; 0: there was no answer */
	int32_t error;	 /* -ENOSYS: no libcurl; else 0 */
	char why[PUSH_WHY_MAX];
};

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_LOOKER_PROTOCOL_H
#define CTOP_SYSTEM_LOOKER_PROTOCOL_H

/* What main and its looker say to each other: one datagram a request, one an answer, the target's bytes beside it in memory that both share. */

#include <stdbool.h>

#include <ctop/system/looker.h>

#include "socket_names.h"

enum looker_kind { LOOKER_LOOK, LOOKER_OBJECT, LOOKER_READ, LOOKER_PIECES };

struct looker_request {
	enum looker_kind kind;
	int32_t pid, tid; /* tid 0: of no thread */
	char state;
	struct sched_stat before;
	struct system_call call;
	size_t size;	  /* bytes at most; of each piece */
	size_t then_size; /* LOOKER_READ: from the second address on, to behind those; 0: it has none */
	size_t nr;	  /* of addresses */
	uint64_t addresses[LOOKER_PIECES_MAX]; /* the datagram ends behind the last one */
};

struct looker_answer {
	int32_t result;	       /* LOOKER_LOOK: 0 or -errno */
	struct wait_look look; /* ... LOOKER_OBJECT: its object */
	uint64_t nr;	       /* LOOKER_READ: bytes, LOOKER_PIECES: pieces, that were read */
};

/* Whether a datagram of that size is an answer to the request: nothing in it is out of range. */
bool looker_answer_is_sane(const struct looker_answer *answer, size_t bytes,
			   const struct looker_request *request);
size_t looker_request_bytes(const struct looker_request *request);
/* What it asks for, as this process may see it. names: NULL: sockets keep their numbers. */
struct looker_answer looker_answer_to(const struct looker_request *request,
				      struct socket_names *names, uint8_t *bytes);
/* The looker's side: answers until main is gone. */
void looker_run(int fd, uint8_t *bytes);

#endif

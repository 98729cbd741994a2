/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_PROBER_PROTOCOL_H
#define CTOP_APP_PROBER_PROTOCOL_H

/* One datagram each way: the question with the file beside it, and the answer (prober.h). */

#include <stdint.h>

#include "prober.h"

struct prober_question {
	uint32_t sum_up; /* 1: the CRC of the whole file; 0: what it says of itself */
};

/* What the child does. */
void prober_look(int fd, const struct prober_question *question, struct prober_answer *answer);

#endif

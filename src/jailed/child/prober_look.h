/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CHILD_PROBER_LOOK_H
#define CTOP_CHILD_PROBER_LOOK_H

/* What a prober does with its one file, whose bytes are untrusted. */

#include <ctop/ipc/prober_protocol.h>

void prober_look(int fd, const struct prober_question *question, struct prober_answer *answer);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_PROBER_H
#define CTOP_FILES_PROBER_H

/*
 * Proof that a file found by name is the right one. A prober is a jailed child that is given one file, answers one
 * question about it, and ends: main itself parses nothing. What it answers is that file's own claim. One that takes
 * longer than 2 s is ended. Questions are asked one after the other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ipc/prober_protocol.h>

typedef void prober_taker(void *context, const struct prober_answer *answer);

struct prober;

struct prober *prober_new(void); /* NULL: out of memory */
void prober_free(struct prober *prober);

/* The answer comes from prober_serve(); fd stays the caller's. 0; -ENOBUFS: too many wait; -ENOMEM, -EMFILE. */
int prober_ask(struct prober *prober, int fd, const struct prober_question *question,
	       prober_taker *taker, void *context);
/* Nobody waits any more for what was asked with that context. */
void prober_forget(struct prober *prober, const void *context);
int prober_fd(const struct prober *prober); /* to poll for POLLIN; -1 while nothing is awaited */
int prober_timeout_ms(const struct prober *prober); /* as opener_timeout_ms() */
void prober_serve(struct prober *prober);

#endif

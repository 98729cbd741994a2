/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_FETCHER_H
#define CTOP_FILES_FETCHER_H

/*
 * Debug files from debuginfod servers. A fetcher is a child that runs as the user who called ctop, without capabilities, asks for one
 * build-id and ends; no other process of ctop connects to anything. It writes what it got into a file of main's that has no name, and
 * is ended before anybody reads that. What came must prove to be the right file (files/prober.h). One at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>

/* fd is the taker's to close, -1 with an error, -errno as in ipc/fetcher_protocol.h. */
typedef void fetcher_taker(void *context, int error, int fd);

struct fetcher;

struct fetcher *
fetcher_new(const char *urls);		    /* as DEBUGINFOD_URLS has them. NULL: out of memory */
void fetcher_free(struct fetcher *fetcher); /* NULL is fine */

/*
 * The answer comes from fetcher_serve(). 0; -ENOBUFS: too many wait, or were asked for; -ECANCELED, also as an answer: the servers
 * were silent twice, one time after the other; -ENOMEM, -EINVAL: no build-id.
 */
int fetcher_ask(struct fetcher *fetcher, const uint8_t *build_id, size_t build_id_size,
		fetcher_taker *taker, void *context);
/* Nobody waits any more for what was asked with that context. */
void fetcher_forget(struct fetcher *fetcher, const void *context);
int fetcher_fd(const struct fetcher *fetcher); /* to poll for POLLIN; -1 while nothing is awaited */
int fetcher_timeout_ms(const struct fetcher *fetcher); /* as opener_timeout_ms() */
void fetcher_serve(struct fetcher *fetcher);
/* Adds what is under way: "debuginfod: 3.4 of 12.0 MiB of 0123abcd, 2 wait"; nothing where nothing is. Safe text. */
void fetcher_tell(const struct fetcher *fetcher, struct text *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_FETCHER_H
#define CTOP_FILES_FETCHER_H

/*
 * Debug files and source files from debuginfod servers. A fetcher is a child that runs as the user who called ctop, without capabilities, asks for one
 * build-id and ends; no other process of ctop connects to anything. It writes what it got into a file of main's that has no name, and
 * is ended before anybody reads that. A debug file must prove to be the right one (files/prober.h); a source file is what the server says. One at
 * a time.
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
/*
 * The same of a source file of the program with that build-id. -ENAMETOOLONG, -EILSEQ: its path is none that a server is sent, since it is as long as
 * FETCH_SOURCE_MAX, or does not begin at the root, or has control characters.
 */
int fetcher_ask_source(struct fetcher *fetcher, const uint8_t *build_id, size_t build_id_size,
		       const char *path, fetcher_taker *taker, void *context);
/* Nobody waits any more for what was asked with that context. */
void fetcher_forget(struct fetcher *fetcher, const void *context);
int fetcher_fd(const struct fetcher *fetcher); /* to poll for POLLIN; -1 while nothing is awaited */
int fetcher_timeout_ms(const struct fetcher *fetcher); /* as opener_timeout_ms() */
void fetcher_serve(struct fetcher *fetcher);
/* Why nothing was fetched, after a comma: "debuginfod has none". */
const char *fetcher_why(int error);
/* Adds what is under way: "debuginfod: 3.4 of 12.0 MiB of 0123abcd, 2 wait", or of a source file's name; nothing where nothing is. Safe text. */
void fetcher_tell(const struct fetcher *fetcher, struct text *out);

#endif

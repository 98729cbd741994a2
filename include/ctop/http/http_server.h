/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HTTP_HTTP_SERVER_H
#define CTOP_HTTP_HTTP_SERVER_H

/*
 * The jailed child of `ctop serve` that speaks HTTP, by libmicrohttpd, with whoever connects. It parses requests alone, never a
 * profile: what is asked for it asks main for (ipc/http_protocol.h), and hands on what comes back.
 */

struct channel;

/* Before the jail, which lets nobody open it later: loads libmicrohttpd, if it is installed. */
void http_prepare(void);

/* Until main is gone. 0 or -errno. */
int http_serve(struct channel *channel);

#endif

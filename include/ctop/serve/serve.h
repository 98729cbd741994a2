/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_SERVE_H
#define CTOP_SERVE_SERVE_H

/*
 * ctop serve, in main: a socket, a jailed child that speaks HTTP on it, and one capture at a time of targets that were fixed when it
 * began. A capture is what `ctop record` and `ctop export` do, as processes of their own that write into memory. Main
 * parses no request: the child's numbers are checked (ipc/http_protocol.h).
 */

#include <ctop/base/error.h>
#include <ctop/options/options.h>

/* Until a signal asks for the end. 0 or -errno with cause and remedy. */
int serve_run(const struct options *options, struct error *error);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_LISTEN_ADDRESS_H
#define CTOP_OPTIONS_LISTEN_ADDRESS_H

/* Where `ctop serve` is asked: --listen, from text to an address. Opens nothing. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include <ctop/base/error.h>

struct listen_address {
	union {
		struct sockaddr any;
		struct sockaddr_un unix_path;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
	} address;
	socklen_t size;
	bool is_tcp;   /* else a unix socket */
	uint16_t port; /* 0: the kernel is to choose one */
};

/*
 * "unix:PATH", "127.0.0.1:PORT", "[::1]:PORT", "localhost:PORT"; PORT may be 0. 0, or -EINVAL with cause and remedy: only this machine's own
 * addresses are taken.
 */
int listen_address_parse(const char *text, struct listen_address *address, struct error *error);

#endif

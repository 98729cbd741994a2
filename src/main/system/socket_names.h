/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_SOCKET_NAMES_H
#define CTOP_SYSTEM_SOCKET_NAMES_H

/*
 * Sockets by where they lead: "socket:[4711]", as /proc/PID/fd calls one, is "tcp 10.0.0.5:40212->10.0.0.7:5432", "tcp *:80 (listening)" or
 * "unix /run/postgresql/.s.PGSQL.5432" by /proc/PID/net/{tcp,tcp6,udp,udp6,unix} (proc_pid_net(5)), of the network namespace that the process is in. A client's end of a unix
 * socket has no name there, nor has one that is not bound: these stay as they are. Of the looker. A name is what the sockets' makers say: whoever may bind a unix socket in that namespace, to a path
 * with a line end in it, can name sockets that none of these files has (netlink, packet, raw).
 *
 * Those files are read at once and remembered, of the last four namespaces: 16,384 sockets of each, for 20 ms of CPU time at a time, and a 50th of a CPU at most. What is beyond, or
 * younger, has no name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct socket_names;

enum { SOCKET_NAME_BYTES = 128 };

struct socket_names *socket_names_new(void); /* NULL: out of memory */
void socket_names_free(struct socket_names *names);
/* Names the sockets in a text of a process's descriptors ("one of 3: socket:[12], pipe:[4], ..."), cut where there is no room. */
void socket_names_put(struct socket_names *names, int32_t pid, char *text, size_t size);

/* ---- for tests, and the fuzzer ---- */

enum socket_file { SOCKET_TCP, SOCKET_TCP6, SOCKET_UDP, SOCKET_UDP6, SOCKET_UNIX, NR_SOCKET_FILES };

/* A line of such a file, without its end: the socket's inode and, safe and cut, its name, "" of a unix socket that has none. False: it says of none. */
bool socket_line_parse(enum socket_file file, const char *line, uint64_t *inode,
		       char name[SOCKET_NAME_BYTES]);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_PUSHER_H
#define CTOP_SERVE_PUSHER_H

/*
 * Profiles on their way to a Pyroscope server (POST /ingest), oldest first: one at a time, each by a child that connects as the user who called
 * ctop. Those that could not be sent wait, 32 of them and 64 MiB at most, and are tried again ever later, up to five minutes
 * apart. What is dropped is counted and said.
 */

#include <ctop/base/error.h>
#include <ctop/jail/jail.h>

enum { PUSH_QUEUE_MOST = 32 };

struct push_waiting {
	int fd; /* the body, sealed */
	uint64_t bytes;
	char query[256]; /* its part of the URL */
};

struct push_counts {
	uint64_t sent, refused, dropped, retried;
};

struct pusher {
	const char *url; /* NULL: nothing is pushed */
	struct push_waiting queue[PUSH_QUEUE_MOST];
	size_t nr;
	uint64_t bytes;
	struct jail_child child; /* pid 0: none runs */
	uint64_t until_ns;	 /* of the child */
	uint64_t due_ns;	 /* the next try */
	unsigned nr_failed;	 /* in a row */
	uint64_t told_dropped;	 /* of counts.dropped, when it was said last */
	struct push_counts counts;
};

void pusher_init(struct pusher *pusher, const char *url);
/* A profile (pprof), borrowed, of that time: seconds of the wall's clock. */
void pusher_add(struct pusher *pusher, int profile_fd, int64_t from_s, int64_t until_s);
/* What is due. 0, or -errno with the cause: it can never work. */
int pusher_serve(struct pusher *pusher, struct error *error);
/* To be polled for reading; -1: nothing is under way. */
int pusher_fd(const struct pusher *pusher);
/* Until pusher_serve() is to be called whatever comes; -1: never. */
int pusher_timeout_ms(const struct pusher *pusher);
/* Ends what is under way, and says what has not been sent. */
void pusher_release(struct pusher *pusher);

#endif

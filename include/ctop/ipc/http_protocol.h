/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_HTTP_PROTOCOL_H
#define CTOP_IPC_HTTP_PROTOCOL_H

/*
 * Between main and the child that speaks HTTP for `ctop serve`. Main sends the rules with the listening socket beside them, then
 * answers; the child asks, by numbers alone. What it asks is untrusted: http_ask_is_sane() before anything is made of it. What
 * a client is answered lies in memory of main's that nobody can write to any more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_TOKEN_LEAST = 16, HTTP_TOKEN_MAX = 255 };
/* What a request may ask for. */
enum {
	HTTP_LEAST_MS = 100,
	HTTP_MOST_MS = 300 * 1000,
	HTTP_MOST_HZ = 4999,
	HTTP_DEFAULT_HZ = 99,
};

enum http_endpoint {
	HTTP_HEALTH, /* answered by the child itself */
	HTTP_METRICS,
	HTTP_PROFILE,
	HTTP_FGPROF,
	HTTP_FGTRACE,
	HTTP_FLAME,
	HTTP_DUMP, /* of a flight recorder; on unix sockets alone */
	NR_HTTP_ENDPOINTS
};

/* Of HTTP_FGPROF. */
enum http_format { HTTP_PPROF, HTTP_FOLDED, NR_HTTP_FORMATS };

struct http_endpoint_row {
	const char *path;
	const char *name;    /* in metrics */
	uint32_t default_ms; /* 0: it samples nothing */
	const char *format;  /* of ctop export; NULL: by enum http_format */
	bool waits;	     /* of waiting threads, too */
	bool posts;	     /* it is no GET: something is done */
	const char *type,
		*file; /* of the answer: its content, and what it is to be saved as; NULL: it is to be shown */
};

extern const struct http_endpoint_row http_endpoints[NR_HTTP_ENDPOINTS];
const char *http_method(uint32_t endpoint);

/* Why the child has answered a request by itself, which is then counted. */
enum http_refusal {
	HTTP_BAD_REQUEST,
	HTTP_NO_TOKEN,
	HTTP_OTHER_USER,
	HTTP_CROSS_SITE,
	HTTP_NO_SUCH_PATH,
	HTTP_TOO_MUCH, /* answers that nobody has read yet */
	NR_HTTP_REFUSALS
};

extern const char *const http_refusal_names[NR_HTTP_REFUSALS];

/* To the child. */
struct http_rules {
	uint32_t allowed_uid; /* who may connect to a unix socket, beside root */
	uint16_t port;	      /* 0: it is a unix socket */
	uint16_t has_token;
	char token[HTTP_TOKEN_MAX + 1];
};

enum http_ask_kind {
	HTTP_ASK_READY = 1, /* it listens, or `error` says why not */
	HTTP_ASK_ANSWER,    /* for `id`, which it has made up */
	HTTP_ASK_GONE,	    /* whom `id` was for */
	NR_HTTP_ASKS
};

/* To main. */
struct http_ask {
	uint32_t kind;
	uint32_t endpoint;
	uint64_t id;
	uint32_t duration_ms, hz;
	uint32_t format;
	int32_t pid;   /* 0: of all targets; of HTTP_DUMP the recorder's, 0: the only one */
	int32_t error; /* of HTTP_ASK_READY: 0, -ENOSYS: no libmicrohttpd, or another */
	uint32_t nr_connections;
	uint64_t nr_requests;
	uint64_t refused[NR_HTTP_REFUSALS];
};

enum { HTTP_TEXT_MAX = 1024 };

/* To the child; with a descriptor where the body is in a file. */
struct http_answer {
	uint64_t id;
	uint32_t status; /* as HTTP has it */
	uint32_t retry_after_s;
	char text[HTTP_TEXT_MAX]; /* the body, where there is no file */
};

/* Whether a message of so many bytes from the child is one that main may act on. */
bool http_ask_is_sane(const struct http_ask *ask, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HTTP_REQUEST_H
#define CTOP_HTTP_REQUEST_H

/*
 * One request as the library has taken it apart: whether it is served, and what main is asked for. Everything in it is from who
 * connected, and borrowed until http_request_end(). Opens nothing, knows no connection.
 */

#include <ctop/ipc/http_protocol.h>

struct http_request {
	const struct http_rules *rules;
	const char *method, *path;
	const char *host, *origin, *site, *authorization;
	const char *seconds, *hz, *pid, *format;
	bool has_body;
	const char *twice;   /* a header or an argument that came more than once */
	const char *unknown; /* an argument that there is none of */
};

struct http_verdict {
	unsigned status; /* 200: it is served */
	enum http_refusal refusal;
	struct http_ask ask; /* of what is served */
	char text[256];	     /* of what is not: why, a line of printable ASCII */
};

void http_request_begin(struct http_request *request, const struct http_rules *rules,
			const char *method, const char *path);
/* Names and values may be NULL where the request has none. */
void http_request_header(struct http_request *request, const char *name, const char *value);
void http_request_argument(struct http_request *request, const char *name, const char *value);
void http_request_end(const struct http_request *request, struct http_verdict *verdict);

/* Any refusal; returns false. */
bool http_refuse(struct http_verdict *verdict, unsigned status, enum http_refusal refusal,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif

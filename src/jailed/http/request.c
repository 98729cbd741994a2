/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What of a request is quoted in an answer. */
enum { QUOTED_MOST = 40 };

void http_request_begin(struct http_request *request, const struct http_rules *rules,
			const char *method, const char *path)
{
	*request = (struct http_request){.rules = rules, .method = method, .path = path};
}

static void take(struct http_request *request, const char **field, const char *name,
		 const char *value)
{
	if (*field)
		request->twice = name;
	*field = value ? value : "";
}

void http_request_header(struct http_request *request, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **field;
	} known[] = {
		{"Host", &request->host},
		{"Origin", &request->origin},
		{"Sec-Fetch-Site", &request->site},
		{"Authorization", &request->authorization},
	};
	for (size_t i = 0; name && i < sizeof(known) / sizeof(*known); i++)
		if (!strcasecmp(name, known[i].name))
			take(request, known[i].field, known[i].name, value);
	if (name && ((!strcasecmp(name, "Content-Length") && value && strcmp(value, "0") != 0) ||
		     !strcasecmp(name, "Transfer-Encoding")))
		request->has_body = true;
}

void http_request_argument(struct http_request *request, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **field;
	} known[] = {
		{"seconds", &request->seconds},
		{"hz", &request->hz},
		{"pid", &request->pid},
		{"format", &request->format},
	};
	for (size_t i = 0; name && i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name)) {
			take(request, known[i].field, known[i].name, value);
			return;
		}
	request->unknown = name ? name : "";
}

bool http_refuse(struct http_verdict *verdict, unsigned status, enum http_refusal refusal,
		 const char *format, ...)
{
	va_list arguments;
	verdict->status = status;
	verdict->refusal = refusal;
	va_start(arguments, format);
	vsnprintf(verdict->text, sizeof(verdict->text), format, arguments);
	va_end(arguments);
	for (char *at = verdict->text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return false;
}

/* ---- who asks ---- */

/*
 * A page of another site that has made the browser believe that its name is this machine's sends that name. Nobody reaches a
 * unix socket with a browser, but what stands between may.
 */
static bool names_this_machine(const struct http_rules *rules, const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const size_t size = strlen(names[i]);
		char port[8];
		snprintf(port, sizeof(port), ":%u", (unsigned)rules->port);
		if (strncasecmp(host, names[i], size) != 0)
			continue;
		if (!host[size] || (rules->port && !strcmp(host + size, port)))
			return true;
	}
	return false;
}

static bool is_of_this_site(const struct http_request *request)
{
	static const char scheme[] = "http://";
	const char *origin = request->origin;
	if (request->site && strcmp(request->site, "none") != 0 &&
	    strcmp(request->site, "same-origin") != 0)
		return false;
	return !origin || (!strncasecmp(origin, scheme, sizeof(scheme) - 1) &&
			   !strcasecmp(origin + sizeof(scheme) - 1, request->host));
}

/* As long as any other comparison, whatever is the same. */
static bool is_token(const struct http_rules *rules, const char *said)
{
	char padded[sizeof(rules->token)] = {0};
	const size_t size = strlen(said);
	unsigned char differs = size > HTTP_TOKEN_MAX;
	memcpy(padded, said, size > HTTP_TOKEN_MAX ? 0 : size);
	for (size_t i = 0; i < sizeof(padded); i++)
		differs |= (unsigned char)(padded[i] ^ rules->token[i]);
	return !differs;
}

/* What follows a scheme of RFC 9110, 11.6.2; NULL: it is another. */
static const char *credentials(const char *said, const char *scheme)
{
	const size_t size = strlen(scheme);
	return strncasecmp(said, scheme, size) != 0 || said[size] != ' '
		       ? NULL
		       : said + size + strspn(said + size, " ");
}

/* RFC 4648, 4, with its padding. How many bytes; 0: that is none, or there is no room for it. */
static size_t base64_take(const char *text, char *bytes, size_t capacity)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const size_t nr_digits = strcspn(text, "="), padding = strlen(text) - nr_digits;
	const size_t nr = nr_digits * 3 / 4;
	uint32_t bits = 0;
	if ((nr_digits + padding) % 4 || padding > 2 || strspn(text + nr_digits, "=") != padding ||
	    nr > capacity)
		return 0;
	for (size_t i = 0, at = 0; i < nr_digits; i++) {
		const char *digit = strchr(digits, text[i]);
		if (!digit)
			return 0;
		bits = bits << 6 | (uint32_t)(digit - digits);
		/* Each but the first of four ends a byte. */
		if (i % 4)
			bytes[at++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	/* What is over is nothing. */
	return nr_digits % 4 && bits & (nr_digits % 4 == 2 ? 15u : 3u) ? 0 : nr;
}

/* "USER:PASSWORD" (RFC 7617), as of http://USER:TOKEN@HOST in an address: go tool pprof knows no other way. The user may be anybody. */
static bool has_token_as_password(const struct http_rules *rules, const char *said)
{
	enum { USER_MOST = 64 };
	char bytes[USER_MOST + HTTP_TOKEN_MAX + 2];
	const size_t nr = base64_take(said, bytes, sizeof(bytes) - 1);
	bytes[nr] = '\0';
	const char *colon = memchr(bytes, ':', nr);
	return colon && strlen(bytes) == nr && is_token(rules, colon + 1);
}

static bool has_token(const struct http_request *request)
{
	const char *said = request->authorization;
	if (!request->rules->has_token)
		return true;
	const char *token = said ? credentials(said, "Bearer") : NULL;
	if (token)
		return is_token(request->rules, token);
	const char *basic = said ? credentials(said, "Basic") : NULL;
	return basic && has_token_as_password(request->rules, basic);
}

static bool check_asker(const struct http_request *request, bool needs_token,
			struct http_verdict *verdict)
{
	if (request->twice)
		return http_refuse(verdict, 400, HTTP_BAD_REQUEST, "%s: more than one",
				   request->twice);
	if (!request->host)
		return http_refuse(verdict, 400, HTTP_BAD_REQUEST, "Host: there is none");
	if (!names_this_machine(request->rules, request->host))
		return http_refuse(verdict, 403, HTTP_CROSS_SITE,
				   "Host: '%.*s' is not this machine: localhost, 127.0.0.1 and "
				   "[::1] are",
				   QUOTED_MOST, request->host);
	if (!is_of_this_site(request))
		return http_refuse(verdict, 403, HTTP_CROSS_SITE, "the page of another site asks");
	if (needs_token && !has_token(request))
		return http_refuse(verdict, 401, HTTP_NO_TOKEN,
				   "needs 'Authorization: Bearer TOKEN' with the token of "
				   "--token-file");
	return true;
}

/* ---- what for ---- */

static bool refuse_argument(struct http_verdict *verdict, const char *name, const char *value,
			    const char *wanted)
{
	return http_refuse(verdict, 400, HTTP_BAD_REQUEST, "%s=%.*s: %s", name, QUOTED_MOST, value,
			   wanted);
}

/* Digits alone, at most nine. */
static bool whole_number(const char *text, uint32_t *number)
{
	enum { DIGITS_MOST = 9 };
	const size_t size = strspn(text, "0123456789");
	*number = size && size <= DIGITS_MOST ? (uint32_t)strtoul(text, NULL, 10) : 0;
	return size && size <= DIGITS_MOST && !text[size];
}

/* "10", "0.5": to the millisecond. */
static bool milliseconds(const char *text, uint32_t *ms)
{
	static const uint32_t places[] = {100, 10, 1};
	const size_t size = strspn(text, "0123456789");
	uint32_t more = 0;
	if (!size || size > 6)
		return false;
	if (text[size] == '.') {
		const char *digits = text + size + 1;
		const size_t nr = strspn(digits, "0123456789");
		if (!nr || nr > 3 || digits[nr])
			return false;
		for (size_t i = 0; i < nr; i++)
			more += (uint32_t)(digits[i] - '0') * places[i];
	} else if (text[size]) {
		return false;
	}
	*ms = (uint32_t)strtoul(text, NULL, 10) * 1000 + more;
	return true;
}

static bool take_pid(const struct http_request *request, struct http_verdict *verdict)
{
	uint32_t pid;
	if (!request->pid)
		return true;
	if (!whole_number(request->pid, &pid) || !pid)
		return refuse_argument(verdict, "pid", request->pid, "a process's number");
	verdict->ask.pid = (int32_t)pid;
	return true;
}

static bool take_format(const struct http_request *request, struct http_verdict *verdict)
{
	if (!request->format)
		return true;
	if (verdict->ask.endpoint != HTTP_FGPROF)
		return refuse_argument(verdict, "format", request->format, "only of /debug/fgprof");
	if (!strcmp(request->format, "folded"))
		verdict->ask.format = HTTP_FOLDED;
	else if (strcmp(request->format, "pprof") != 0)
		return refuse_argument(verdict, "format", request->format, "folded or pprof");
	return true;
}

static bool take_arguments(const struct http_request *request,
			   const struct http_endpoint_row *endpoint, struct http_verdict *verdict)
{
	struct http_ask *ask = &verdict->ask;
	const bool has_any = request->seconds || request->hz || request->pid || request->format;
	if (request->unknown)
		return refuse_argument(verdict, request->unknown, "",
				       "there are seconds, hz, pid and format");
	if (endpoint->posts && !request->seconds && !request->hz && !request->format)
		return take_pid(request, verdict);
	if (!endpoint->default_ms)
		return !has_any ||
		       http_refuse(verdict, 400, HTTP_BAD_REQUEST, "%s takes no %s", endpoint->path,
				   endpoint->posts ? "seconds, hz or format"
						   : "seconds, hz, pid or format");
	ask->duration_ms = endpoint->default_ms;
	ask->hz = HTTP_DEFAULT_HZ;
	if (request->seconds &&
	    (!milliseconds(request->seconds, &ask->duration_ms) ||
	     ask->duration_ms < HTTP_LEAST_MS || ask->duration_ms > HTTP_MOST_MS))
		return refuse_argument(verdict, "seconds", request->seconds,
				       "a number from 0.1 to 300");
	if (request->hz &&
	    (!whole_number(request->hz, &ask->hz) || !ask->hz || ask->hz > HTTP_MOST_HZ))
		return refuse_argument(verdict, "hz", request->hz, "a whole number from 1 to 4999");
	return take_pid(request, verdict) && take_format(request, verdict);
}

void http_request_end(const struct http_request *request, struct http_verdict *verdict)
{
	uint32_t endpoint = 0;
	const char *method;
	*verdict = (struct http_verdict){.status = 200, .ask = {.kind = HTTP_ASK_ANSWER}};
	while (endpoint < NR_HTTP_ENDPOINTS &&
	       strcmp(http_endpoints[endpoint].path, request->path) != 0)
		endpoint++;
	verdict->ask.endpoint = endpoint;
	/* That ctop runs is no secret, and who looks whether it does has no token. */
	if (!check_asker(request, endpoint != HTTP_HEALTH, verdict))
		return;
	if (endpoint == NR_HTTP_ENDPOINTS)
		http_refuse(verdict, 404, HTTP_NO_SUCH_PATH,
			    "there are /debug/pprof/profile, /debug/fgprof, /debug/fgtrace, "
			    "/debug/dump, /flame, /metrics and /healthz");
	else if (strcmp(request->method, method = http_method(endpoint)) != 0)
		http_refuse(verdict, 405, HTTP_BAD_REQUEST, "only %s", method);
	else if (request->has_body)
		http_refuse(verdict, 400, HTTP_BAD_REQUEST, "a %s without a body", method);
	else if (http_endpoints[endpoint].posts && request->rules->port)
		http_refuse(verdict, 403, HTTP_OTHER_USER,
			    "a flight recorder is asked through a unix socket alone");
	else
		take_arguments(request, &http_endpoints[endpoint], verdict);
}

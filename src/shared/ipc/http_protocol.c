/* SPDX-License-Identifier: MIT */
#include <ctop/ipc/http_protocol.h>

static const char text_type[] = "text/plain; charset=utf-8";

const struct http_endpoint_row http_endpoints[NR_HTTP_ENDPOINTS] = {
	[HTTP_HEALTH] = {.path = "/healthz", .name = "healthz", .type = text_type},
	[HTTP_METRICS] = {.path = "/metrics",
			  .name = "metrics",
			  .type = "text/plain; version=0.0.4; charset=utf-8"},
	/* As Go's: 30 s. */
	[HTTP_PROFILE] = {.path = "/debug/pprof/profile",
			  .name = "profile",
			  .default_ms = 30000,
			  .format = "pprof",
			  .type = "application/octet-stream",
			  .file = "profile.pb.gz"},
	[HTTP_FGPROF] = {.path = "/debug/fgprof",
			 .name = "fgprof",
			 .default_ms = 30000,
			 .waits = true,
			 .type = "application/octet-stream",
			 .file = "fgprof.pb.gz"},
	[HTTP_FGTRACE] = {.path = "/debug/fgtrace",
			  .name = "fgtrace",
			  .default_ms = 10000,
			  .format = "chrome",
			  .waits = true,
			  .type = "application/json",
			  .file = "fgtrace.json"},
	[HTTP_FLAME] = {.path = "/flame",
			.name = "flame",
			.default_ms = 10000,
			.format = "html",
			.type = "text/html; charset=utf-8"},
	[HTTP_DUMP] = {.path = "/debug/dump", .name = "dump", .posts = true, .type = text_type},
};

const char *http_method(uint32_t endpoint)
{
	return http_endpoints[endpoint].posts ? "POST" : "GET";
}

const char *const http_refusal_names[NR_HTTP_REFUSALS] = {
	"bad_request", "no_token", "other_user", "cross_site", "no_such_path", "too_much",
};

static bool captures_sanely(const struct http_ask *ask)
{
	return ask->duration_ms >= HTTP_LEAST_MS && ask->duration_ms <= HTTP_MOST_MS &&
	       ask->hz >= 1 && ask->hz <= HTTP_MOST_HZ && ask->format < NR_HTTP_FORMATS;
}

bool http_ask_is_sane(const struct http_ask *ask, size_t size)
{
	if (size != sizeof(*ask))
		return false;
	if (ask->kind == HTTP_ASK_READY)
		return ask->error <= 0 && ask->error > -4096;
	if (ask->kind == HTTP_ASK_GONE)
		return true;
	return ask->kind == HTTP_ASK_ANSWER && ask->endpoint < NR_HTTP_ENDPOINTS &&
	       ask->endpoint != HTTP_HEALTH && ask->pid >= 0 &&
	       (!http_endpoints[ask->endpoint].default_ms || captures_sanely(ask));
}

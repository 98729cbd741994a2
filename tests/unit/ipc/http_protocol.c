/* SPDX-License-Identifier: MIT */
/* What the child of `ctop serve` may ask main for. */
#include <ctop/ipc/http_protocol.h>

#include "test.h"

static const struct http_ask good = {
	.kind = HTTP_ASK_ANSWER, .endpoint = HTTP_PROFILE, .duration_ms = 1000, .hz = 99};

static bool is_sane(const struct http_ask *ask)
{
	return http_ask_is_sane(ask, sizeof(*ask));
}

static void sizes_that_are_none(void)
{
	CHECK(is_sane(&good));
	for (size_t size = 0; size < 2 * sizeof(good); size++)
		CHECK(http_ask_is_sane(&good, size) == (size == sizeof(good)));
}

static void kinds_and_endpoints_that_are_none(void)
{
	for (uint32_t kind = 0; kind < 300; kind++) {
		struct http_ask ask = good;
		ask.kind = kind;
		CHECK(is_sane(&ask) == (kind >= 1 && kind < NR_HTTP_ASKS));
	}
	for (uint32_t endpoint = 0; endpoint < 300; endpoint++) {
		struct http_ask ask = good;
		ask.endpoint = endpoint;
		CHECK(is_sane(&ask) == (endpoint > HTTP_HEALTH && endpoint < NR_HTTP_ENDPOINTS));
	}
}

static void numbers_beyond_their_bounds(void)
{
	struct http_ask ask = good;
	ask.duration_ms = HTTP_LEAST_MS - 1;
	CHECK(!is_sane(&ask));
	ask.duration_ms = HTTP_MOST_MS + 1;
	CHECK(!is_sane(&ask));
	ask.duration_ms = HTTP_MOST_MS;
	CHECK(is_sane(&ask));
	ask.hz = 0;
	CHECK(!is_sane(&ask));
	ask.hz = HTTP_MOST_HZ + 1;
	CHECK(!is_sane(&ask));
	ask.hz = HTTP_MOST_HZ;
	ask.pid = -1;
	CHECK(!is_sane(&ask));
	ask.endpoint = HTTP_DUMP;
	CHECK(!is_sane(&ask));
	ask.pid = INT32_MAX;
	CHECK(is_sane(&ask));
	ask.endpoint = HTTP_PROFILE;
	ask.format = NR_HTTP_FORMATS;
	CHECK(!is_sane(&ask));
	struct http_ask ready = {.kind = HTTP_ASK_READY, .error = 1};
	CHECK(!is_sane(&ready));
	ready.error = -4096;
	CHECK(!is_sane(&ready));
}

int main(void)
{
	RUN(sizes_that_are_none);
	RUN(kinds_and_endpoints_that_are_none);
	RUN(numbers_beyond_their_bounds);
	return test_done();
}

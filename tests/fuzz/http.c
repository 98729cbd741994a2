/* SPDX-License-Identifier: MIT */
/*
 * A request as libmicrohttpd hands it over: a port of two bytes, whether there is a token, then lines: the method, the path, and
 * headers ("Name: value") and arguments ("?name=value"), either of which may have no value. What is served has a place in the
 * table and numbers that main lets through; what is not has a status and one line of printable ASCII; nobody without the token is served.
 */
#include "fuzz.h"
#include "jailed/http/request.h"

static const char token[] = "0123456789abcdef";

/* The next line; NULL: none. */
static char *line_of(char **at)
{
	return *at ? strsep(at, "\n") : NULL;
}

static void add_line(struct http_request *request, char *line)
{
	const bool is_argument = line[0] == '?';
	char *value = strpbrk(line, is_argument ? "=" : ":");
	if (value) {
		*value++ = '\0';
		value += !is_argument && *value == ' ';
	}
	if (is_argument)
		http_request_argument(request, line + 1, value);
	else
		http_request_header(request, line, value);
}

/* Bit by bit. */
static bool has_token_as_password(const char *said)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char bytes[1024] = {0};
	if (strncasecmp(said, "Basic ", 6))
		return false;
	said += 6 + strspn(said + 6, " ");
	for (size_t bit = 0; said[bit / 6] && bit / 8 < sizeof(bytes) - 1; bit++) {
		const char *digit = strchr(digits, said[bit / 6]);
		if (digit && (digit - digits) >> (5 - bit % 6) & 1)
			bytes[bit / 8] = (char)(bytes[bit / 8] | 0x80 >> bit % 8);
	}
	const char *colon = strchr(bytes, ':');
	return colon && !strcmp(colon + 1, token);
}

static void check(const struct http_request *request, const struct http_verdict *verdict)
{
	if (verdict->status != 200) {
		REQUIRE(verdict->status >= 400 && verdict->status < 500);
		REQUIRE(verdict->refusal < NR_HTTP_REFUSALS && verdict->text[0]);
		for (const char *at = verdict->text; *at; at++)
			REQUIRE(*at >= ' ' && *at <= '~');
		return;
	}
	REQUIRE(verdict->ask.endpoint < NR_HTTP_ENDPOINTS);
	REQUIRE(!strcmp(request->method, http_method(verdict->ask.endpoint)) && !request->has_body);
	REQUIRE(verdict->ask.endpoint != HTTP_DUMP || !request->rules->port);
	REQUIRE(!strcmp(http_endpoints[verdict->ask.endpoint].path, request->path));
	REQUIRE(verdict->ask.endpoint == HTTP_HEALTH ||
		http_ask_is_sane(&verdict->ask, sizeof(verdict->ask)));
	REQUIRE(verdict->ask.endpoint == HTTP_HEALTH || !request->rules->has_token ||
		(request->authorization && (strstr(request->authorization, token) ||
					    has_token_as_password(request->authorization))));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	struct http_rules rules = {.port = input_u16(&input), .has_token = input_u8(&input) & 1};
	struct http_request request;
	struct http_verdict verdict;
	memcpy(rules.token, token, sizeof(token));
	char *text = malloc(input.left + 1);
	REQUIRE(text != NULL);
	memcpy(text, input.at, input.left);
	text[input.left] = '\0';
	char *at = text, *line;
	const char *method = line_of(&at), *path = line_of(&at);
	http_request_begin(&request, &rules, method, path ? path : "");
	while ((line = line_of(&at)))
		add_line(&request, line);
	http_request_end(&request, &verdict);
	check(&request, &verdict);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/options/listen_address.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static int parse_path(const char *path, struct listen_address *address, struct error *error)
{
	struct sockaddr_un *to = &address->address.unix_path;
	if (!*path || strlen(path) >= sizeof(to->sun_path)) {
		error_usage(error, "--listen unix:PATH: PATH has 1 to %zu bytes",
			    sizeof(to->sun_path) - 1);
		return error_remedy(error,
				    "name a shorter one, as in --listen unix:/run/ctop.sock");
	}
	to->sun_family = AF_UNIX;
	strcpy(to->sun_path, path);
	address->size = sizeof(*to);
	return 0;
}

/* Digits alone. */
static bool take_port(const char *text, uint16_t *port)
{
	enum { DIGITS_MOST = 5, PORT_MOST = 65535 };
	const size_t size = strspn(text, "0123456789");
	if (!size || size > DIGITS_MOST || text[size])
		return false;
	const unsigned long number = strtoul(text, NULL, 10);
	*port = (uint16_t)number;
	return number <= PORT_MOST;
}

static void set_ip(const char *host, size_t size, struct listen_address *address)
{
	char name[INET6_ADDRSTRLEN] = "";
	if (size && size < sizeof(name))
		memcpy(name, host, size);
	if (!strcmp(name, "[::1]")) {
		address->address.ip6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
							     .sin6_port = htons(address->port),
							     .sin6_addr = in6addr_loopback};
		address->size = sizeof(struct sockaddr_in6);
	} else if (!strcmp(name, "127.0.0.1") || !strcmp(name, "localhost")) {
		address->address.ip4 = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(address->port),
			.sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
		};
		address->size = sizeof(struct sockaddr_in);
	}
}

int listen_address_parse(const char *text, struct listen_address *address, struct error *error)
{
	static const char unix_prefix[] = "unix:";
	memset(address, 0, sizeof(*address));
	if (!strncmp(text, unix_prefix, sizeof(unix_prefix) - 1))
		return parse_path(text + sizeof(unix_prefix) - 1, address, error);
	const char *colon = strrchr(text, ':');
	address->is_tcp = colon && take_port(colon + 1, &address->port);
	if (!address->is_tcp) {
		error_usage(error, "--listen: '%.100s' is no address", text);
		return error_remedy(error, "use unix:PATH or 127.0.0.1:PORT");
	}
	set_ip(text, (size_t)(colon - text), address);
	if (address->size)
		return 0;
	error_usage(error, "--listen: '%.100s' is not an address of this machine alone", text);
	return error_remedy(error, "use 127.0.0.1:PORT or [::1]:PORT, and for other machines what "
				   "encrypts and authenticates before it");
}

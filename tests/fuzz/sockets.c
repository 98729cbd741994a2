/* SPDX-License-Identifier: MIT */
/*
 * Lines of /proc/PID/net/{tcp,tcp6,udp,udp6,unix}, where the path of a unix socket may hold anything, newlines too. A name that comes of one is terminated, safe to show, and begins with the socket's kind.
 *
 * The first byte is the file; then its lines.
 */
#include "main/system/socket_names.h"

#include <string.h>

#include "fuzz.h"

static void check(enum socket_file file, const char *line)
{
	char name[SOCKET_NAME_BYTES];
	uint64_t inode;
	if (!socket_line_parse(file, line, &inode, name))
		return;
	const char *kind = file == SOCKET_UNIX			       ? "unix "
			   : file == SOCKET_TCP || file == SOCKET_TCP6 ? "tcp "
								       : "udp ";
	REQUIRE(inode > 0);
	REQUIRE(memchr(name, 0, sizeof(name)));
	REQUIRE(!strncmp(name, kind, strlen(kind)) || (file == SOCKET_UNIX && !name[0]));
	for (const char *at = name; *at; at++)
		REQUIRE((unsigned char)*at >= ' ' && *at != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size < 2)
		return 0;
	const enum socket_file file = (enum socket_file)(bytes[0] % NR_SOCKET_FILES);
	char *lines = strndup((const char *)bytes + 1, size - 1);
	REQUIRE(lines);
	for (char *line = lines, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		check(file, line);
	}
	free(lines);
	return 0;
}

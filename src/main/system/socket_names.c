/* SPDX-License-Identifier: MIT */
#include "socket_names.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>
#include <ctop/system/proc_text.h>

/* OF_TIME: of which time's how-manieth part files are read; LINES_A_LOOK: between two at the clock. */
enum { SOCKETS_MOST = 16384, LOAD_MS_MOST = 20, OF_TIME = 50, LINES_A_LOOK = 64 };
/* Network namespaces that are remembered, and of each the last sockets that no file had. */
enum { SPACES_MOST = 4, MISSED_MOST = 64 };
/* A socket may be connected elsewhere later. */
#define AGE_NS_MOST (5 * NS_PER_SECOND)

struct named_socket {
	uint64_t inode;
	bool is_doubtful; /* two lines say of it: a path with a line end in it may be one */
	char name[SOCKET_NAME_BYTES];
};

struct space {
	char link[64]; /* as /proc/PID/ns/net says */
	uint64_t loaded_ns, asked_ns;
	struct {
		struct named_socket *items; /* by inode */
		size_t nr, capacity;
	} sockets;
	uint64_t missed[MISSED_MOST];
	size_t nr_missed; /* ever */
};

struct socket_names {
	uint64_t next_ns; /* when files may be read again */
	struct space spaces[SPACES_MOST];
};

struct socket_names *socket_names_new(void)
{
	return calloc(1, sizeof(struct socket_names));
}

void socket_names_free(struct socket_names *names)
{
	for (size_t i = 0; names && i < SPACES_MOST; i++)
		free(names->spaces[i].sockets.items);
	free(names);
}

/* ---- a line ---- */

/* "0100007F:1538": words of an address as they lie in memory, and a port. */
static bool parse_end(const char *text, bool is_6, char *out, size_t size)
{
	uint32_t words[4] = {0};
	char address[INET6_ADDRSTRLEN];
	unsigned port = 0;
	const int nr_words = is_6 ? 4 : 1;
	for (int i = 0; i < nr_words; i++, text += 8)
		if (sscanf(text, "%8" SCNx32, &words[i]) != 1 || strnlen(text, 8) < 8)
			return false;
	if (sscanf(text, ":%4x", &port) != 1)
		return false;
	const bool is_mapped = is_6 && !words[0] && !words[1] && words[2] == htonl(0xffff);
	const bool is_any = !words[0] && !words[1] && !words[2] && !words[3];
	if (is_any)
		strcpy(address, "*");
	else if (!inet_ntop(is_6 && !is_mapped ? AF_INET6 : AF_INET, is_mapped ? &words[3] : words,
			    address, sizeof(address)))
		return false;
	const char *open = is_6 && !is_mapped && !is_any ? "[" : "";
	if (port)
		snprintf(out, size, "%s%s%s:%u", open, address, *open ? "]" : "", port);
	else
		snprintf(out, size, "%s%s%s:*", open, address, *open ? "]" : "");
	return true;
}

/* "  0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000  105  0 20634 1 ..." */
static bool parse_inet(enum socket_file file, const char *line, uint64_t *inode,
		       char name[SOCKET_NAME_BYTES])
{
	enum { LISTENS = 0x0A };
	const bool is_6 = file == SOCKET_TCP6 || file == SOCKET_UDP6;
	const bool is_tcp = file == SOCKET_TCP || file == SOCKET_TCP6;
	char ends[2][48], own[56], peer[56];
	unsigned state;
	if (sscanf(line, " %*u: %47s %47s %2x %*s %*s %*s %*u %*d %" SCNu64, ends[0], ends[1],
		   &state, inode) != 4 ||
	    !*inode || !parse_end(ends[0], is_6, own, sizeof(own)) ||
	    !parse_end(ends[1], is_6, peer, sizeof(peer)))
		return false;
	const bool has_peer = strcmp(peer, "*:*") != 0;
	snprintf(name, SOCKET_NAME_BYTES, "%s %s%s%s", is_tcp ? "tcp" : "udp", own,
		 has_peer		      ? "->"
		 : is_tcp && state == LISTENS ? " (listening)"
					      : "",
		 has_peer ? peer : "");
	return true;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 20626 /run/x.sock" */
static bool parse_unix(const char *line, uint64_t *inode, char name[SOCKET_NAME_BYTES])
{
	int path_at = 0;
	struct text safe = {0};
	name[0] = '\0';
	if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 " %n", inode, &path_at) != 1 ||
	    !*inode)
		return false;
	if (!path_at || !line[path_at])
		return true;
	text_add_safe(&safe, line + path_at);
	snprintf(name, SOCKET_NAME_BYTES, "unix %.*s", SOCKET_NAME_BYTES - 8, text_string(&safe));
	text_release(&safe);
	return true;
}

bool socket_line_parse(enum socket_file file, const char *line, uint64_t *inode,
		       char name[SOCKET_NAME_BYTES])
{
	return file == SOCKET_UNIX ? parse_unix(line, inode, name)
				   : parse_inet(file, line, inode, name);
}

/* ---- the files ---- */

static void take_line(struct space *space, enum socket_file file, const char *line)
{
	struct named_socket socket = {0};
	if (space->sockets.nr < SOCKETS_MOST &&
	    socket_line_parse(file, line, &socket.inode, socket.name) &&
	    !vec_reserve(&space->sockets, space->sockets.nr + 1))
		space->sockets.items[space->sockets.nr++] = socket;
}

/* By CPU time: who waits for a CPU is not to read less. False: not to its end. */
static bool read_file(struct space *space, int32_t pid, enum socket_file file,
		      uint64_t until_cpu_ns)
{
	static const char *const names[NR_SOCKET_FILES] = {"tcp", "tcp6", "udp", "udp6", "unix"};
	char path[48], *line = NULL;
	size_t capacity = 0;
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/net/%s", pid, names[file]);
	FILE *lines = proc_fopen(path);
	if (!lines)
		return true;
	while (space->sockets.nr < SOCKETS_MOST &&
	       (space->sockets.nr % LINES_A_LOOK || clock_cpu_ns() < until_cpu_ns) &&
	       getline(&line, &capacity, lines) > 0) {
		line[strcspn(line, "\n")] = '\0';
		take_line(space, file, line);
	}
	const bool is_whole = feof(lines);
	free(line);
	fclose(lines);
	return is_whole;
}

static int compare(const void *a, const void *b)
{
	const uint64_t one = ((const struct named_socket *)a)->inode;
	const uint64_t other = ((const struct named_socket *)b)->inode;
	return one < other ? -1 : one > other;
}

static void load(struct socket_names *names, struct space *space, int32_t pid)
{
	const uint64_t before_ns = clock_cpu_ns();
	bool is_whole = true;
	space->sockets.nr = space->nr_missed = 0;
	for (int file = 0; file < NR_SOCKET_FILES; file++)
		is_whole &= read_file(space, pid, (enum socket_file)file,
				      before_ns + LOAD_MS_MOST * NS_PER_MS);
	struct named_socket *items = space->sockets.items;
	if (space->sockets.nr)
		qsort(items, space->sockets.nr, sizeof(*items), compare);
	for (size_t i = 0; i < space->sockets.nr; i++) {
		if (i && items[i].inode == items[i - 1].inode)
			items[i].is_doubtful = items[i - 1].is_doubtful = true;
		/* The line that gives it away may be behind the end. */
		items[i].is_doubtful |= !is_whole && !strncmp(items[i].name, "unix", 4);
	}
	space->loaded_ns = clock_now_ns();
	names->next_ns = space->loaded_ns + OF_TIME * (clock_cpu_ns() - before_ns);
}

/* ---- naming ---- */

static const struct named_socket *find(const struct space *space, uint64_t inode)
{
	const struct named_socket wanted = {.inode = inode};
	return space->sockets.nr ? bsearch(&wanted, space->sockets.items, space->sockets.nr,
					   sizeof(wanted), compare)
				 : NULL;
}

/* It is new, or in none of the files. */
static bool was_missed(struct space *space, uint64_t inode)
{
	for (size_t i = 0; i < space->nr_missed && i < MISSED_MOST; i++)
		if (space->missed[i] == inode)
			return true;
	return false;
}

/* Of the process; NULL: that may not be seen. It takes the place of the one that was asked for the longest time ago. */
static struct space *space_of(struct socket_names *names, int32_t pid, uint64_t now_ns)
{
	char path[48], link[sizeof(names->spaces[0].link)];
	struct space *oldest = &names->spaces[0];
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/ns/net", pid);
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t got = readlink(path, link, sizeof(link) - 1);
	privilege_restore(&before);
	if (got <= 0)
		return NULL;
	link[got] = '\0';
	for (size_t i = 0; i < SPACES_MOST; i++) {
		struct space *space = &names->spaces[i];
		if (!strcmp(space->link, link)) {
			space->asked_ns = now_ns;
			return space;
		}
		if (space->asked_ns < oldest->asked_ns)
			oldest = space;
	}
	strcpy(oldest->link, link);
	oldest->sockets.nr = oldest->nr_missed = 0;
	oldest->loaded_ns = 0;
	oldest->asked_ns = now_ns;
	return oldest;
}

/* NULL: it has none that is known. */
static const char *name_of(struct socket_names *names, int32_t pid, uint64_t inode)
{
	const uint64_t now_ns = clock_now_ns();
	struct space *space = space_of(names, pid, now_ns);
	if (!space)
		return NULL;
	const struct named_socket *socket = find(space, inode);
	const bool is_old = now_ns > space->loaded_ns + AGE_NS_MOST;
	const bool is_wanted = socket ? is_old : !was_missed(space, inode);
	if (is_wanted && now_ns >= names->next_ns) {
		load(names, space, pid);
		socket = find(space, inode);
		if (!socket)
			space->missed[space->nr_missed++ % MISSED_MOST] = inode;
	}
	return socket && !socket->is_doubtful && socket->name[0] ? socket->name : NULL;
}

/* Where there is no room for all, dots say so. */
static void replace(char *text, size_t size, char *at, size_t bytes, const char *name)
{
	char rest[256];
	const size_t room = size - (size_t)(at - text);
	snprintf(rest, sizeof(rest), "%s", at + bytes);
	if ((size_t)snprintf(at, room, "%s%s", name, rest) >= room && size > 4)
		strcpy(text + size - 4, "...");
}

void socket_names_put(struct socket_names *names, int32_t pid, char *text, size_t size)
{
	static const char begins[] = "socket:[";
	for (char *at = text; (at = strstr(at, begins)); at++) {
		uint64_t inode;
		int bytes = 0;
		const bool is_word = at == text || at[-1] == ' ';
		if (!is_word || sscanf(at, "socket:[%" SCNu64 "]%n", &inode, &bytes) != 1 || !bytes)
			continue;
		const char *name = name_of(names, pid, inode);
		if (!name)
			continue;
		replace(text, size, at, (size_t)bytes, name);
		at += strnlen(name, size - (size_t)(at - text) - 1);
		if (at >= text + strlen(text))
			return;
	}
}

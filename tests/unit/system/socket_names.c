/* SPDX-License-Identifier: MIT */
/* Sockets by where they lead: lines of each kind, lines that lie, and this process's own sockets. */
#include "main/system/socket_names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char name[SOCKET_NAME_BYTES];
static uint64_t inode;

static bool parse(enum socket_file file, const char *line)
{
	inode = 0;
	name[0] = '\0';
	return socket_line_parse(file, line, &inode, name);
}

#define CHECK_LINE(file, line, number, is)                                                         \
	do {                                                                                       \
		CHECK(parse(file, line));                                                          \
		CHECK_EQ(inode, number);                                                           \
		CHECK(!strcmp(name, is));                                                          \
	} while (0)

/* As a little-endian kernel prints them. */
static void lines_of_each_kind(void)
{
	CHECK_LINE(SOCKET_TCP,
		   "   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   "
		   "105        0 20634 1 0000000000000000 100 0 0 10 0",
		   20634, "tcp 127.0.0.1:5432 (listening)");
	CHECK_LINE(SOCKET_TCP,
		   "  12: 0500000A:9D14 0700000A:1538 01 00000000:00000000 02:000AFC80 00000000  "
		   "1000        0 88 2 0000000000000000",
		   88, "tcp 10.0.0.5:40212->10.0.0.7:5432");
	CHECK_LINE(
		SOCKET_TCP6,
		"   1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 "
		"0A 00000000:00000000 00:00000000 00000000     0        0 7 1 0",
		7, "tcp *:80 (listening)");
	CHECK_LINE(
		SOCKET_TCP6,
		"   1: 0000000000000000FFFF00000500000A:0050 0000000000000000FFFF00000700000A:C350 "
		"01 00000000:00000000 00:00000000 00000000     0        0 7 1 0",
		7, "tcp 10.0.0.5:80->10.0.0.7:50000");
	CHECK_LINE(
		SOCKET_UDP6,
		"   1: 00000000000000000000000001000000:0035 00000000000000000000000000000000:0000 "
		"07 00000000:00000000 00:00000000 00000000     0        0 9 2 0 0",
		9, "udp [::1]:53");
	CHECK_LINE(SOCKET_UNIX,
		   "0000000000000000: 00000002 00000000 00010000 0001 01 20626 "
		   "/run/postgresql/.s.PGSQL.5432",
		   20626, "unix /run/postgresql/.s.PGSQL.5432");
	CHECK_LINE(SOCKET_UNIX,
		   "0000000000000000: 00000002 00000000 00010000 0001 01 5 @abstract name", 5,
		   "unix @abstract name");
}

static void what_says_nothing_has_no_name(void)
{
	CHECK(!parse(SOCKET_TCP, "  sl  local_address rem_address   st tx_queue rx_queue tr "
				 "tm->when retrnsmt   uid  timeout inode"));
	CHECK(!parse(SOCKET_TCP, ""));
	CHECK(!parse(SOCKET_TCP, "   0: 0100007F:1538 00000000:0000 06 00000000:00000000 "
				 "03:00000F9B 00000000     0        0 0 3 0"));
	CHECK(!parse(SOCKET_TCP, "   0: 0100:1538 00000000:0000 0A 0:0 00:0 0 0 0 5 1"));
	CHECK(!parse(SOCKET_UNIX, "Num       RefCount Protocol Flags    Type St Inode Path"));
	CHECK(!parse(SOCKET_UNIX, "0000000000000000: 00000003 00000000 00000000 0001 03 0"));
	CHECK_LINE(SOCKET_UNIX, "0000000000000000: 00000003 00000000 00000000 0001 03 20630", 20630,
		   "");
}

static void a_hostile_path_is_cut_and_safe(void)
{
	char line[600] = "0000000000000000: 00000002 00000000 00010000 0001 01 6 /\033[2J";
	memset(line + strlen(line), 'x', 400);
	CHECK(parse(SOCKET_UNIX, line));
	CHECK(strlen(name) < SOCKET_NAME_BYTES && !strncmp(name, "unix /\\x1b[2Jxxx", 16));
}

/* ---- this process's ---- */

static struct socket_names *names;

static void check_name(int fd, const char *expected)
{
	struct stat status;
	char text[160];
	CHECK_EQ(fstat(fd, &status), 0);
	snprintf(text, sizeof(text), "one of 2: socket:[%llu], pipe:[3]",
		 (unsigned long long)status.st_ino);
	socket_names_put(names, getpid(), text, sizeof(text));
	char all[200];
	snprintf(all, sizeof(all), "one of 2: %s, pipe:[3]", expected);
	if (strcmp(text, all))
		fprintf(stderr, "# %s\n", text);
	CHECK(!strcmp(text, all));
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static void own_sockets_have_the_names_that_they_were_given(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	char expected[100];
	const int listener = socket(AF_INET, SOCK_STREAM, 0),
		  client = socket(AF_INET, SOCK_STREAM, 0);
	const int bound = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(!bind(listener, (struct sockaddr *)&any, sizeof(any)) && !listen(listener, 1));
	any.sin_port = htons(port_of(listener));
	CHECK(!connect(client, (struct sockaddr *)&any, sizeof(any)));
	snprintf(path.sun_path + 1, sizeof(path.sun_path) - 1, "ctop-test-%d", getpid());
	CHECK(!bind(bound, (struct sockaddr *)&path,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				strlen(path.sun_path + 1))));
	names = socket_names_new();
	CHECK(names);
	snprintf(expected, sizeof(expected), "tcp 127.0.0.1:%u (listening)", port_of(listener));
	check_name(listener, expected);
	snprintf(expected, sizeof(expected), "tcp 127.0.0.1:%u->127.0.0.1:%u", port_of(client),
		 port_of(listener));
	check_name(client, expected);
	snprintf(expected, sizeof(expected), "unix @ctop-test-%d", getpid());
	check_name(bound, expected);
	socket_names_free(names);
	close(listener);
	close(client);
	close(bound);
}

static int bound_to(const char *path_of)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(path.sun_path + 1, sizeof(path.sun_path) - 1, "%s", path_of);
	CHECK(!bind(fd, (struct sockaddr *)&path,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(path_of))));
	return fd;
}

/* Another process in the same space, which names a socket of its own as a line would another's. */
static void check_is_not_forged(int victim)
{
	struct stat status;
	char forged[100], unnamed[64];
	CHECK_EQ(fstat(victim, &status), 0);
	snprintf(forged, sizeof(forged), "a\n0: 2 0 0 1 1 %llu /forged",
		 (unsigned long long)status.st_ino);
	const int forger = bound_to(forged);
	names = socket_names_new();
	snprintf(unnamed, sizeof(unnamed), "socket:[%llu]", (unsigned long long)status.st_ino);
	check_name(victim, unnamed);
	socket_names_free(names);
	close(victim);
	close(forger);
}

static void a_path_with_a_line_end_forges_nothing(void)
{
	char path[64];
	snprintf(path, sizeof(path), "ctop-real-%d", getpid());
	check_is_not_forged(bound_to(path));
	check_is_not_forged(socket(AF_UNIX, SOCK_STREAM, 0));
}

/* Its own, as from the first look on; and those of the others are not forgotten. */
static void each_network_namespace_has_its_sockets(void)
{
	int ready[2], done[2];
	char path[64], expected[80], byte;
	snprintf(path, sizeof(path), "ctop-space-%d", getpid());
	const int own = bound_to(path);
	CHECK(!pipe(ready) && !pipe(done));
	const pid_t other = fork();
	if (!other) {
		byte = unshare(CLONE_NEWNET) ? 'n' : 'y';
		(void)!write(ready[1], &byte, 1);
		close(done[1]);
		(void)!read(done[0], &byte, 1);
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	names = socket_names_new();
	snprintf(expected, sizeof(expected), "unix @%s", path);
	check_name(own, expected);
	for (int i = 0; byte == 'y' && i < 3; i++) {
		char text[] = "socket:[1]";
		socket_names_put(names, other, text, sizeof(text));
		CHECK(!strcmp(text, "socket:[1]"));
		check_name(own, expected);
	}
	socket_names_free(names);
	close(done[1]);
	CHECK(waitpid(other, NULL, 0) == other);
	for (int i = 0; i < 2; i++)
		close(ready[i]);
	close(done[0]);
	close(own);
}

static void what_there_is_no_room_for_is_cut(void)
{
	char path[64], text[40];
	struct stat status;
	snprintf(path, sizeof(path), "ctop-a-name-that-is-long-%d", getpid());
	const int own = bound_to(path);
	CHECK_EQ(fstat(own, &status), 0);
	snprintf(text, sizeof(text), "socket:[%llu]", (unsigned long long)status.st_ino);
	names = socket_names_new();
	socket_names_put(names, getpid(), text, 24);
	CHECK(!strcmp(text, "unix @ctop-a-name-th..."));
	char part[] = "/tmp/socket:[1]";
	socket_names_put(names, getpid(), part, sizeof(part));
	CHECK(!strcmp(part, "/tmp/socket:[1]"));
	socket_names_free(names);
	close(own);
}

static void what_is_no_socket_stays(void)
{
	char text[] = "one of 9: socket:[], socket:[x], socket:[18446744073709551615], pipe:[4]";
	const char *before =
		"one of 9: socket:[], socket:[x], socket:[18446744073709551615], pipe:[4]";
	char little[24] = "socket:[1]";
	names = socket_names_new();
	socket_names_put(names, getpid(), text, sizeof(text));
	CHECK(!strcmp(text, before));
	socket_names_put(names, -1, little, sizeof(little));
	CHECK(!strcmp(little, "socket:[1]"));
	socket_names_free(names);
}

int main(void)
{
	RUN(lines_of_each_kind);
	RUN(what_says_nothing_has_no_name);
	RUN(a_hostile_path_is_cut_and_safe);
	RUN(own_sockets_have_the_names_that_they_were_given);
	RUN(a_path_with_a_line_end_forges_nothing);
	RUN(each_network_namespace_has_its_sockets);
	RUN(what_there_is_no_room_for_is_cut);
	RUN(what_is_no_socket_stays);
	return test_done();
}

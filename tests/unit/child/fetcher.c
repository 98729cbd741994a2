/* SPDX-License-Identifier: MIT */
/* The child that asks debuginfod servers: what servers of all kinds get out of it, and what it may do beside that. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <ctop/base/write_all.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/fetcher_protocol.h>
#include <ctop/jail/jail.h>

#include "in_child.h"
#include "jailed/child/child_link.h"

/* With servers that are slow on purpose there is little. */
enum { MOST_BYTES = 1 << 20, PATIENCE_S = 60, LITTLE_PATIENCE_S = 2, NOBODY = 65534 };

/* ---- servers ---- */

enum behaviour {
	SENDS,
	SENDS_NONE,
	SENDS_RUBBISH,
	SENDS_FOR_EVER,
	CLAIMS_10_GB,
	SENDS_SLOWLY,
	STALLS,
	SENDS_THE_REQUEST
};

static const char file[] = "what a debug file has";

static void answer(int fd, enum behaviour behaviour)
{
	static const char lots[1 << 16];
	char request[4096] = "";
	if (read(fd, request, sizeof(request) - 1) <= 0)
		return;
	switch (behaviour) {
	case SENDS:
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", sizeof(file) - 1,
			file);
		break;
	case SENDS_NONE:
		dprintf(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
		break;
	case SENDS_RUBBISH:
		write_all(fd, "\x7f\x45\x4c\x46 is no HTTP\r\n\r\n\r\n", 21);
		break;
	case SENDS_FOR_EVER:
		dprintf(fd, "HTTP/1.1 200 OK\r\n\r\n");
		while (write_all(fd, lots, sizeof(lots)) == 0)
			;
		break;
	case CLAIMS_10_GB:
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n");
		while (write_all(fd, lots, sizeof(lots)) == 0)
			;
		break;
	case SENDS_SLOWLY:
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
		while (write(fd, "x", 1) == 1)
			poll(NULL, 0, 100);
		break;
	case STALLS:
		pause();
		break;
	case SENDS_THE_REQUEST:
		request[strcspn(request, "\r\n")] = '\0';
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(request),
			request);
		break;
	}
}

/* The server's process; *port is where. */
static pid_t serve(enum behaviour behaviour, uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(listening >= 0);
	CHECK_EQ(bind(listening, (const struct sockaddr *)&address, size), 0);
	CHECK_EQ(listen(listening, 8), 0);
	CHECK_EQ(getsockname(listening, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		for (;;) {
			int fd = accept(listening, NULL, NULL);
			answer(fd, behaviour);
			close(fd);
		}
	}
	close(listening);
	return pid;
}

/* ---- what comes of asking ---- */

struct asked {
	int error;
	char got[256];
	unsigned nr_reports;
};

static pid_t start(int fd)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		struct channel *channel = channel_new(fd, CHANNEL_CHILD);
		_exit(!channel || jail_enter_as(getuid(), getgid()) || fetcher_child_run(channel));
	}
	close(fd);
	return pid;
}

static struct asked ask_for_source(uint16_t port, const char *cache, uint32_t patience_s,
				   const char *source)
{
	struct fetch_question question = {
		.build_id_size = 20, .patience_s = patience_s, .most_bytes = MOST_BYTES};
	struct fetch_report report = {0};
	struct asked asked = {0};
	int main_fd, child_fd, unused;
	memset(question.build_id, 0xab, sizeof(question.build_id));
	snprintf(question.source, sizeof(question.source), "%s", source);
	snprintf(question.urls, sizeof(question.urls), "http://127.0.0.1:%u", port);
	snprintf(question.cache, sizeof(question.cache), "%s", cache);
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	pid_t pid = start(child_fd);
	struct channel *channel = channel_new(main_fd, CHANNEL_MAIN);
	int fd = memfd_create("fetched", MFD_CLOEXEC);
	CHECK_EQ(channel_send(channel, &question, sizeof(question), fd), 0);
	while (!report.is_last) {
		struct pollfd wait = {.fd = channel_fd(channel), .events = POLLIN};
		CHECK(poll(&wait, 1, -1) == 1);
		CHECK_EQ(channel_receive(channel, &report, sizeof(report), &unused),
			 (long)sizeof(report));
		asked.nr_reports++;
	}
	asked.error = report.error;
	CHECK(pread(fd, asked.got, sizeof(asked.got) - 1, 0) >= 0);
	CHECK(lseek(fd, 0, SEEK_END) <= MOST_BYTES);
	close(fd);
	channel_free(channel);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	if (asked.error == -ENOSYS)
		SKIP("libdebuginfod.so.1 is not installed");
	return asked;
}

static struct asked ask_for(uint16_t port, const char *cache, uint32_t patience_s)
{
	return ask_for_source(port, cache, patience_s, "");
}

static struct asked ask_port(uint16_t port, const char *cache)
{
	return ask_for(port, cache, PATIENCE_S);
}

static void make_directory(char path[])
{
	strcpy(path, "/tmp/ctop-fetcher-XXXXXX");
	CHECK(mkdtemp(path) != NULL);
}

static void remove_directory(const char *path)
{
	char command[256];
	snprintf(command, sizeof(command), "rm -rf %s", path);
	CHECK_EQ(system(command), 0);
}

static struct asked ask_source(enum behaviour behaviour, const char *source)
{
	char cache[64];
	uint16_t port;
	pid_t server = serve(behaviour, &port);
	make_directory(cache);
	const bool is_slow = behaviour == SENDS_SLOWLY || behaviour == STALLS;
	struct asked asked =
		ask_for_source(port, cache, is_slow ? LITTLE_PATIENCE_S : PATIENCE_S, source);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	remove_directory(cache);
	return asked;
}

static struct asked ask(enum behaviour behaviour)
{
	return ask_source(behaviour, "");
}

/* A program says what is in such a path: of the request it is one word, and below the server's root. */
static void paths_of_sources(void)
{
	static const char *const paths[][2] = {
		{"/src/work.c", "/src/work.c"},
		{"/src/a b/../?x=1#y%00&c.c", "/src/a%20b/../%3Fx%3D1%23y%2500%26c.c"},
		{"/../../../../etc/passwd", "/../../../../etc/passwd"},
		{"/\303\244 HTTP/1.1", "/%C3%A4%20HTTP/1.1"},
	};
	char expected[256];
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct asked asked = ask_source(SENDS_THE_REQUEST, paths[i][0]);
		CHECK_EQ(asked.error, 0);
		snprintf(expected, sizeof(expected), "GET /buildid/%s/source%s HTTP/1.1",
			 "abababababababababababababababababababab", paths[i][1]);
		CHECK_STR(asked.got, expected);
	}
	CHECK_EQ(ask_source(SENDS_NONE, "/src/work.c").error, -ENOENT);
	CHECK(ask_source(CLAIMS_10_GB, "/src/work.c").error < 0);
	CHECK(ask_source(SENDS_FOR_EVER, "/src/work.c").error < 0);
}

static void a_server_that_has_it(void)
{
	struct asked asked = ask(SENDS);
	CHECK_EQ(asked.error, 0);
	CHECK_STR(asked.got, file);
	CHECK_EQ(ask(SENDS_NONE).error, -ENOENT);
}

static void nothing_comes_of_servers_that_lie(void)
{
	static const enum behaviour behaviours[] = {SENDS_RUBBISH, SENDS_FOR_EVER, CLAIMS_10_GB};
	for (size_t i = 0; i < sizeof(behaviours) / sizeof(*behaviours); i++) {
		struct asked asked = ask(behaviours[i]);
		CHECK(asked.error < 0);
		CHECK_STR(asked.got, "");
	}
}

static void slow_ones_are_given_up(void)
{
	CHECK_EQ(ask(SENDS_SLOWLY).error, -ETIMEDOUT);
	CHECK_EQ(ask(STALLS).error, -ETIMEDOUT);
}

/* ---- caches ---- */

static void caches_of_others(void)
{
	char cache[64], path[128];
	make_directory(cache);
	snprintf(path, sizeof(path), "%s/debuginfod_client", cache);
	CHECK_EQ(symlink("/tmp", path), 0);
	CHECK(ask_port(1, cache).error == -ENOTDIR || ask_port(1, cache).error == -ELOOP);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(chmod(path, 0770), 0);
	CHECK_EQ(ask_port(1, cache).error, -EPERM);
	CHECK_EQ(chmod(path, 0700), 0);
	if (geteuid() == 0) {
		CHECK_EQ(chown(path, NOBODY, NOBODY), 0);
		CHECK_EQ(ask_port(1, cache).error, -EACCES);
		CHECK_EQ(chmod(path, 0755), 0);
		CHECK_EQ(ask_port(1, cache).error, -EPERM);
		CHECK_EQ(chown(path, 0, 0), 0);
		CHECK_EQ(chown(cache, NOBODY, NOBODY), 0);
		CHECK_EQ(chmod(cache, 0755), 0);
		CHECK_EQ(ask_port(1, cache).error, -EPERM);
	}
	CHECK_EQ(ask_port(1, "/proc/self/environ").error, -ENOTDIR);
	CHECK_EQ(ask_port(1, "/proc/self/none/cache").error, -EACCES);
	remove_directory(cache);
}

/* ---- walls ---- */

static long landlock_version(void)
{
	enum { CREATE_RULESET = 444, VERSION = 1 };
	return syscall(CREATE_RULESET, NULL, (size_t)0, VERSION);
}

static void look_around(void *context)
{
	const char *directory = context;
	char path[128];
	const uid_t uid = geteuid() == 0 ? NOBODY : geteuid();
	if (geteuid() == 0)
		CHECK_EQ(chown(directory, NOBODY, NOBODY), 0);
	CHECK_EQ(jail_enter_as(uid, uid == NOBODY ? NOBODY : getgid()), 0);
	CHECK_EQ(getuid(), uid);
	CHECK(setresuid(0, 0, 0) < 0);
	CHECK_EQ(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(jail_write_below(fd, MOST_BYTES), 0);
	snprintf(path, sizeof(path), "%s/inside", directory);
	int inside = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(inside >= 0);
	CHECK(pwrite(inside, "x", 1, MOST_BYTES) < 0);
	CHECK_EQ(errno, EFBIG);
	CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
	if (jail_sanitized() || landlock_version() < 1)
		SKIP("this kernel has no Landlock, or a sanitizer needs paths");
	CHECK(open("/tmp/ctop-fetcher-outside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0);
	CHECK_EQ(errno, EACCES);
	CHECK(execl("/bin/true", "true", NULL) < 0);
	CHECK_EQ(errno, EACCES);
	if (landlock_version() < 4)
		return;
	const struct sockaddr_in any = {.sin_family = AF_INET};
	CHECK(bind(socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr *)&any, sizeof(any)) <
	      0);
	CHECK_EQ(errno, EACCES);
}

static void what_it_may_do(void)
{
	char directory[64];
	make_directory(directory);
	in_child(look_around, directory);
	remove_directory(directory);
}

int main(void)
{
	RUN(a_server_that_has_it);
	RUN(paths_of_sources);
	RUN(nothing_comes_of_servers_that_lie);
	RUN(slow_ones_are_given_up);
	RUN(caches_of_others);
	RUN(what_it_may_do);
	return test_done();
}

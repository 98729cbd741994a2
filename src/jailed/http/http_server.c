/* SPDX-License-Identifier: MIT */
#include <ctop/http/http_server.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/base/clock.h>
#include <ctop/base/fault.h>
#include <ctop/ipc/channel.h>

#include "microhttpd.h"
#include "request.h"

/* Beyond it nobody is accepted until somebody leaves: they wait in the socket's backlog. */
enum { CONNECTIONS_MOST = 256 };
/* A request's head, and what the library needs beside it. */
enum { HEAD_BYTES = 16 << 10, BLOCK_BYTES = 32 << 10 };
/* Until the head is whole, and from the answer on: who is slower is hung up on. */
#define HEAD_NS (20 * NS_PER_SECOND)
#define READ_NS (120 * NS_PER_SECOND)
/* Answers that are being read; one more is refused. */
#define HELD_BYTES_MOST ((uint64_t)512 << 20)
enum { LOOK_MS = 1000 };

/* One connection has one request. */
struct connection {
	struct connection *prev, *next;
	struct MHD_Connection *mhd;
	int fd; /* the library's */
	uint64_t until_ns;
	bool is_other;	 /* another user's */
	uint64_t id;	 /* main was asked; 0: not yet */
	bool is_waiting; /* for main's answer: the library does not look at it */
	bool has_answer, has_ended;
	struct http_answer answer;
	uint32_t endpoint;
	struct body *body; /* what the answer is made of; NULL: its text */
};

struct server {
	struct microhttpd library;
	struct MHD_Daemon *daemon;
	struct channel *channel;
	struct http_rules rules;
	struct connection *connections;
	uint32_t nr_connections;
	uint64_t last_id, nr_requests, held_bytes;
	uint64_t refused[NR_HTTP_REFUSALS];
};

struct body {
	struct server *server;
	char *bytes;
	size_t size;
};

/* ---- answers ---- */

static ssize_t read_body(void *context, uint64_t position, char *bytes, size_t most)
{
	enum { END = -1 };
	const struct body *body = context;
	if (position >= body->size)
		return END;
	const size_t size = most < body->size - position ? most : (size_t)(body->size - position);
	memcpy(bytes, body->bytes + position, size);
	return (ssize_t)size;
}

static void free_body(void *context)
{
	struct body *body = context;
	body->server->held_bytes -= body->size;
	munmap(body->bytes, body->size);
	free(body);
}

static enum mhd_result queue(const struct server *server, const struct connection *connection,
			     unsigned status, struct MHD_Response *response,
			     const struct http_endpoint_row *endpoint)
{
	const struct microhttpd *library = &server->library;
	char line[128];
	if (!response)
		return MHD_NO;
	library->add_header(response, "Connection", "close");
	library->add_header(response, "Cache-Control", "no-store");
	library->add_header(response, "X-Content-Type-Options", "nosniff");
	library->add_header(response, "Content-Type",
			    endpoint ? endpoint->type : http_endpoints[HTTP_HEALTH].type);
	if (endpoint && endpoint->file) {
		snprintf(line, sizeof(line), "attachment; filename=\"%s\"", endpoint->file);
		library->add_header(response, "Content-Disposition", line);
	}
	if (connection->answer.retry_after_s) {
		snprintf(line, sizeof(line), "%u", connection->answer.retry_after_s);
		library->add_header(response, "Retry-After", line);
	}
	if (status == 401)
		library->add_header(response, "WWW-Authenticate", "Bearer");
	if (status == 405)
		library->add_header(response, "Allow", http_method(connection->endpoint));
	const enum mhd_result result = library->queue(connection->mhd, status, response);
	library->drop(response);
	return result;
}

static enum mhd_result answer_text(const struct server *server, struct connection *connection,
				   unsigned status, const char *text)
{
	char line[HTTP_TEXT_MAX + 1];
	const int size = snprintf(line, sizeof(line), "%s\n", text);
	connection->has_ended = true;
	connection->until_ns = clock_now_ns() + READ_NS;
	return queue(server, connection, status,
		     server->library.of_bytes((size_t)size, line, MHD_MUST_COPY), NULL);
}

/* Main has answered. */
static enum mhd_result hand_on(const struct server *server, struct connection *connection)
{
	const struct http_answer *answer = &connection->answer;
	struct body *body = connection->body;
	const struct http_endpoint_row *endpoint = &http_endpoints[connection->endpoint];
	static const struct http_endpoint_row folded = {.type = "text/plain; charset=utf-8"};
	if (!body)
		return answer_text(server, connection, answer->status, answer->text);
	/* The library's from here on. */
	connection->body = NULL;
	connection->has_ended = true;
	connection->until_ns = clock_now_ns() + READ_NS;
	struct MHD_Response *response =
		server->library.of_reader(body->size, BLOCK_BYTES, read_body, body, free_body);
	if (!response)
		free_body(body);
	return queue(server, connection, answer->status, response,
		     !strcmp(answer->text, "folded") ? &folded : endpoint);
}

/* ---- requests ---- */

static enum mhd_result take_value(void *context, enum mhd_value_kind kind, const char *name,
				  const char *value)
{
	struct http_request *request = context;
	if (kind == MHD_HEADER_KIND)
		http_request_header(request, name, value);
	else
		http_request_argument(request, name, value);
	return MHD_YES;
}

static void look_at(struct server *server, struct connection *connection, const char *path,
		    const char *method, struct http_verdict *verdict)
{
	struct http_request request;
	http_request_begin(&request, &server->rules, method, path);
	server->library.values(connection->mhd, MHD_HEADER_KIND, take_value, &request);
	server->library.values(connection->mhd, MHD_ARGUMENT_KIND, take_value, &request);
	http_request_end(&request, verdict);
	if (connection->is_other)
		http_refuse(verdict, 403, HTTP_OTHER_USER,
			    "this socket is for the user who runs ctop, and root");
}

/* Says `kind` to main, with what is counted here. */
static int say(const struct server *server, struct http_ask *ask, enum http_ask_kind kind)
{
	ask->kind = kind;
	ask->nr_connections = server->nr_connections;
	ask->nr_requests = server->nr_requests;
	memcpy(ask->refused, server->refused, sizeof(ask->refused));
	return channel_send(server->channel, ask, sizeof(*ask), -1);
}

static enum mhd_result take_request(struct server *server, struct connection *connection,
				    const char *path, const char *method)
{
	struct http_verdict verdict;
	server->nr_requests++;
	look_at(server, connection, path, method, &verdict);
	if (verdict.status == 200 && server->held_bytes > HELD_BYTES_MOST)
		http_refuse(&verdict, 503, HTTP_TOO_MUCH,
			    "answers of %u MiB have not been read yet",
			    (unsigned)(server->held_bytes >> 20));
	connection->endpoint = verdict.ask.endpoint;
	if (verdict.status != 200) {
		server->refused[verdict.refusal]++;
		return answer_text(server, connection, verdict.status, verdict.text);
	}
	if (verdict.ask.endpoint == HTTP_HEALTH)
		return answer_text(server, connection, 200, "ok");
	verdict.ask.id = connection->id = ++server->last_id;
	if (say(server, &verdict.ask, HTTP_ASK_ANSWER))
		return MHD_NO;
	connection->is_waiting = true;
	server->library.suspend(connection->mhd);
	return MHD_YES;
}

/* Called once the head is whole, and again when the connection is looked at again. */
static enum mhd_result handle(void *context, struct MHD_Connection *mhd, const char *path,
			      const char *method, const char *version, const char *bytes,
			      size_t *size, void **request)
{
	struct server *server = context;
	struct connection *connection =
		server->library.connection_info(mhd, MHD_CONNECTION_CONTEXT)->context;
	(void)version;
	(void)bytes;
	(void)size;
	(void)request;
	if (!connection || connection->has_ended)
		return MHD_NO;
	if (connection->has_answer)
		return hand_on(server, connection);
	return connection->id ? MHD_YES : take_request(server, connection, path, method);
}

/* ---- connections ---- */

static bool is_other_user(const struct server *server, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (server->rules.port)
		return false;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	       (peer.uid != 0 && peer.uid != server->rules.allowed_uid);
}

static void begin(struct server *server, struct MHD_Connection *mhd, void **context)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	*context = connection;
	if (!connection)
		return;
	connection->mhd = mhd;
	connection->fd = server->library.connection_info(mhd, MHD_CONNECTION_FD)->fd;
	connection->is_other = is_other_user(server, connection->fd);
	connection->until_ns = clock_now_ns() + HEAD_NS;
	DL_APPEND(server->connections, connection);
	server->nr_connections++;
}

static void end(struct server *server, struct connection *connection)
{
	if (!connection)
		return;
	DL_DELETE(server->connections, connection);
	server->nr_connections--;
	if (connection->body)
		free_body(connection->body);
	free(connection);
}

static void notify(void *context, struct MHD_Connection *mhd, void **socket_context,
		   enum mhd_notification what)
{
	if (what == MHD_CONNECTION_STARTED)
		begin(context, mhd, socket_context);
	else
		end(context, *socket_context);
}

static void resume(struct server *server, struct connection *connection)
{
	connection->is_waiting = false;
	connection->has_answer = true;
	server->library.resume(connection->mhd);
}

/* Who waited has hung up: nobody needs the answer. */
static int forget(struct server *server, struct connection *connection)
{
	struct http_ask ask = {.id = connection->id};
	connection->answer = (struct http_answer){.status = 503, .text = "gone"};
	resume(server, connection);
	return say(server, &ask, HTTP_ASK_GONE);
}

static void hang_up_on_the_slow(struct server *server)
{
	const uint64_t now = clock_now_ns();
	struct connection *connection;
	DL_FOREACH(server->connections, connection)
	if (!connection->is_waiting && now > connection->until_ns)
		shutdown(connection->fd, SHUT_RDWR); /* the library closes it */
}

/* ---- main ---- */

/* What main has sealed cannot become shorter. NULL: no memory for it. */
static struct body *map_body(struct server *server, int fd)
{
	struct stat status;
	struct body *body = calloc(1, sizeof(*body));
	if (!body || fstat(fd, &status) || status.st_size <= 0) {
		free(body);
		return NULL;
	}
	body->server = server;
	body->size = (size_t)status.st_size;
	body->bytes = mmap(NULL, body->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (body->bytes == MAP_FAILED) {
		free(body);
		return NULL;
	}
	server->held_bytes += body->size;
	return body;
}

static void take_answer(struct server *server, const struct http_answer *answer, int fd)
{
	struct connection *connection;
	DL_FOREACH(server->connections, connection)
	if (connection->is_waiting && connection->id == answer->id)
		break;
	if (connection) {
		connection->answer = *answer;
		connection->body = fd >= 0 ? map_body(server, fd) : NULL;
		if (fd >= 0 && !connection->body)
			connection->answer = (struct http_answer){
				.status = 503, .text = "no memory for the answer"};
		resume(server, connection);
	}
	if (fd >= 0)
		close(fd);
}

static int take_answers(struct server *server)
{
	for (;;) {
		struct http_answer answer;
		int fd = -1;
		const ssize_t got = channel_receive(server->channel, &answer, sizeof(answer), &fd);
		if (got != (ssize_t)sizeof(answer)) {
			if (fd >= 0)
				close(fd);
			return got == -EAGAIN ? 0 : got == 0 ? -EPIPE : -EPROTO;
		}
		take_answer(server, &answer, fd);
	}
}

/* ---- the loop ---- */

static int timeout_ms(struct server *server)
{
	unsigned long long ms;
	if (server->library.timeout(server->daemon, &ms) == MHD_YES && ms < LOOK_MS)
		return (int)ms;
	return server->connections ? LOOK_MS : -1;
}

static int wait_and_watch(struct server *server, int epoll_fd)
{
	struct pollfd fds[2 + CONNECTIONS_MOST];
	struct connection *waiting[CONNECTIONS_MOST], *connection;
	nfds_t nr = 0;
	int result = 0;
	const bool is_full = channel_waiting(server->channel);
	DL_FOREACH(server->connections, connection)
	if (connection->is_waiting && nr < CONNECTIONS_MOST) {
		waiting[nr] = connection;
		fds[2 + nr++] = (struct pollfd){.fd = connection->fd, .events = POLLRDHUP};
	}
	fds[0] = (struct pollfd){.fd = channel_fd(server->channel),
				 .events = (short)(is_full ? POLLIN | POLLOUT : POLLIN)};
	fds[1] = (struct pollfd){.fd = epoll_fd, .events = POLLIN};
	if (poll(fds, 2 + nr, timeout_ms(server)) < 0)
		return errno == EINTR ? 0 : -errno;
	/* While the library has closed none of them. */
	for (nfds_t i = 0; i < nr && !result; i++)
		if (fds[2 + i].revents)
			result = forget(server, waiting[i]);
	return result || !is_full ? result : channel_flush(server->channel);
}

static int loop(struct server *server)
{
	const int epoll_fd = server->library.daemon_info(server->daemon, MHD_DAEMON_EPOLL_FD)->fd;
	for (;;) {
		int result = wait_and_watch(server, epoll_fd);
		fault_at("turn", "", server->channel);
		if (!result)
			result = take_answers(server);
		if (!result && server->library.run(server->daemon) != MHD_YES)
			result = -EIO;
		if (result)
			return result == -EPIPE ? 0 : result;
		hang_up_on_the_slow(server);
	}
}

static int start(struct server *server, int listener)
{
	const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE;
	if (!microhttpd_load(&server->library))
		return -ENOSYS;
	errno = 0;
	server->daemon = server->library.start(
		flags, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, notify, server, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	return server->daemon ? 0 : errno ? -errno : -EIO;
}

/* The first message, with the socket. */
static int take_rules(struct server *server, int *listener)
{
	struct pollfd poll_fd = {.fd = channel_fd(server->channel), .events = POLLIN};
	while (poll(&poll_fd, 1, -1) < 0)
		if (errno != EINTR)
			return -errno;
	const ssize_t got =
		channel_receive(server->channel, &server->rules, sizeof(server->rules), listener);
	server->rules.token[HTTP_TOKEN_MAX] = '\0';
	return got == (ssize_t)sizeof(server->rules) && *listener >= 0 ? 0 : -EPROTO;
}

int http_serve(struct channel *channel)
{
	static struct server server;
	struct http_ask ready = {.kind = HTTP_ASK_READY};
	int listener = -1;
	server.channel = channel;
	signal(SIGPIPE, SIG_IGN);
	int result = take_rules(&server, &listener);
	if (!result) {
		ready.error = start(&server, listener);
		result = say(&server, &ready, HTTP_ASK_READY);
	}
	if (!result && !ready.error)
		result = loop(&server);
	channel_free(channel);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctop/ipc/protocol.h>

#include "test.h"

/* A channel whose other end is a plain socket, to send what no honest peer would. */
static struct channel *channel_from(int *raw)
{
	int main_fd, child_fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	*raw = main_fd;
	struct channel *channel = channel_new(child_fd, CHANNEL_CHILD);
	CHECK(channel != NULL);
	return channel;
}

static void round_trip_keeps_every_kind(void)
{
	int main_fd, child_fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	struct channel *from = channel_new(main_fd, CHANNEL_MAIN);
	struct channel *to = channel_new(child_fd, CHANNEL_CHILD);
	for (uint32_t kind = MESSAGE_STATUS; kind < NR_MESSAGE_KINDS; kind++) {
		struct message sent = {.kind = kind}, got;
		int fd;
		CHECK_EQ(protocol_send(from, &sent, -1), 0);
		CHECK_EQ(protocol_receive(to, &got, &fd), 1);
		CHECK_EQ(got.kind, kind);
		CHECK_EQ(fd, -1);
	}
	channel_free(from);
	channel_free(to);
}

static void descriptor_travels_with_its_message(void)
{
	int main_fd, child_fd, fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	struct channel *from = channel_new(main_fd, CHANNEL_MAIN);
	struct channel *to = channel_new(child_fd, CHANNEL_CHILD);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct message sent = {.kind = MESSAGE_SOURCE};
	CHECK_EQ(protocol_send(from, &sent, null), 0);
	struct message got;
	CHECK_EQ(protocol_receive(to, &got, &fd), 1);
	CHECK(fd >= 0 && fd != null);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(null);
	channel_free(from);
	channel_free(to);
}

static void nonsense_is_refused(void)
{
	static const struct {
		const char *what;
		uint32_t kind;
		size_t size;
	} cases[] = {
		{"kind 0", 0, 4},
		{"unknown kind", NR_MESSAGE_KINDS, 4},
		{"huge kind", UINT32_MAX, 4},
		{"three bytes", MESSAGE_START, 3},
		{"short config", MESSAGE_CONFIG, 8},
		{"long start", MESSAGE_START, 8},
		{"whole union for a small kind", MESSAGE_DOUBLE, sizeof(struct message)},
	};
	int raw, fd;
	struct channel *channel = channel_from(&raw);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct message message = {.kind = cases[i].kind};
		CHECK_EQ(send(raw, &message, cases[i].size, 0), cases[i].size);
		CHECK_EQ(protocol_receive(channel, &message, &fd), -EPROTO);
		CHECK_EQ(fd, -1);
	}
	channel_free(channel);
	close(raw);
}

/* Sends a message of the right size as it is, and says what the receiver thinks of it. */
static int received(int raw, struct channel *channel, struct message *message, size_t size)
{
	int fd;
	CHECK_EQ(send(raw, message, size, 0), size);
	return protocol_receive(channel, message, &fd);
}

#define BODY(member) (offsetof(struct message, member) + sizeof(((struct message *)0)->member))

static void counts_are_checked(void)
{
	int raw;
	struct channel *channel = channel_from(&raw);
	struct message ids = {.kind = MESSAGE_IDS, .ids = {.nr = PROTOCOL_IDS_MAX + 1}};
	CHECK_EQ(received(raw, channel, &ids, BODY(ids)), -EPROTO);
	struct message pids = {.kind = MESSAGE_PIDS, .pids = {.nr = UINT32_MAX}};
	CHECK_EQ(received(raw, channel, &pids, BODY(pids)), -EPROTO);
	struct message threads = {.kind = MESSAGE_THREADS,
				  .threads = {.nr = PROTOCOL_THREADS_MAX + 1}};
	CHECK_EQ(received(raw, channel, &threads, BODY(threads)), -EPROTO);
	struct message module = {.kind = MESSAGE_MODULE, .module = {.build_id_size = 21}};
	CHECK_EQ(received(raw, channel, &module, BODY(module)), -EPROTO);
	struct message positive = {.kind = MESSAGE_PROCESS, .process = {.error = 1}};
	CHECK_EQ(received(raw, channel, &positive, BODY(process)), -EPROTO);
	struct message backwards = {.kind = MESSAGE_NEED_CODE, .code = {.start = 1}};
	CHECK_EQ(received(raw, channel, &backwards, BODY(code)), -EPROTO);
	struct message much = {.kind = MESSAGE_NEED_CODE, .code = {.end = PROTOCOL_CODE_MAX + 1}};
	CHECK_EQ(received(raw, channel, &much, BODY(code)), -EPROTO);
	channel_free(channel);
	close(raw);
}

static void bools_are_checked(void)
{
	int raw;
	struct channel *channel = channel_from(&raw);
	struct message config = {.kind = MESSAGE_CONFIG, .config = {.leaf_only = true}};
	CHECK_EQ(received(raw, channel, &config, BODY(config)), 1);
	memset(&config.config.leaf_only, 2, 1);
	CHECK_EQ(received(raw, channel, &config, BODY(config)), -EPROTO);
	struct message event = {.kind = MESSAGE_EVENT};
	event.event.unit = NR_WEIGHT_UNITS;
	CHECK_EQ(received(raw, channel, &event, BODY(event)), -EPROTO);
	channel_free(channel);
	close(raw);
}

static void strings_end(void)
{
	int raw;
	struct channel *channel = channel_from(&raw);
	struct message done = {.kind = MESSAGE_DONE};
	memset(done.result.cause, 'x', sizeof(done.result.cause));
	CHECK_EQ(received(raw, channel, &done, BODY(result)), 1);
	CHECK_EQ(strlen(done.result.cause), sizeof(done.result.cause) - 1);
	struct message threads = {.kind = MESSAGE_THREADS, .threads = {.nr = 1}};
	memset(threads.threads.threads[0].comm, 'y', COMM_MAX);
	CHECK_EQ(received(raw, channel, &threads, BODY(threads)), 1);
	CHECK_EQ(strlen(threads.threads.threads[0].comm), COMM_MAX - 1);
	channel_free(channel);
	close(raw);
}

static void end_of_the_peer_is_seen(void)
{
	int raw, fd;
	struct message message;
	struct channel *channel = channel_from(&raw);
	CHECK_EQ(protocol_receive(channel, &message, &fd), -EAGAIN);
	close(raw);
	CHECK_EQ(protocol_receive(channel, &message, &fd), 0);
	channel_free(channel);
}

int main(void)
{
	RUN(round_trip_keeps_every_kind);
	RUN(descriptor_travels_with_its_message);
	RUN(nonsense_is_refused);
	RUN(counts_are_checked);
	RUN(bools_are_checked);
	RUN(strings_end);
	RUN(end_of_the_peer_is_seen);
	return test_done();
}

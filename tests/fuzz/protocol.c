/* SPDX-License-Identifier: MIT */
/*
 * Messages over a channel, to main's end or a child's (bit 0 of the first byte). Each is a byte of
 * flags, the kind, a length of two bytes and as many bytes of body. What protocol_receive() lets
 * through holds what it promises: counts in range, strings that end, descriptors for children only.
 */
#include <errno.h>
#include <sys/socket.h>

#include <ctop/ipc/protocol.h>

#include "fuzz.h"

enum { WITH_DESCRIPTOR = 1, RIGHT_SIZE = 2 };

#define ENDS(string) REQUIRE(memchr((string), '\0', sizeof(string)))

/* A bool that holds anything else is no bool: the compiler counts on it. */
static void check_bool(const bool *value)
{
	uint8_t byte;
	memcpy(&byte, value, sizeof(byte));
	REQUIRE(byte <= 1);
}

static void check(const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_CONFIG:
		check_bool(&message->config.format.sample_id_all);
		check_bool(&message->config.frame_pointers);
		check_bool(&message->config.leaf_only);
		check_bool(&message->config.filters_pids);
		check_bool(&message->config.drop_own);
		check_bool(&message->config.filters_comm);
		check_bool(&message->config.filters_uid);
		ENDS(message->config.comm);
		REQUIRE(message->config.sets[0].nr <= SAMPLER_MAX_SETS);
		REQUIRE(message->config.sets[1].nr <= SAMPLER_MAX_SETS);
		break;
	case MESSAGE_EVENT:
		ENDS(message->event.asked);
		ENDS(message->event.opened);
		check_bool(&message->event.paced);
		REQUIRE(message->event.unit < NR_WEIGHT_UNITS);
		break;
	case MESSAGE_IDS:
		REQUIRE(message->ids.nr <= PROTOCOL_IDS_MAX);
		break;
	case MESSAGE_PIDS:
		REQUIRE(message->pids.nr <= PROTOCOL_PIDS_MAX);
		break;
	case MESSAGE_THREADS:
		REQUIRE(message->threads.nr <= PROTOCOL_THREADS_MAX);
		for (uint32_t i = 0; i < message->threads.nr; i++)
			ENDS(message->threads.threads[i].comm);
		break;
	case MESSAGE_MODULE:
	case MESSAGE_DEBUG_FILE:
	case MESSAGE_NEED_MODULE:
	case MESSAGE_NEED_DEBUG_FILE:
		ENDS(message->module.name);
		REQUIRE(message->module.build_id_size <= sizeof(message->module.build_id));
		REQUIRE(message->module.error <= 0);
		break;
	case MESSAGE_OWNER:
	case MESSAGE_NEED_OWNER:
		REQUIRE(message->owner.error <= 0);
		break;
	case MESSAGE_PROCESS:
	case MESSAGE_NEED_PROCESS:
		REQUIRE(message->process.error <= 0);
		break;
	case MESSAGE_MAPPED:
	case MESSAGE_DONE:
		ENDS(message->result.cause);
		REQUIRE(message->result.error <= 0);
		break;
	default:
		REQUIRE(message->kind > 0 && message->kind < NR_MESSAGE_KINDS);
		break;
	}
}

static void send_raw(int socket, const void *bytes, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
	}
	REQUIRE(sendmsg(socket, &header, 0) == (ssize_t)size);
}

/* Sends the next message of the input, of the size that its kind has or of its own. */
static void send_next(struct input *input, struct channel *sender)
{
	unsigned flags = input_u8(input);
	struct message message;
	memset(&message, 0, sizeof(message));
	message.kind = input_u8(input);
	size_t body = input_u16(input);
	const uint8_t *bytes = input_bytes(input, &body);
	size_t room = sizeof(message) - sizeof(message.kind);
	body = body < room ? body : room;
	memcpy((uint8_t *)&message + sizeof(message.kind), bytes, body);
	int fd = flags & WITH_DESCRIPTOR ? fuzz_file("", 0) : -1;
	if (flags & RIGHT_SIZE && message.kind && message.kind < NR_MESSAGE_KINDS)
		REQUIRE(protocol_send(sender, &message, fd) == 0);
	else
		send_raw(channel_fd(sender), &message, sizeof(message.kind) + body, fd);
	if (fd >= 0)
		close(fd);
}

static void receive(struct channel *receiver, bool is_main)
{
	struct message *message = malloc(sizeof(*message)); /* uninitialised, as a caller's is */
	REQUIRE(message != NULL);
	int fd = -2;
	int got = protocol_receive(receiver, message, &fd);
	REQUIRE(got == 1 || got == -EPROTO);
	REQUIRE(fd == -1 || (got == 1 && !is_main && fcntl(fd, F_GETFD) == FD_CLOEXEC));
	if (got == 1)
		check(message);
	if (fd >= 0)
		close(fd);
	free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	int open_before = fuzz_open_descriptors();
	bool is_main = input_u8(&input) & 1;
	int near, far;
	REQUIRE(channel_pair(&near, &far) == 0);
	struct channel *receiver = channel_new(near, is_main ? CHANNEL_MAIN : CHANNEL_CHILD);
	/* Main's kind of end sends descriptors, whoever listens: a hostile child would, too. */
	struct channel *sender = channel_new(far, CHANNEL_MAIN);
	REQUIRE(receiver && sender);
	while (input.left) {
		send_next(&input, sender);
		receive(receiver, is_main);
	}
	struct message message;
	int fd;
	REQUIRE(protocol_receive(receiver, &message, &fd) == -EAGAIN);
	channel_free(sender);
	REQUIRE(protocol_receive(receiver, &message, &fd) == 0);
	channel_free(receiver);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}

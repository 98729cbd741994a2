/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctop/ipc/channel.h>

#include "test.h"

struct ends {
	struct channel *main, *child;
};

static struct ends open_ends(void)
{
	int main_fd, child_fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	struct ends ends = {channel_new(main_fd, CHANNEL_MAIN),
			    channel_new(child_fd, CHANNEL_CHILD)};
	CHECK(ends.main && ends.child);
	return ends;
}

static void close_ends(struct ends *ends)
{
	channel_free(ends->main);
	channel_free(ends->child);
}

/* Sends descriptors as an attacker at the other end would, whatever his channel would refuse. */
static void send_raw(int socket, const char *message, const int *fds, size_t nr)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = strlen(message)};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
	CHECK(nr <= 8);
	header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(rights), fds, nr * sizeof(int));
	CHECK_EQ(sendmsg(socket, &header, 0), strlen(message));
}

static void receive_string(struct channel *channel, const char *wanted)
{
	char message[64] = {0};
	int fd;
	CHECK_EQ(channel_receive(channel, message, sizeof(message) - 1, &fd), strlen(wanted));
	CHECK_STR(message, wanted);
	CHECK_EQ(fd, -1);
}

/* True once nobody holds a write end of the pipe any more. */
static bool pipe_is_closed(int read_fd)
{
	struct pollfd poll_fd = {.fd = read_fd, .events = POLLIN};
	CHECK(poll(&poll_fd, 1, 0) >= 0);
	return poll_fd.revents & POLLHUP;
}

static void messages_arrive_whole_and_in_order(void)
{
	struct ends ends = open_ends();
	CHECK_EQ(channel_send(ends.main, "one", 3, -1), 0);
	CHECK_EQ(channel_send(ends.main, "two", 3, -1), 0);
	CHECK_EQ(channel_send(ends.child, "back", 4, -1), 0);
	receive_string(ends.child, "one");
	receive_string(ends.child, "two");
	receive_string(ends.main, "back");
	CHECK(!channel_waiting(ends.main));
	close_ends(&ends);
}

static void an_empty_channel_says_try_again(void)
{
	struct ends ends = open_ends();
	char message[8];
	int fd;
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), -EAGAIN);
	CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), -EAGAIN);
	CHECK(fcntl(channel_fd(ends.main), F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(channel_fd(ends.child), F_GETFD) & FD_CLOEXEC);
	close_ends(&ends);
}

static void sizes_are_bounded(void)
{
	struct ends ends = open_ends();
	static char sent[CHANNEL_MESSAGE_MAX + 1], got[CHANNEL_MESSAGE_MAX];
	int fd;
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)(i * 7);
	CHECK_EQ(channel_send(ends.main, sent, 0, -1), -EMSGSIZE);
	CHECK_EQ(channel_send(ends.main, sent, CHANNEL_MESSAGE_MAX + 1, -1), -EMSGSIZE);
	CHECK_EQ(channel_send(ends.main, sent, CHANNEL_MESSAGE_MAX, -1), 0);
	CHECK_EQ(channel_receive(ends.child, got, sizeof(got), &fd), CHANNEL_MESSAGE_MAX);
	CHECK(memcmp(sent, got, sizeof(got)) == 0);
	close_ends(&ends);
}

static void a_message_too_long_for_the_reader_is_dropped_alone(void)
{
	struct ends ends = open_ends();
	int fds[2], fd;
	char small[4];
	CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
	CHECK_EQ(channel_send(ends.main, "too long", 8, fds[1]), 0);
	CHECK_EQ(channel_send(ends.main, "fits", 4, -1), 0);
	close(fds[1]);
	CHECK_EQ(channel_receive(ends.child, small, sizeof(small), &fd), -EMSGSIZE);
	CHECK_EQ(fd, -1);
	CHECK(pipe_is_closed(fds[0])); /* its descriptor went with it */
	receive_string(ends.child, "fits");
	close(fds[0]);
	close_ends(&ends);
}

static void a_descriptor_travels_from_main_to_child(void)
{
	struct ends ends = open_ends();
	int fds[2], fd;
	char message[8];
	CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
	CHECK_EQ(channel_send(ends.main, "fd", 2, fds[1]), 0);
	CHECK(fcntl(fds[1], F_GETFD) >= 0); /* the caller keeps his own */
	close(fds[1]);
	CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), 2);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(write(fd, "x", 1), 1);
	CHECK_EQ(read(fds[0], message, 1), 1);
	close(fd);
	CHECK(pipe_is_closed(fds[0]));
	close(fds[0]);
	close_ends(&ends);
}

static void a_child_may_not_send_a_descriptor(void)
{
	struct ends ends = open_ends();
	char message[8];
	int fd;
	CHECK_EQ(channel_send(ends.child, "fd", 2, STDIN_FILENO), -EPERM);
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), -EAGAIN);
	close_ends(&ends);
}

static void main_closes_descriptors_that_it_was_sent(void)
{
	struct ends ends = open_ends();
	int fds[2], fd;
	char message[8];
	CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
	const int many[] = {fds[1], fds[1], fds[1]};
	send_raw(channel_fd(ends.child), "evil", many, 1);
	send_raw(channel_fd(ends.child), "worse", many, 3);
	close(fds[1]);
	CHECK(!pipe_is_closed(fds[0])); /* they are still under way */
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), -EPROTO);
	CHECK_EQ(fd, -1);
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), -EPROTO);
	CHECK_EQ(fd, -1);
	CHECK(pipe_is_closed(fds[0]));
	CHECK_EQ(channel_send(ends.child, "good", 4, -1), 0);
	receive_string(ends.main, "good");
	close(fds[0]);
	close_ends(&ends);
}

static void a_child_takes_one_descriptor_a_message(void)
{
	struct ends ends = open_ends();
	int fds[2], fd;
	char message[8];
	CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
	const int many[] = {fds[1], fds[1], fds[1], fds[1]};
	for (size_t nr = 2; nr <= 4; nr++) {
		send_raw(channel_fd(ends.main), "many", many, nr);
		CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), 4);
		CHECK(fd >= 0);
		close(fd);
	}
	close(fds[1]);
	CHECK(pipe_is_closed(fds[0])); /* no second one came in unnoticed */
	close(fds[0]);
	close_ends(&ends);
}

static void a_child_without_room_for_a_descriptor_gets_the_message(void)
{
	struct ends ends = open_ends();
	struct rlimit before, none;
	char message[8] = {0};
	int fd;
	CHECK_EQ(channel_send(ends.main, "answer", 6, STDIN_FILENO), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	ssize_t got = channel_receive(ends.child, message, sizeof(message), &fd);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(got, 6);
	CHECK_STR(message, "answer");
	CHECK_EQ(fd, -1);
	close_ends(&ends);
}

/* Sends numbers until the socket takes no more and one message waits; returns how many were sent. */
static uint32_t fill_socket(struct channel *channel)
{
	uint32_t nr = 0;
	while (!channel_waiting(channel)) {
		CHECK_EQ(channel_send(channel, &nr, sizeof(nr), -1), 0);
		nr++;
	}
	return nr;
}

static void what_waits_is_bounded_and_kept_in_order(void)
{
	struct ends ends = open_ends();
	uint32_t nr = fill_socket(ends.main);
	for (unsigned waiting = 1; waiting < CHANNEL_QUEUE_MAX; waiting++, nr++)
		CHECK_EQ(channel_send(ends.main, &nr, sizeof(nr), -1), 0);
	CHECK_EQ(channel_send(ends.main, &nr, sizeof(nr), -1), -ENOBUFS);
	CHECK_EQ(channel_flush(ends.main), 0); /* the reader has not moved */
	CHECK(channel_waiting(ends.main));

	uint32_t got, wanted = 0;
	int fd;
	while (wanted < nr) {
		ssize_t size = channel_receive(ends.child, &got, sizeof(got), &fd);
		if (size == -EAGAIN) {
			CHECK(channel_waiting(ends.main));
			CHECK_EQ(channel_flush(ends.main), 0);
			continue;
		}
		CHECK_EQ(size, sizeof(got));
		CHECK_EQ(got, wanted);
		wanted++;
	}
	CHECK(!channel_waiting(ends.main));
	CHECK_EQ(channel_receive(ends.child, &got, sizeof(got), &fd), -EAGAIN);
	close_ends(&ends);
}

static void a_waiting_descriptor_is_a_duplicate(void)
{
	struct ends ends = open_ends();
	int fds[2], fd;
	char message[8];
	CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
	uint32_t nr = fill_socket(ends.main);
	CHECK_EQ(channel_send(ends.main, "last", 4, fds[1]), 0);
	close(fds[1]);
	CHECK(!pipe_is_closed(fds[0]));
	for (uint32_t i = 0; i < nr; i++) {
		CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), 4);
		CHECK_EQ(channel_flush(ends.main), 0);
	}
	CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), 4);
	CHECK(fd >= 0);
	close(fd);
	CHECK(pipe_is_closed(fds[0]));

	/* One that still waits when the channel is freed is closed with it. */
	int again[2];
	CHECK_EQ(pipe2(again, O_CLOEXEC), 0);
	fill_socket(ends.main);
	CHECK_EQ(channel_send(ends.main, "lost", 4, again[1]), 0);
	close(again[1]);
	close_ends(&ends);
	CHECK(pipe_is_closed(again[0]));
	close(again[0]);
	close(fds[0]);
}

static void out_of_descriptors_the_queue_says_so(void)
{
	struct ends ends = open_ends();
	fill_socket(ends.main);
	struct rlimit before, none;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	int sent = channel_send(ends.main, "fd", 2, STDERR_FILENO);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(sent, -EMFILE);
	close_ends(&ends);
}

static void the_other_ends_death_is_told_not_signalled(void)
{
	struct ends ends = open_ends();
	char message[8];
	int fd;
	CHECK_EQ(channel_send(ends.child, "last words", 10, -1), 0);
	channel_free(ends.child);
	CHECK_EQ(channel_send(ends.main, "hello", 5, -1), -EPIPE); /* no SIGPIPE: we live */
	char words[16];
	CHECK_EQ(channel_receive(ends.main, words, sizeof(words), &fd), 10);
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), 0);
	channel_free(ends.main);
}

static void a_death_with_mail_unread_is_a_death_too(void)
{
	struct ends ends = open_ends();
	char message[8];
	int fd;
	fill_socket(ends.main);
	channel_free(ends.child);
	/* The kernel reports a reset here, once. */
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), 0);
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), 0);
	CHECK_EQ(channel_flush(ends.main), -EPIPE);
	channel_free(ends.main);
}

static void free_takes_null(void)
{
	channel_free(NULL);
}

/* What main has for a child, a descriptor above all, stays with main until the child says that it is jailed. */
static void nothing_goes_out_before_the_hello(void)
{
	struct ends ends = open_ends();
	char message[64] = {0};
	int fds[2], fd;
	CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
	channel_hold(ends.main);
	CHECK_EQ(channel_send(ends.main, "pipe", 4, fds[1]), 0);
	CHECK_EQ(channel_flush(ends.main), 0);
	CHECK(!channel_waiting(ends.main)); /* not for room in the socket */
	CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), -EAGAIN);
	CHECK_EQ(channel_receive(ends.main, message, sizeof(message), &fd), -EAGAIN);
	CHECK_EQ(channel_await_hello(ends.main, 0), -ETIMEDOUT);
	CHECK(channel_held(ends.main));

	CHECK_EQ(channel_say_hello(ends.child, 7), 0);
	CHECK_EQ(channel_send(ends.child, "answer", 6, -1), 0);
	receive_string(ends.main, "answer"); /* the hello is no message */
	CHECK(!channel_held(ends.main));
	CHECK_EQ(channel_hello_word(ends.main), 7);
	CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), 4);
	CHECK(fd >= 0);
	close(fd);
	close(fds[0]);
	close(fds[1]);
	close_ends(&ends);
}

static void what_is_no_hello_opens_nothing(void)
{
	static const char *const words[] = {"hello", "something that is longer than a hello"};
	for (size_t i = 0; i < 2; i++) {
		struct ends ends = open_ends();
		char message[64];
		int fd;
		channel_hold(ends.main);
		CHECK_EQ(channel_send(ends.main, "secret", 6, -1), 0);
		CHECK_EQ(channel_send(ends.child, words[i], strlen(words[i]), -1), 0);
		CHECK(channel_receive(ends.main, message, sizeof(message), &fd) == -EPROTO);
		CHECK(channel_held(ends.main));
		CHECK_EQ(channel_receive(ends.child, message, sizeof(message), &fd), -EAGAIN);
		channel_free(ends.child);
		CHECK_EQ(channel_await_hello(ends.main, -1), -EPIPE);
		channel_free(ends.main);
	}
}

int main(void)
{
	RUN(messages_arrive_whole_and_in_order);
	RUN(an_empty_channel_says_try_again);
	RUN(sizes_are_bounded);
	RUN(a_message_too_long_for_the_reader_is_dropped_alone);
	RUN(a_descriptor_travels_from_main_to_child);
	RUN(a_child_may_not_send_a_descriptor);
	RUN(main_closes_descriptors_that_it_was_sent);
	RUN(a_child_takes_one_descriptor_a_message);
	RUN(a_child_without_room_for_a_descriptor_gets_the_message);
	RUN(what_waits_is_bounded_and_kept_in_order);
	RUN(a_waiting_descriptor_is_a_duplicate);
	RUN(out_of_descriptors_the_queue_says_so);
	RUN(the_other_ends_death_is_told_not_signalled);
	RUN(a_death_with_mail_unread_is_a_death_too);
	RUN(free_takes_null);
	RUN(nothing_goes_out_before_the_hello);
	RUN(what_is_no_hello_opens_nothing);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_CHANNEL_H
#define CTOP_IPC_CHANNEL_H

/*
 * Messages between main and a jailed child: datagrams over a SEQPACKET
 * socketpair, each with at most one descriptor, which only travels from main
 * to a child (a child's channel refuses to send one, main's to accept one).
 * Neither end ever blocks: what the socket does not take at once waits in a
 * queue bounded at CHANNEL_QUEUE_MAX messages.
 *
 * Other processes of its user may still look into a child that was just started. Main therefore holds back
 * what it sends, descriptors above all, until the child has said hello: that it is jailed.
 *
 * A channel knows bytes, not what they mean; see ipc/protocol.h for that.
 * What arrives is input: the receiver checks sizes before use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHANNEL_MESSAGE_MAX = 8192, CHANNEL_QUEUE_MAX = 4096 };

enum channel_end { CHANNEL_MAIN, CHANNEL_CHILD };

struct channel;

/* Makes a connected, non-blocking, close-on-exec pair of descriptors. 0 or -errno. */
int channel_pair(int *main_fd, int *child_fd);

/* Takes fd over; NULL when out of memory (fd is then closed). */
struct channel *channel_new(int fd, enum channel_end end);
void channel_free(struct channel *channel); /* closes; NULL is fine */
int channel_fd(const struct channel *channel);

/* Main's end: what is sent waits until the other end has said hello, which channel_receive() takes. */
void channel_hold(struct channel *channel);
/* True until then. */
bool channel_held(const struct channel *channel);
/* The child's end, first of all: a word about itself, for channel_hello_word(). 0 or -errno (-EPIPE: main is gone). */
int channel_say_hello(struct channel *channel, uint32_t word);
uint32_t channel_hello_word(const struct channel *channel);
/* For who has no loop. 0, -ETIMEDOUT, -EPIPE when the other end is gone, -EPROTO when it said something else. */
int channel_await_hello(struct channel *channel, int timeout_ms);

/*
 * Sends or queues one message; fd is -1 or a descriptor, which is duplicated (the
 * caller keeps his own). 0, -EMSGSIZE (also for an empty message, which would read
 * as the end), -ENOBUFS when the queue is full, -ENOMEM, -EMFILE, -EPERM for a
 * child that sends a descriptor, -EPIPE when the other end is gone.
 */
int channel_send(struct channel *channel, const void *message, size_t size, int fd);
/* Writes what waits; call it when poll says POLLOUT. 0 or -errno (-EPIPE: gone). */
int channel_flush(struct channel *channel);
/* True while something waits for POLLOUT; never before the hello. */
bool channel_waiting(const struct channel *channel);
/*
 * Receives one message of at most size bytes; *fd is the descriptor that came
 * along, close-on-exec, the caller's from now on, or -1 (also when one came along
 * but this process has as many as it may: the message still counts). Returns the message's
 * bytes, 0 when the other end is gone, -EAGAIN when there is none, -EMSGSIZE
 * when it was longer than size, -EPROTO when main's end was sent a descriptor (closed), or something else than
 * the hello that it waits for.
 */
ssize_t channel_receive(struct channel *channel, void *message, size_t size, int *fd);

#endif

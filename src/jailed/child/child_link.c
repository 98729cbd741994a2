/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void child_link_init(struct child_link *link, struct channel *channel, bool tables_writable)
{
	*link = (struct child_link){
		.channel = channel,
		.to_main = -1,
		.to_child = -1,
		.tables_writable = tables_writable,
	};
}

void child_link_drop(struct tables *tables, struct symbols *symbols)
{
	if (tables) {
		tables_unmap(tables);
		free(tables);
	}
	if (symbols) {
		symbols_unmap(symbols);
		free(symbols);
	}
}

void child_link_release(struct child_link *link)
{
	child_link_drop(link->tables, link->symbols);
	if (link->status)
		munmap(link->status, sizeof(*link->status));
	if (link->to_main >= 0)
		close(link->to_main);
	if (link->to_child >= 0)
		close(link->to_child);
	channel_free(link->channel);
}

static int set_status(struct child_link *link, int fd)
{
	void *page =
		mmap(NULL, sizeof(struct child_status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	link->status = page;
	return 0;
}

static int set_symbols(struct child_link *link, int fd)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	int result = symbols_map(symbols, fd, &symbols_capacity_default, true);
	if (result)
		free(symbols);
	else
		link->symbols = symbols;
	return result;
}

static int set_tables(struct child_link *link, int fd)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	int result = tables_map(tables, fd, &tables_capacity_default, link->tables_writable);
	if (result)
		free(tables);
	else
		link->tables = tables;
	return result;
}

int child_link_handle(struct child_link *link, const struct message *message, int fd,
		      bool *new_epoch)
{
	int result = 0;
	*new_epoch = false;
	switch (message->kind) {
	case MESSAGE_TO_MAIN:
		link->to_main = fd;
		return 1;
	case MESSAGE_TO_CHILD:
		link->to_child = fd;
		return 1;
	case MESSAGE_STATUS:
		result = set_status(link, fd);
		break;
	case MESSAGE_SYMBOLS:
		result = set_symbols(link, fd);
		break;
	case MESSAGE_TABLES:
		result = set_tables(link, fd);
		link->epoch = message->epoch.epoch;
		*new_epoch = !result;
		break;
	default:
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return result ? result : 1;
}

int child_await_question(struct channel *channel)
{
	struct pollfd poll_fd = {.fd = channel_fd(channel), .events = POLLIN};
	while (poll(&poll_fd, 1, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void child_link_tell_main(const struct child_link *link)
{
	static const uint64_t one = 1;
	if (link->to_main >= 0 && write(link->to_main, &one, sizeof(one)) < 0)
		return; /* full: main has not looked at the last one yet */
}

int child_link_wait(struct child_link *link, int timeout_ms)
{
	struct pollfd fds[2] = {
		{.fd = channel_fd(link->channel),
		 .events = (short)(channel_waiting(link->channel) ? POLLIN | POLLOUT : POLLIN)},
		{.fd = link->to_child, .events = POLLIN},
	};
	if (poll(fds, 2, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	uint64_t count;
	if (fds[1].revents && read(link->to_child, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	return fds[0].revents & POLLOUT ? channel_flush(link->channel) : 0;
}

void child_link_done(struct child_link *link, int result, const char *cause)
{
	struct message message = {.kind = MESSAGE_DONE, .result = {.error = result}};
	snprintf(message.result.cause, sizeof(message.result.cause), "%s", cause);
	protocol_send(link->channel, &message, -1);
	while (channel_waiting(link->channel) && child_link_wait(link, -1) == 0)
		;
}

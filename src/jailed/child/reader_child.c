/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/base/error.h>
#include <ctop/base/fault.h>
#include <ctop/reader/recording_reader.h>

struct reader_child {
	struct child_link link;
	int source_fd;
	bool started;
	/* Regions of epochs before: the reader of the format holds on to them until it has begun the next. */
	struct tables *old_tables;
	struct symbols *old_symbols;
};

/* Waits for messages and handles those that are there. *new_epoch: TABLES came. 0 or -errno. */
static int pump(struct reader_child *child, bool *new_epoch)
{
	*new_epoch = false;
	fault_at("turn", "", child->link.channel);
	int result = child_link_wait(&child->link, -1);
	while (!result && !*new_epoch) {
		struct message message;
		int fd = -1;
		int got = protocol_receive(child->link.channel, &message, &fd);
		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return got ? got : -EPIPE;
		result = child_link_handle(&child->link, &message, fd, new_epoch);
		if (result == 1) {
			result = 0;
		} else if (result == 0 && message.kind == MESSAGE_SOURCE) {
			child->source_fd = fd;
		} else if (result == 0 && message.kind == MESSAGE_START) {
			child->started = true;
		} else if (result == 0 && message.kind != MESSAGE_STOP) {
			result = -EPROTO;
		}
	}
	return result;
}

static int begin_epoch(void *context, struct tables **tables, struct symbols **symbols)
{
	struct reader_child *child = context;
	child_link_tell_main(&child->link);
	child_link_drop(child->old_tables, child->old_symbols);
	child->old_tables = child->link.tables;
	child->old_symbols = child->link.symbols;
	child->link.tables = NULL;
	child->link.symbols = NULL;
	const struct message message = {.kind = MESSAGE_NEED_TABLES};
	int result = protocol_send(child->link.channel, &message, -1);
	bool new_epoch = false;
	while (!result && !new_epoch)
		result = pump(child, &new_epoch);
	if (!result && !child->link.symbols)
		result = -EPROTO;
	*tables = child->link.tables;
	*symbols = child->link.symbols;
	return result;
}

static int wait_room(void *context)
{
	struct reader_child *child = context;
	child_link_tell_main(&child->link);
	bool new_epoch;
	return pump(child, &new_epoch);
}

/* Damage is no error: main tells of it beside what remains. */
static int tell_what_was_read(const struct reader_child *child, const struct recording_read *read)
{
	const struct message message = {.kind = MESSAGE_READ, .read = *read};
	return protocol_send(child->link.channel, &message, -1);
}

static int read_source(struct reader_child *child, struct error *error)
{
	bool new_epoch;
	int result = 0;
	while (!result && !child->started)
		result = pump(child, &new_epoch);
	if (result)
		return result;
	const struct recording_sink sink = {child, begin_epoch, wait_room};
	struct recording_read read;
	result = recording_read(child->source_fd, &sink, &read, error);
	return result ? result : tell_what_was_read(child, &read);
}

int reader_child_run(struct channel *channel)
{
	struct reader_child child = {.source_fd = -1};
	struct error error = {0};
	child_link_init(&child.link, channel, true);
	int result = read_source(&child, &error);
	child_link_tell_main(&child.link);
	child_link_done(&child.link, result, error.cause);
	child_link_drop(child.old_tables, child.old_symbols);
	if (child.source_fd >= 0)
		close(child.source_fd);
	child_link_release(&child.link);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/fault.h>
#include <ctop/symbolizer/symbolizer.h>

/* Frames named between two looks at the channel. */
enum { FRAMES_A_TURN = 512 };
/* Whose lines are looked up, which takes longer. */
enum { LINES_A_TURN = 32 };
/* How often perf maps are read again for frames without a name. */
enum { REFRESH_MS = 1000 };

struct symbolizer_child {
	struct child_link link;
	struct symbolizer *symbolizer;
	/* In use by the symbolizer: what an epoch replaces stays mapped until it has been left. */
	struct tables *tables;
	struct symbols *symbols;
	bool wants_lines, keeps_code;
	int error;
};

static void need_module(void *context, struct module_id module, const struct module_row *row)
{
	(void)row; /* main reads it from the tables, by its own rules */
	struct symbolizer_child *child = context;
	const struct message message = {
		.kind = MESSAGE_NEED_MODULE,
		.module = {.epoch = child->link.epoch, .module = module.index},
	};
	int result = protocol_send(child->link.channel, &message, -1);
	if (result)
		child->error = result;
}

static void need_debug_file(void *context, struct module_id module, enum debug_file which,
			    const uint8_t *build_id, size_t build_id_size, const char *debuglink,
			    uint64_t unit)
{
	struct symbolizer_child *child = context;
	struct message message = {
		.kind = MESSAGE_NEED_DEBUG_FILE,
		.module = {.epoch = child->link.epoch,
			   .module = module.index,
			   .which = which,
			   .unit = unit},
	};
	if (build_id_size <= sizeof(message.module.build_id)) {
		memcpy(message.module.build_id, build_id, build_id_size);
		message.module.build_id_size = (uint32_t)build_id_size;
	}
	snprintf(message.module.name, sizeof(message.module.name), "%s", debuglink);
	int result = protocol_send(child->link.channel, &message, -1);
	if (result)
		child->error = result;
}

static void need_code(void *context, const struct code_range *range)
{
	struct symbolizer_child *child = context;
	const struct message message = {
		.kind = MESSAGE_NEED_CODE,
		.code = {.pid = range->pid,
			 .started_ns = range->started_ns,
			 .start = range->start,
			 .end = range->end},
	};
	int result = protocol_send(child->link.channel, &message, -1);
	if (result)
		child->error = result;
}

static void need_kernel_code(void *context, uint64_t start, const char *name)
{
	struct symbolizer_child *child = context;
	struct message message = {.kind = MESSAGE_NEED_KERNEL_CODE,
				  .kernel_code = {.start = start}};
	snprintf(message.kernel_code.name, sizeof(message.kernel_code.name), "%s", name);
	int result = protocol_send(child->link.channel, &message, -1);
	if (result)
		child->error = result;
}

/* What is in hand is published, so that a successor knows what it must not touch. */
static void reading(void *context, struct module_id module)
{
	const struct symbolizer_child *child = context;
	if (!child->link.status)
		return;
	if (module.index)
		status_read(child->link.status, child->link.epoch, module.index);
	else
		status_read_none(child->link.status);
}

static int give(struct symbolizer_child *child, const struct message *message, int fd)
{
	const struct message_module *module = &message->module;
	if (module->epoch != child->link.epoch) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	const struct module_id id = {module->module};
	int result = message->kind == MESSAGE_MODULE
			     ? symbolizer_give_module(child->symbolizer, id, fd, module->error)
			     : symbolizer_give_debug_file(child->symbolizer, id, fd, module->error);
	return result == -ENOMEM ? result : 0;
}

static int give_code(struct symbolizer_child *child, const struct message_code *code, int fd)
{
	const struct code_range range = {
		.pid = code->pid,
		.started_ns = code->started_ns,
		.start = code->start,
		.end = code->end,
	};
	int result =
		symbolizer_give_code(child->symbolizer, &range, fd, code->error, code->read_ns);
	return result == -ENOMEM ? result : 0;
}

static int give_kernel_code(struct symbolizer_child *child, const struct message_kernel_code *code,
			    int fd)
{
	int result = symbolizer_give_kernel_code(child->symbolizer, code->start, code->name, fd,
						 code->error, code->whole_bytes, code->read_ns);
	return result == -ENOMEM ? result : 0;
}

static int begin_epoch(struct symbolizer_child *child)
{
	struct child_link *link = &child->link;
	if (!link->symbols || link->symbols == child->symbols)
		return -EPROTO;
	int result = symbolizer_begin_epoch(child->symbolizer, link->tables, link->symbols);
	child_link_drop(child->tables, child->symbols);
	child->tables = link->tables;
	child->symbols = link->symbols;
	if (!result && child->keeps_code)
		result = symbolizer_want_code(child->symbolizer);
	return result || !child->wants_lines ? result : symbolizer_want_lines(child->symbolizer);
}

static int want_lines(struct symbolizer_child *child)
{
	child->wants_lines = true;
	return symbolizer_want_lines(child->symbolizer);
}

static int keep_code(struct symbolizer_child *child)
{
	child->keeps_code = true;
	return symbolizer_want_code(child->symbolizer);
}

static int handle_messages(struct symbolizer_child *child)
{
	for (;;) {
		struct message message;
		int fd = -1;
		int got = protocol_receive(child->link.channel, &message, &fd);
		if (got <= 0)
			return got ? got : -EPIPE;
		bool new_epoch;
		int result = child_link_handle(&child->link, &message, fd, &new_epoch);
		if (result == 1 && new_epoch) {
			result = begin_epoch(child);
		} else if (result == 0 &&
			   (message.kind == MESSAGE_MODULE || message.kind == MESSAGE_DEBUG_FILE)) {
			result = give(child, &message, fd);
		} else if (result == 0 && message.kind == MESSAGE_CODE) {
			result = give_code(child, &message.code, fd);
		} else if (result == 0 && message.kind == MESSAGE_KERNEL_CODE) {
			result = give_kernel_code(child, &message.kernel_code, fd);
		} else if (result == 0 && message.kind == MESSAGE_STOP) {
			symbolizer_look_again(child->symbolizer);
		} else if (result == 0 && message.kind == MESSAGE_LINES) {
			result = want_lines(child);
		} else if (result == 0 && message.kind == MESSAGE_KEEP_CODE) {
			result = keep_code(child);
		} else if (result == 0) {
			result = -EPROTO;
		}
		if (result < 0)
			return result;
		if (child->link.status)
			status_add(&child->link.status->turns, 1);
	}
}

/* Names what is there, a turn at a time. True when there may be more. */
static bool work(struct symbolizer_child *child)
{
	struct child_link *link = &child->link;
	struct tables_reader reader;
	tables_reader_init(&reader, link->tables);
	tables_reader_refresh(&reader);
	/* It has no rings: this says only that it is at work, for main's watch on endless loops. */
	atomic_store(&link->status->busy_cpu, 0);
	bool more = symbolizer_work(child->symbolizer, FRAMES_A_TURN) > 0;
	symbolizer_keep_copies(child->symbolizer);
	if (!more && symbolizer_has_looked_again(child->symbolizer))
		symbolizer_keep_code(child->symbolizer);
	bool more_lines = !more && symbolizer_look_up_lines(child->symbolizer, LINES_A_TURN) > 0;
	atomic_store(&link->status->busy_cpu, -1);
	status_add(&link->status->progress, 1);
	atomic_store(&link->status->changed, symbolizer_nr_changed(child->symbolizer));
	if (!more && symbolizer_idle(child->symbolizer)) {
		atomic_store(&link->status->named_frames, reader.nr[TABLE_FRAMES]);
		atomic_store(&link->status->named_epoch, link->epoch);
	}
	if (!more && symbolizer_has_lines(child->symbolizer)) {
		atomic_store(&link->status->lined_frames, reader.nr[TABLE_FRAMES]);
		atomic_store(&link->status->lined_epoch, link->epoch);
	}
	if (!more && symbolizer_has_looked_again(child->symbolizer))
		atomic_store(&link->status->looked_again, 1);
	if (symbolizer_has_kept_code(child->symbolizer))
		atomic_store(&link->status->kept_code, 1);
	child_link_tell_main(link);
	return more || more_lines;
}

static int serve(struct symbolizer_child *child)
{
	uint64_t refreshed_ns = clock_now_ns();
	bool more = false;
	for (;;) {
		int result = child_link_wait(&child->link, more ? 0 : REFRESH_MS);
		if (!result)
			result = handle_messages(child);
		if (result != -EAGAIN)
			return result == -EPIPE ? 0 : result;
		if (!child->link.tables || !child->link.status)
			continue;
		fault_at("turn", "", child->link.channel);
		status_add(&child->link.status->turns, 1);
		uint64_t now = clock_now_ns();
		if (now - refreshed_ns >= REFRESH_MS * NS_PER_MS) {
			refreshed_ns = now;
			symbolizer_refresh(child->symbolizer);
			symbolizer_keep_code(child->symbolizer);
		}
		more = work(child);
		if (child->error)
			return child->error;
	}
}

int symbolizer_child_run(struct channel *channel)
{
	struct symbolizer_child child = {0};
	child_link_init(&child.link, channel, false);
	const struct symbolizer_requests requests = {&child,  need_module, need_debug_file,
						     reading, need_code,   need_kernel_code};
	child.symbolizer = symbolizer_new(&requests);
	int result = child.symbolizer ? serve(&child) : -ENOMEM;
	symbolizer_free(child.symbolizer);
	child_link_release(&child.link);
	return result;
}

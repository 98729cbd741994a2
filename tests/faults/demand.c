/* SPDX-License-Identifier: MIT */
/* A child that has fallen asks main for what is not its business, and says what came of it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/ipc/protocol.h>
#include <ctop/store/tables.h>

#include "faults.h"

/* Of FIELD,FIELD,...: the one with that number, "" where there is none. */
static void field(const char *argument, int nr, char *text, size_t size)
{
	while (nr-- > 0) {
		argument += strcspn(argument, ",");
		argument += *argument == ',';
	}
	snprintf(text, size, "%.*s", (int)strcspn(argument, ","), argument);
}

static unsigned long long number(const char *argument, int nr)
{
	char text[64];
	field(argument, nr, text, sizeof(text));
	return strtoull(text, NULL, 0);
}

/* The next message, whenever it comes. */
static int receive(struct channel *channel, struct message *message)
{
	struct pollfd poll_fd = {.fd = channel_fd(channel), .events = POLLIN};
	int fd = -1, got;
	while ((got = protocol_receive(channel, message, &fd)) == -EAGAIN)
		poll(&poll_fd, 1, -1);
	if (got <= 0)
		_exit(0);
	return fd;
}

/* Its last words, which main tells, and its end. */
static _Noreturn void say(const char *before, const struct message *answer, int32_t error, int fd)
{
	struct stat status;
	if (fd >= 0 && fstat(fd, &status) == 0)
		dprintf(STDERR_FILENO, "%swas given inode %llu\n", before,
			(unsigned long long)status.st_ino);
	else
		dprintf(STDERR_FILENO, "%swas refused %u: %d\n", before, answer->kind, error);
	_exit(1);
}

/* As a collector, up to its start: tables that it may write, and the number of their epoch. */
static uint32_t start_as_collector(struct channel *channel, struct tables *tables)
{
	uint32_t epoch = 0;
	for (;;) {
		struct message message;
		int fd = receive(channel, &message);
		if (message.kind == MESSAGE_TABLES) {
			if (tables_map(tables, fd, &tables_capacity_default, true))
				_exit(3);
			epoch = message.epoch.epoch;
		} else if (message.kind == MESSAGE_START) {
			message = (struct message){.kind = MESSAGE_MAPPED};
			protocol_send(channel, &message, -1);
			return epoch;
		}
	}
}

/* PID,INODE,MAJOR,MINOR,PATH: a file, by a row of its own making. */
FAULT(demand_file)
{
	struct tables tables;
	struct module_row row = {.kind = MODULE_FILE};
	struct module_id id;
	struct message message = {.kind = MESSAGE_NEED_MODULE};
	char path[400];
	message.module.epoch = start_as_collector(fault->channel, &tables);
	struct tables_writer *writer = tables_writer_new(&tables);
	row.pid = (int32_t)number(fault->argument, 0);
	row.identity.inode = number(fault->argument, 1);
	row.identity.device_major = (uint32_t)number(fault->argument, 2);
	row.identity.device_minor = (uint32_t)number(fault->argument, 3);
	field(fault->argument, 4, path, sizeof(path));
	if (!writer || tables_add_string(writer, path, strlen(path), &row.path) ||
	    tables_add_module(writer, &row, &id))
		_exit(3);
	tables_publish(writer);
	message.module.module = id.index;
	protocol_send(fault->channel, &message, -1);
	for (;;) {
		int fd = receive(fault->channel, &message);
		if (message.kind == MESSAGE_MODULE)
			say("", &message, message.module.error, fd);
	}
}

static _Noreturn void ask_for_process(const struct fault *fault)
{
	struct message message = {.kind = MESSAGE_NEED_PROCESS};
	/* The target's own come unasked; the number of an exec tells this answer from those. */
	message.process.pid = (int32_t)number(fault->argument, 0);
	message.process.exec_count = 77;
	protocol_send(fault->channel, &message, -1);
	for (;;) {
		struct message answer;
		int fd = receive(fault->channel, &answer);
		if (answer.kind == MESSAGE_PROCESS && answer.process.exec_count == 77)
			say("", &answer, answer.process.error, fd);
	}
}

/* PID: a process's maps. */
FAULT(demand_process)
{
	struct tables tables;
	start_as_collector(fault->channel, &tables);
	ask_for_process(fault);
}

/* The same, in the middle of a recording. */
FAULT(ask_process)
{
	ask_for_process(fault);
}

static int32_t ask_for_code(struct channel *channel, const struct message *request, int *fd)
{
	struct message answer;
	protocol_send(channel, request, -1);
	do
		*fd = receive(channel, &answer);
	while (answer.kind != MESSAGE_CODE);
	return answer.code.error;
}

/* PID,START,END: a copy of code there. */
FAULT(demand_code)
{
	struct tables tables;
	struct message request = {.kind = MESSAGE_NEED_CODE};
	int fd;
	start_as_collector(fault->channel, &tables);
	request.code.pid = (int32_t)number(fault->argument, 0);
	request.code.start = number(fault->argument, 1);
	request.code.end = number(fault->argument, 2);
	const int32_t error = ask_for_code(fault->channel, &request, &fd);
	say("", &request, error, fd);
}

/* The same, again and again, until it is refused; how often it was given before. */
FAULT(demand_code_for_ever)
{
	struct tables tables;
	struct message request = {.kind = MESSAGE_NEED_CODE};
	char times[64];
	unsigned nr = 0;
	int32_t error;
	start_as_collector(fault->channel, &tables);
	request.code.pid = (int32_t)number(fault->argument, 0);
	request.code.start = number(fault->argument, 1);
	request.code.end = number(fault->argument, 2);
	for (int fd; !(error = ask_for_code(fault->channel, &request, &fd)); nr++)
		close(fd);
	snprintf(times, sizeof(times), "after %u times it ", nr);
	say(times, &request, error, -1);
}

/* The same, as long as nobody can copy it in time. */
FAULT(demand_code_that_hangs)
{
	struct tables tables;
	struct message request = {.kind = MESSAGE_NEED_CODE};
	int32_t error;
	int fd;
	start_as_collector(fault->channel, &tables);
	request.code.pid = (int32_t)number(fault->argument, 0);
	request.code.start = number(fault->argument, 1);
	request.code.end = number(fault->argument, 2);
	while ((error = ask_for_code(fault->channel, &request, &fd)) == -ETIMEDOUT)
		;
	say("", &request, error, fd);
}

/* In the symbolizer. PID,START,END,MOST[,UNASKED]: the same, so many times at most; before anybody wants code kept, if that is 1. */
FAULT(demand_code_to_keep)
{
	const bool is_unasked = number(fault->argument, 4) == 1;
	struct message message, request = {.kind = MESSAGE_NEED_CODE};
	char times[64];
	unsigned nr = 0;
	int32_t error;
	do
		receive(fault->channel, &message);
	while (message.kind != (is_unasked ? MESSAGE_TABLES : MESSAGE_KEEP_CODE));
	request.code.pid = (int32_t)number(fault->argument, 0);
	request.code.start = number(fault->argument, 1);
	request.code.end = number(fault->argument, 2);
	int fd;
	while (!(error = ask_for_code(fault->channel, &request, &fd)) &&
	       ++nr < number(fault->argument, 3))
		close(fd);
	snprintf(times, sizeof(times), "after %u times it ", nr);
	say(times, &request, error, fd);
}

/* In the symbolizer. START: the kernel's function that begins there. */
FAULT(demand_kernel_code)
{
	struct message message, request = {.kind = MESSAGE_NEED_KERNEL_CODE};
	int fd = -1;
	do
		receive(fault->channel, &message);
	while (message.kind != MESSAGE_KEEP_CODE);
	request.kernel_code.start = number(fault->argument, 0);
	protocol_send(fault->channel, &request, -1);
	while (message.kind != MESSAGE_KERNEL_CODE)
		fd = receive(fault->channel, &message);
	say("", &message, message.kernel_code.error, fd);
}

/* Two digits a byte. */
static uint32_t bytes_of(const char *hex, uint8_t *bytes, uint32_t most)
{
	uint32_t nr = 0;
	for (unsigned byte; nr < most && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		bytes[nr++] = (uint8_t)byte;
	return nr;
}

/* In the symbolizer. NAME[,BUILDID[,WHICH[,UNIT]]]: the debug file of that name, and build-id, of each of the first rows; enum debug_file; of a unit. */
FAULT(demand_debug)
{
	enum { NR_ROWS = 8, ROUNDS = 16 };
	struct tables tables;
	struct tables_reader reader;
	char build_id[64], which[16], unit[32];
	struct message message;
	uint32_t epoch;
	int fd;
	do
		fd = receive(fault->channel, &message);
	while (message.kind != MESSAGE_TABLES);
	epoch = message.epoch.epoch;
	const size_t bytes = tables_region_bytes(&tables_capacity_default);
	void *writable = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const char *has = writable == MAP_FAILED ? "reads tables, " : "WRITES TABLES, ";
	if (tables_map(&tables, fd, &tables_capacity_default, false))
		_exit(3);
	tables_reader_init(&reader, &tables);
	/* Rows that are not there yet are asked for until they are: each is answered, so many times. */
	for (int round = 0;; round += reader.nr[TABLE_MODULES] > NR_ROWS / 2) {
		struct pollfd poll_fd = {.fd = channel_fd(fault->channel), .events = POLLIN};
		for (uint32_t row = 1; row <= NR_ROWS; row++) {
			message = (struct message){.kind = MESSAGE_NEED_DEBUG_FILE};
			message.module.epoch = epoch;
			message.module.module = row;
			field(fault->argument, 0, message.module.name, sizeof(message.module.name));
			field(fault->argument, 1, build_id, sizeof(build_id));
			field(fault->argument, 2, which, sizeof(which));
			field(fault->argument, 3, unit, sizeof(unit));
			message.module.which = (uint32_t)atoi(which);
			message.module.unit = strtoull(unit, NULL, 16);
			message.module.build_id_size = bytes_of(build_id, message.module.build_id,
								sizeof(message.module.build_id));
			protocol_send(fault->channel, &message, -1);
		}
		for (uint32_t row = 1; row <= NR_ROWS; row++) {
			fd = receive(fault->channel, &message);
			if (fd >= 0 || message.module.error == -EDQUOT)
				say(has, &message, message.module.error, fd);
		}
		/* Of the others they may be asked for more often than anybody would wait. */
		if (message.module.which && round == ROUNDS)
			say(has, &message, -EDQUOT, -1);
		tables_reader_refresh(&reader);
		poll(&poll_fd, 1, 10);
	}
}

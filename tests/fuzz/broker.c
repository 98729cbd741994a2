/* SPDX-License-Identifier: MIT */
/*
 * What main opens for its children: a byte of flags (1: the pid is our own, 2: a debug file is asked for,
 * 4: the row has the path's own inode, as a child that could see it would write it), a
 * module's row as a child wrote it, a length of two bytes and the path, then a request's build-id, its size and
 * a name. Whatever they say, an answer comes, and a descriptor in it is a regular file's that the child cannot change.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctop/profile/tables.h>

#include "broker.h"
#include "fuzz.h"

enum { OWN_PID = 1, DEBUG_FILE = 2, OWN_INODE = 4, OF_SYMBOLIZER = 8 };

static const struct tables_capacity capacity = {
	.nr = {8192, 2, 2, 4, 2, 2, 2},
	.nr_samples = 2,
};

static void take_identity(const uint8_t *path, size_t size, struct module_row *row)
{
	struct stat stat_of_path;
	char *string = strndup((const char *)path, size);
	REQUIRE(string != NULL);
	if (stat(string, &stat_of_path) == 0) {
		row->identity.build_id_size = 0;
		row->identity.inode = stat_of_path.st_ino;
		row->identity.device_major = major(stat_of_path.st_dev);
		row->identity.device_minor = minor(stat_of_path.st_dev);
	}
	free(string);
}

static void write_row(struct tables *tables, struct input *input, unsigned flags)
{
	struct tables_writer *writer = tables_writer_new(tables);
	struct module_row row;
	struct module_id id;
	REQUIRE(writer != NULL);
	input_take(input, &row, sizeof(row));
	size_t size = input_u16(input);
	const uint8_t *path = input_bytes(input, &size);
	tables_add_string(writer, (const char *)path, size, &row.path);
	if (flags & OWN_PID)
		row.pid = getpid();
	if (flags & OWN_INODE)
		take_identity(path, size, &row);
	REQUIRE(tables_add_module(writer, &row, &id) == 0 && id.index == 1);
	tables_publish(writer);
	tables_writer_free(writer);
}

static void check_answer(struct channel *child, enum message_kind kind)
{
	struct message message;
	struct stat stat;
	int fd;
	REQUIRE(protocol_receive(child, &message, &fd) == 1);
	REQUIRE(message.kind == kind);
	REQUIRE((message.module.error < 0) == (fd < 0));
	if (fd < 0)
		return;
	REQUIRE(fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode));
	/* Our copy of the vdso is in memory: nobody can change that. */
	int seals = fcntl(fd, F_GET_SEALS);
	REQUIRE((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ||
		(seals >= 0 && seals & F_SEAL_WRITE));
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	int open_before = fuzz_open_descriptors(), main_fd, child_fd;
	unsigned flags = input_u8(&input);
	enum broker_reader reader = flags & OF_SYMBOLIZER ? BROKER_SYMBOLIZER : BROKER_COLLECTOR;
	struct tables tables;
	REQUIRE(tables_map(&tables, -1, &capacity, true) == 0);
	write_row(&tables, &input, flags);
	struct message_module request = {.epoch = 1, .module = 1};
	input_take(&input, request.build_id, sizeof(request.build_id));
	request.build_id_size = input_u8(&input) % (sizeof(request.build_id) + 1);
	input_take(&input, request.name, sizeof(request.name) - 1);

	REQUIRE(channel_pair(&main_fd, &child_fd) == 0);
	struct channel *channel = channel_new(main_fd, CHANNEL_MAIN);
	struct channel *child = channel_new(child_fd, CHANNEL_CHILD);
	struct broker *broker = broker_new();
	REQUIRE(channel && child && broker);
	if (flags & DEBUG_FILE) {
		REQUIRE(broker_answer_debug_file(broker, channel, reader, &request, &tables) == 0);
		check_answer(child, MESSAGE_DEBUG_FILE);
	}
	for (int times = 0; times < 2; times++) { /* also what it has kept */
		REQUIRE(broker_answer_module(broker, channel, reader, &request, &tables) == 0);
		check_answer(child, MESSAGE_MODULE);
	}
	broker_set_unreadable(broker, reader, &tables, request.module);
	REQUIRE(broker_answer_module(broker, channel, reader, &request, &tables) == 0);
	check_answer(child, MESSAGE_MODULE);
	broker_free(broker);
	channel_free(channel);
	channel_free(child);
	tables_unmap(&tables);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}

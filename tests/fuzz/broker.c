/* SPDX-License-Identifier: MIT */
/*
 * What main opens for its children: a byte of flags (1: the pid is our own, 2: a debug file is asked for,
 * 4: the row has the path's own inode, as a child that could see it would write it, 16: of a recording), a
 * module's row as a child wrote it, a length of two bytes and the path, then a request's build-id, its size,
 * a name, which file is asked for, and a unit. Whatever they say, an answer comes, and a descriptor in it is a regular file's that the child cannot change:
 * of a running process one that is mapped in it, of a recording one that everybody may read or that has the build-id.
 * The opener and the prober do their work in this process.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctop/base/clock.h>
#include <ctop/store/tables.h>

#include <ctop/broker/broker.h>
#include "fuzz.h"
#include "main/files/opener_protocol.h"
#include <ctop/files/prober.h>
#include "jailed/child/prober_look.h"

enum { OWN_PID = 1, DEBUG_FILE = 2, OWN_INODE = 4, OF_SYMBOLIZER = 8, RECORDED = 16 };

int __wrap_opener_ask(struct opener *opener, const struct opener_request *request,
		      opener_taker *taker, void *context);
int __wrap_prober_ask(struct prober *prober, int fd, const struct prober_question *question,
		      prober_taker *taker, void *context);

int __wrap_opener_ask(struct opener *opener, const struct opener_request *request,
		      opener_taker *taker, void *context)
{
	struct opener_message message;
	struct opener_answer answer = {0};
	(void)opener;
	int result = opener_message_fill(&message, request);
	if (result)
		return result;
	struct opener_reply reply = {0};
	int fd = opener_open(&message, &reply);
	answer.by_name = reply.by_name;
	answer.error = fd < 0 ? fd : 0;
	taker(context, &answer, fd < 0 ? -1 : fd);
	return 0;
}

int __wrap_prober_ask(struct prober *prober, int fd, const struct prober_question *question,
		      prober_taker *taker, void *context)
{
	struct prober_answer answer;
	(void)prober;
	prober_look(fd, question, &answer);
	taker(context, &answer);
	return 0;
}

/* True when one of our own executable mappings is of this file. */
static bool is_mapped_here(const struct stat *file)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[8192], permissions[5];
	bool found = false;
	REQUIRE(maps != NULL);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long long inode = 0;
		if (sscanf(line, "%*x-%*x %4s %*x %*x:%*x %llu", permissions, &inode) == 2)
			found = permissions[2] == 'x' && inode == file->st_ino;
	}
	fclose(maps);
	return found;
}

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

static void check_answer(struct channel *child, enum message_kind kind, bool recorded)
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
	/* The kernel's names are a file of proc, and small ones are maps of generated code. */
	if (kind == MESSAGE_MODULE && !recorded && seals < 0 && stat.st_nlink && stat.st_size)
		REQUIRE(is_mapped_here(&stat));
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
	request.which = input_u8(&input) % NR_DEBUG_FILES;
	request.unit = input_u64(&input);

	REQUIRE(channel_pair(&main_fd, &child_fd) == 0);
	struct channel *channel = channel_new(main_fd, CHANNEL_MAIN);
	struct channel *child = channel_new(child_fd, CHANNEL_CHILD);
	struct broker *broker = broker_new();
	REQUIRE(channel && child && broker);
	mapped_files_add_process(broker_mapped_files(broker), getpid(), clock_now_ns());
	if (flags & RECORDED)
		broker_serve_recorded(broker, 0);
	if (flags & DEBUG_FILE) {
		REQUIRE(broker_answer_debug_file(broker, channel, reader, &request, &tables) == 0);
		check_answer(child, MESSAGE_DEBUG_FILE, flags & RECORDED);
	}
	for (int times = 0; times < 2; times++) { /* also what it has kept */
		REQUIRE(broker_answer_module(broker, channel, reader, &request, &tables) == 0);
		check_answer(child, MESSAGE_MODULE, flags & RECORDED);
	}
	broker_set_unreadable(broker, reader, &tables, request.module);
	REQUIRE(broker_answer_module(broker, channel, reader, &request, &tables) == 0);
	check_answer(child, MESSAGE_MODULE, flags & RECORDED);
	broker_free(broker);
	channel_free(channel);
	channel_free(child);
	tables_unmap(&tables);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Main's session against a hostile child, here the one that reads a file: it says what it likes over the
 * channel, and writes what it likes into the tables and names that it shares with main. The input is
 * what it does, step by step: see steps[]. Main takes one step after each, and a history takes the samples.
 *
 * No process is started: jail_spawn(), jail_protect_main(), kill() and wait4() are replaced by the linker (fuzz.mk).
 */
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <ctop/session/session.h>
#include <ctop/jail/jail.h>
#include <ctop/ipc/protocol.h>

#include <ctop/recording/chunk.h>
#include "fuzz.h"
#include "profile_check.h"

enum { CHILD_PID = 0x7ffffff0, STEPS_MAX = 200, SAMPLES_MAX = 1 << 18 };

/* The child, as main sees it. */
static struct {
	struct input input;
	struct channel *channel;
	int pid_fd; /* main's, readable once the child is dead */
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	bool dead;
} child;

/* Main's consumer. */
struct consumer {
	struct history *history;
	uint64_t samples;
};

/* ---- instead of a process ---- */

int __wrap_jail_spawn(const char *role, struct jail_child *started);
int __wrap_jail_spawn(const char *role, struct jail_child *started)
{
	(void)role;
	int main_fd, child_fd;
	REQUIRE(channel_pair(&main_fd, &child_fd) == 0);
	child.channel = channel_new(child_fd, CHANNEL_CHILD);
	child.pid_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*started = (struct jail_child){
		.pid = CHILD_PID,
		.pid_fd = child.pid_fd,
		.stderr_fd = -1,
		.channel = channel_new(main_fd, CHANNEL_MAIN),
	};
	REQUIRE(child.channel && started->channel && child.pid_fd >= 0);
	return 0;
}

void __wrap_jail_protect_main(void);
void __wrap_jail_protect_main(void)
{
}

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
	return pid == CHILD_PID ? 0 : __real_kill(pid, number);
}

pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage);
pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	(void)options;
	(void)usage;
	REQUIRE(pid == CHILD_PID);
	*status = SIGSEGV;
	return pid;
}

/* ---- what the child does ---- */

static void leave_region(void)
{
	tables_writer_free(child.writer);
	child.writer = NULL;
	if (child.tables.header)
		tables_unmap(&child.tables);
}

/* Takes what main sent. */
static void listen_to_main(void)
{
	struct message message;
	int fd;
	while (child.channel && protocol_receive(child.channel, &message, &fd) == 1) {
		REQUIRE(message.kind < MESSAGE_MAPPED);
		if (message.kind == MESSAGE_TABLES) {
			leave_region();
			REQUIRE(tables_map(&child.tables, fd, &tables_capacity_default, true) == 0);
			child.writer = tables_writer_new(&child.tables);
			REQUIRE(child.writer != NULL);
		} else if (message.kind == MESSAGE_SYMBOLS) {
			if (child.symbols.header)
				symbols_unmap(&child.symbols);
			REQUIRE(symbols_map(&child.symbols, fd, &symbols_capacity_default, true) ==
				0);
		}
		if (fd >= 0)
			close(fd);
	}
}

/* A message of any kind: a byte whose bit 7 asks for the body's own size, else it is the kind's; then the body. */
static void speak(void)
{
	struct message message;
	memset(&message, 0, sizeof(message));
	unsigned kind = input_u8(&child.input);
	size_t size = input_u16(&child.input);
	const uint8_t *bytes = input_bytes(&child.input, &size);
	size_t room = sizeof(message) - sizeof(message.kind);
	size = size < room ? size : room;
	message.kind = kind & 0x7f;
	memcpy((uint8_t *)&message + sizeof(message.kind), bytes, size);
	if (kind & 0x80 || !message.kind || message.kind >= NR_MESSAGE_KINDS)
		send(channel_fd(child.channel), &message, sizeof(message.kind) + size,
		     MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		protocol_send(child.channel, &message, -1);
}

static void ask_for_tables(void)
{
	const struct message message = {.kind = MESSAGE_NEED_TABLES};
	protocol_send(child.channel, &message, -1);
}

static void write_bytes(void *region, size_t region_bytes)
{
	size_t at = input_u32(&child.input), size = input_u16(&child.input);
	const uint8_t *bytes = input_bytes(&child.input, &size);
	if (!region)
		return;
	at %= region_bytes;
	memcpy((uint8_t *)region + at, bytes, size < region_bytes - at ? size : region_bytes - at);
}

static void damage_tables(void)
{
	write_bytes(child.tables.header, child.tables.bytes);
}

static void damage_symbols(void)
{
	write_bytes(child.symbols.header, child.symbols.bytes);
}

/* The id, the one behind it, or one far away. */
static uint32_t astray(uint32_t id, uint32_t number)
{
	return number < 128 ? id : number < 192 ? id + 1 : id + 0x7f000000;
}

/* Rows and samples as an honest child writes them, but for what they refer to. */
static void write_rows(void)
{
	struct tables_writer *writer = child.writer;
	struct string_id string;
	struct module_id module;
	struct task_id task;
	struct frame_id frame;
	struct node_id node = {0};
	uint32_t event;
	char text[17] = "";
	input_take(&child.input, text, 16);
	const uint32_t numbers[] = {input_u8(&child.input), input_u8(&child.input),
				    input_u8(&child.input)};
	if (!writer || tables_add_string(writer, text, 16, &string))
		return;
	const struct event_row event_row = {.name = string, .asked = string};
	const struct module_row module_row = {.path = {astray(string.index, numbers[0])},
					      .kind = numbers[0] % 8,
					      .identity.build_id_size = numbers[1],
					      .pid = getpid()};
	tables_add_info(writer, text, text);
	if (tables_add_event(writer, &event_row, &event) ||
	    tables_add_module(writer, &module_row, &module) ||
	    tables_add_task(writer, 1, 2, 0, string, &task))
		return;
	const struct module_id in = {astray(module.index, numbers[1])};
	for (uint32_t i = 0; i <= numbers[2] % 8; i++) {
		if (tables_add_frame(writer, in, numbers[1] + i, &frame) ||
		    tables_add_node(writer, node, frame, FRAME_CFI, &node))
			return;
		const struct sample sample = {.time_ns = i,
					      .weight = UINT64_MAX / 2,
					      .task = {astray(task.index, numbers[2] * 4 % 256)},
					      .node = {astray(node.index, numbers[2])},
					      .leaf = {astray(frame.index, numbers[2] * 2 % 256)},
					      .event = (uint8_t)event,
					      .end = (uint8_t)(numbers[0] % 8),
					      .reason = (uint8_t)(numbers[1] % 16)};
		tables_add_sample(writer, &sample);
	}
	tables_publish(writer);
}

static void close_epoch(void)
{
	if (child.writer)
		tables_close_epoch(child.writer);
}

static void die(void)
{
	static const uint64_t one = 1;
	if (!child.dead)
		REQUIRE(write(child.pid_fd, &one, sizeof(one)) == sizeof(one));
	child.dead = true;
}

static void (*const steps[])(void) = {
	speak, ask_for_tables, damage_tables, damage_symbols, write_rows, close_epoch, die,
};

/* ---- what main does ---- */

static int begin_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	struct consumer *consumer = context;
	return history_begin_epoch(consumer->history, tables, symbols);
}

static int take_samples(void *context, const struct sample *samples, size_t nr)
{
	struct consumer *consumer = context;
	REQUIRE(nr > 0);
	consumer->samples += nr;
	REQUIRE(history_import(consumer->history, samples, nr) == 0);
	return 0;
}

static void run(struct session *session, const struct consumer *consumer)
{
	struct error error = {0};
	enum session_state state = SESSION_RUNNING;
	int result = session_start(session, &error);
	for (size_t i = 0; !result && state == SESSION_RUNNING && i < STEPS_MAX; i++) {
		listen_to_main();
		if (!child.input.left && !child.dead)
			die();
		else if (child.input.left && !child.dead)
			steps[input_u8(&child.input) % (sizeof(steps) / sizeof(steps[0]))]();
		result = session_step(session, 0, &state, &error);
		if (consumer->samples > SAMPLES_MAX)
			break; /* a child that tells of new samples for ever */
	}
	REQUIRE(!result || error.cause[0]);
	session_stats(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int open_before = fuzz_open_descriptors();
	memset(&child, 0, sizeof(child));
	child.input = (struct input){bytes, size};
	struct consumer consumer = {.history = history_new()};
	REQUIRE(consumer.history != NULL);
	const struct session_consumer callbacks = {
		.context = &consumer, .begin_epoch = begin_epoch, .samples = take_samples};
	char path[64];
	int fd = fuzz_file(recording_magic, sizeof(recording_magic));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct error error = {0};
	struct session *session = session_open_file(path, 1, &callbacks, &error);
	REQUIRE(session != NULL);
	run(session, &consumer);
	check_history(consumer.history, consumer.samples);
	leave_region();
	if (child.symbols.header)
		symbols_unmap(&child.symbols);
	session_free(session);
	history_free(consumer.history);
	channel_free(child.channel);
	close(fd);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}

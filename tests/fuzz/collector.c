/* SPDX-License-Identifier: MIT */
/*
 * The whole collector, in this process. A byte of flags (1: leave out the usual beginning; 2: frame pointers,
 * 4: leaves only, 8: of one name and user, 16: waits, too), then what main does, step by step: see turn(). It takes one step each
 * time that the collector waits, and closes the channel when there are no more. Rings are memory files, the clock runs
 * by the same steps.
 *
 * poll() and clock_now_ns() are replaced by the linker (fuzz.mk).
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <ctop/base/clock.h>
#include <ctop/collect/collector.h>
#include <ctop/ipc/protocol.h>

#include "fuzz.h"
#include "profile_check.h"

enum { NO_BEGINNING = 1, FRAME_POINTERS = 2, LEAF_ONLY = 4, CHOOSES = 8, WAITS = 16 };
enum { RINGS_MAX = 4, REGIONS_MAX = 4, RING_BYTES = 4096, TURNS_MAX = 400 };

struct fake_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* Main, as the collector sees it. */
struct fake_main {
	struct input input;
	struct channel *channel;
	struct fake_ring rings[RINGS_MAX];
	size_t nr_rings;
	struct tables regions[REGIONS_MAX];
	size_t nr_regions;
	struct message_process process_asked;
	struct message_module module_asked;
	uint64_t now_ns;
	unsigned nr_turns;
	bool stopped, closed;
};

static struct fake_main fake;

uint64_t __wrap_clock_now_ns(void);
uint64_t __wrap_clock_now_ns(void)
{
	return fake.now_ns;
}

/* ---- what main has ---- */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void tell(struct message *message, int fd)
{
	int result = protocol_send(fake.channel, message, fd);
	REQUIRE(result == 0 || result == -ENOBUFS || result == -EPIPE);
	if (fd >= 0)
		close(fd);
}

static void tell_kind(enum message_kind kind, int fd)
{
	struct message message = {.kind = kind};
	tell(&message, fd);
}

static int memory_file(size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	return fd;
}

static void tell_ring(int32_t cpu)
{
	if (fake.nr_rings == RINGS_MAX)
		return;
	struct fake_ring *ring = &fake.rings[fake.nr_rings++];
	size_t size = page_bytes() + RING_BYTES;
	int fd = memory_file(size);
	ring->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(ring->page != MAP_FAILED);
	struct message message = {.kind = MESSAGE_RING, .ring = {cpu}};
	tell(&message, fd);
}

static void tell_tables(void)
{
	if (fake.nr_regions == REGIONS_MAX)
		return;
	struct tables *region = &fake.regions[fake.nr_regions++];
	int fd = tables_memfd_new(&tables_capacity_default);
	REQUIRE(fd >= 0 && tables_map(region, fd, &tables_capacity_default, true) == 0);
	struct message message = {.kind = MESSAGE_TABLES, .epoch = {(uint32_t)fake.nr_regions}};
	tell(&message, fd);
}

static void tell_config(struct message *message)
{
	/* As the rings are: main's own word. */
	message->config.ring_pages = RING_BYTES / 4096;
	message->config.wait_pages = message->config.wait_pages ? RING_BYTES / 4096 : 0;
	tell(message, -1);
}

static void usual_beginning(unsigned flags)
{
	tell_kind(MESSAGE_STATUS, memory_file(page_bytes()));
	tell_kind(MESSAGE_TO_MAIN, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	tell_kind(MESSAGE_TO_CHILD, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	struct message message = {
		.kind = MESSAGE_CONFIG,
		.config = {.format = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						     PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
						     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
						     PERF_SAMPLE_STACK_USER,
				      .regs_user = 7 << 6, /* bp, sp, ip */
				      .sample_id_all = true},
			   .frame_pointers = flags & FRAME_POINTERS,
			   .leaf_only = flags & LEAF_ONLY,
			   .filters_uid = flags & CHOOSES,
			   .filters_comm = flags & CHOOSES,
			   .wait_pages = flags & WAITS,
			   .comm = "a",
			   .skip_cpu = -1},
	};
	tell_config(&message);
	message = (struct message){.kind = MESSAGE_EVENT, .event = {.asked = "a", .opened = "b"}};
	tell(&message, -1);
	message = (struct message){.kind = MESSAGE_IDS,
				   .ids = {.nr = 2, .ids = {{7, 0, 11, 0}, {8, 0, 12, 0}}}};
	tell(&message, -1);
	tell_ring(0);
	tell_ring(1);
	if (flags & WAITS)
		tell_ring(WAIT_RING_CPU);
	tell_tables();
	tell_kind(MESSAGE_START, -1);
}

/* ---- what main does ---- */

/* A message of any kind as the input has it; with a descriptor of the right sort where its kind has one. */
static void any_message(void)
{
	struct message message;
	memset(&message, 0, sizeof(message));
	message.kind = input_u8(&fake.input) % NR_MESSAGE_KINDS;
	size_t size = input_u16(&fake.input);
	const uint8_t *bytes = input_bytes(&fake.input, &size);
	size_t room = sizeof(message) - sizeof(message.kind);
	memcpy((uint8_t *)&message + sizeof(message.kind), bytes, size < room ? size : room);
	bool bare = size > 0 && bytes[0] == 0xff; /* without its descriptor */
	switch (message.kind) {
	case 0:
		return;
	case MESSAGE_CONFIG:
		tell_config(&message);
		return;
	case MESSAGE_RING:
		tell_ring(message.ring.cpu);
		return;
	case MESSAGE_TABLES:
		tell_tables();
		return;
	case MESSAGE_STATUS:
		tell(&message, bare ? -1 : memory_file(page_bytes()));
		return;
	case MESSAGE_TO_MAIN:
	case MESSAGE_TO_CHILD:
		tell(&message, bare ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		return;
	case MESSAGE_STOP:
		fake.stopped = true;
		tell(&message, -1);
		return;
	default:
		tell(&message, bare ? -1 : fuzz_file(bytes, size));
		return;
	}
}

static int file_of_input(void)
{
	size_t size = input_u16(&fake.input);
	const uint8_t *bytes = input_bytes(&fake.input, &size);
	return size ? fuzz_file(bytes, size) : -1;
}

static void answer_process(void)
{
	struct message message = {.kind = MESSAGE_PROCESS, .process = fake.process_asked};
	int fd = file_of_input();
	message.process.error = fd < 0 ? -ESRCH : 0;
	tell(&message, fd);
}

/* At once, and of some processes that there are none. */
static void answer_owner(const struct message_owner *asked)
{
	struct message message = {.kind = MESSAGE_OWNER, .owner = *asked};
	message.owner.uid = (uint32_t)asked->pid & 1;
	message.owner.effective_uid = (uint32_t)asked->pid & 2;
	message.owner.error = asked->pid & 4 ? -ESRCH : 0;
	tell(&message, -1);
}

/* At once, with code of the input's making. */
static void answer_code(const struct message_code *asked)
{
	struct message message = {.kind = MESSAGE_CODE, .code = *asked};
	int fd = file_of_input();
	message.code.read_ns = fake.now_ns;
	message.code.error = fd < 0 ? -(int)(input_u8(&fake.input)) : 0;
	tell(&message, fd);
}

static void answer_module(void)
{
	struct message message = {.kind = MESSAGE_MODULE, .module = fake.module_asked};
	int fd = file_of_input();
	message.module.error = fd < 0 ? -EUCLEAN : 0;
	tell(&message, fd);
}

static void tell_threads(void)
{
	struct message message = {.kind = MESSAGE_THREADS,
				  .threads = {.pid = fake.process_asked.pid, .nr = 2}};
	for (uint32_t i = 0; i < message.threads.nr; i++) {
		message.threads.threads[i].tid = fake.process_asked.pid + (int32_t)i;
		input_take(&fake.input, message.threads.threads[i].comm, COMM_MAX);
	}
	tell(&message, -1);
}

/* The kernel's part: records behind the head. */
static void write_ring(void)
{
	size_t at = input_u8(&fake.input), size = input_u16(&fake.input);
	const uint8_t *bytes = input_bytes(&fake.input, &size);
	if (!fake.nr_rings)
		return;
	struct perf_event_mmap_page *page = fake.rings[at % fake.nr_rings].page;
	uint8_t *data = (uint8_t *)page + page_bytes();
	for (size_t i = 0; i < size; i++)
		data[(page->data_head + i) % RING_BYTES] = bytes[i];
	page->data_head += size;
}

static void damage_ring(void)
{
	size_t at = input_u8(&fake.input);
	unsigned long long distance = input_u32(&fake.input);
	if (distance >> 31) /* backwards */
		distance -= 1ull << 32;
	if (fake.nr_rings)
		fake.rings[at % fake.nr_rings].page->data_head += distance;
}

/* What the collector asked for, and whether it speaks as main expects. */
static void listen_to_collector(void)
{
	struct message message;
	int fd, got;
	while ((got = protocol_receive(fake.channel, &message, &fd)) == 1) {
		REQUIRE(message.kind >= MESSAGE_MAPPED);
		if (message.kind == MESSAGE_NEED_PROCESS)
			fake.process_asked = message.process;
		if (message.kind == MESSAGE_NEED_MODULE)
			fake.module_asked = message.module;
		if (message.kind == MESSAGE_NEED_OWNER)
			answer_owner(&message.owner);
		if (message.kind == MESSAGE_NEED_CODE)
			answer_code(&message.code);
	}
	REQUIRE(got == 0 || got == -EAGAIN);
}

static void turn(void)
{
	static void (*const steps[])(void) = {any_message, write_ring,	  answer_process,
					      tell_tables, answer_module, tell_threads,
					      damage_ring};
	listen_to_collector();
	fake.now_ns += NS_PER_SECOND / 4;
	if (fake.input.left && fake.nr_turns++ < TURNS_MAX) {
		steps[input_u8(&fake.input) % (sizeof(steps) / sizeof(steps[0]))]();
	} else if (!fake.stopped) {
		fake.stopped = true;
		tell_kind(MESSAGE_STOP, -1);
	} else if (fake.nr_turns++ > TURNS_MAX + 20 || fake.now_ns > 1000 * NS_PER_SECOND) {
		fake.closed = true;
		shutdown(channel_fd(fake.channel), SHUT_WR);
	} else {
		fake.nr_turns += TURNS_MAX / 20;
	}
}

int __real_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	(void)timeout_ms;
	REQUIRE(!fake.closed); /* it would wait for a main that has gone */
	turn();
	return __real_poll(fds, nr, 0);
}

/* ---- what came of it ---- */

static void check_region(struct tables *region)
{
	static struct sample samples[256];
	uint64_t missed = 0;
	size_t nr;
	check_tables(region);
	while ((nr = tables_read_samples(region, samples, 256, &missed))) {
		check_samples(region, samples, nr);
		for (size_t i = 0; i < nr; i++)
			REQUIRE(samples[i].end < NR_STACK_ENDS &&
				samples[i].reason < NR_STACK_REASONS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int open_before = fuzz_open_descriptors(), main_fd, child_fd;
	fake = (struct fake_main){.input = {bytes, size}, .now_ns = 100 * NS_PER_SECOND};
	unsigned flags = input_u8(&fake.input);
	REQUIRE(channel_pair(&main_fd, &child_fd) == 0);
	fake.channel = channel_new(main_fd, CHANNEL_MAIN);
	struct channel *child = channel_new(child_fd, CHANNEL_CHILD);
	REQUIRE(fake.channel && child);
	if (!(flags & NO_BEGINNING))
		usual_beginning(flags);
	collector_run(child);
	listen_to_collector();
	channel_free(fake.channel);
	for (size_t i = 0; i < fake.nr_regions; i++) {
		check_region(&fake.regions[i]);
		tables_unmap(&fake.regions[i]);
	}
	for (size_t i = 0; i < fake.nr_rings; i++)
		munmap(fake.rings[i].page, page_bytes() + RING_BYTES);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_COLLECT_FAKE_MAIN_H
#define CTOP_TEST_COLLECT_FAKE_MAIN_H

/*
 * A collector in a process of its own, on rings that are memory files, and what main is to it: it
 * tells the collector of events, knows nothing of any process, and reads what came of the records.
 * Samples are leaves in the kernel: whose they are and how many is what these tests are about.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include <ctop/base/clock.h>
#include <ctop/collect/collector.h>
#include <ctop/ipc/protocol.h>
#include <ctop/store/tables.h>

#include "test.h"

enum {
	FAKE_RINGS = 2,
	FAKE_RING_PAGES = 16,
	FAKE_SAMPLES_MAX = 8192,
	FAKE_DOUBLES_MAX = 16,
	FAKE_PATIENCE_MS = 120000
};

struct fake_main {
	struct message_config config; /* as it is sent: to be changed before fake_main_start() */
	struct message_ids ids;
	uint32_t unit; /* of the first event */
	bool paced;    /* the second event, at 1000 Hz: to be changed as well */
	struct channel *channel;
	pid_t pid;
	int to_main;
	struct child_status *status;
	struct tables tables;
	struct perf_event_mmap_page *rings[FAKE_RINGS];
	uint64_t base_ns; /* records' times count from here, a second ago */
	bool done;
	/* What came of it. */
	uint64_t doubles[FAKE_DOUBLES_MAX]; /* ids */
	size_t nr_doubles;
	struct sample samples[FAKE_SAMPLES_MAX];
	size_t nr_samples;
	uint64_t nr_missed;
};

static inline size_t fake_ring_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE) * FAKE_RING_PAGES;
}

static inline void *fake_memory(size_t size, int *fd)
{
	*fd = memfd_create("fake", MFD_CLOEXEC);
	CHECK(*fd >= 0);
	CHECK_EQ(ftruncate(*fd, (off_t)size), 0);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	CHECK(memory != MAP_FAILED);
	return memory;
}

static inline void fake_tell(struct fake_main *fake, const struct message *message, int fd)
{
	CHECK_EQ(protocol_send(fake->channel, message, fd), 0);
	if (fd >= 0)
		close(fd);
}

static inline void fake_main_init(struct fake_main *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->base_ns = clock_now_ns() - NS_PER_SECOND;
	fake->config = (struct message_config){
		.format = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					  PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
					  PERF_SAMPLE_PERIOD,
			   .sample_id_all = true},
		.ring_pages = FAKE_RING_PAGES,
		.nr_rings = FAKE_RINGS,
		.leaf_only = true,
		.skip_cpu = -1,
	};
}

/* An attached thread's event, in the order of attachment. */
static inline void fake_add_id(struct fake_main *fake, uint64_t id, uint32_t event, int32_t tid,
			       int32_t cpu)
{
	uint32_t at = fake->ids.nr++;
	fake->ids.ids[at].id = id;
	fake->ids.ids[at].event = event;
	fake->ids.ids[at].tid = tid;
	fake->ids.ids[at].cpu = cpu;
}

static inline void fake_tell_all(struct fake_main *fake)
{
	struct message message = {.kind = MESSAGE_STATUS};
	int fd;
	fake->status = fake_memory(sizeof(*fake->status), &fd);
	fake_tell(fake, &message, fd);
	message.kind = MESSAGE_TO_MAIN;
	fake->to_main = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fake_tell(fake, &message, dup(fake->to_main));
	message = (struct message){.kind = MESSAGE_CONFIG, .config = fake->config};
	fake_tell(fake, &message, -1);
	message = (struct message){
		.kind = MESSAGE_EVENT,
		.event = {.asked = "first", .opened = "first", .period = 1, .unit = fake->unit}};
	fake_tell(fake, &message, -1);
	message = (struct message){.kind = MESSAGE_EVENT,
				   .event = {.asked = "second",
					     .opened = "second",
					     .period = !fake->paced,
					     .frequency_hz = fake->paced ? 1000 : 0,
					     .paced = fake->paced}};
	fake_tell(fake, &message, -1);
	message = (struct message){.kind = MESSAGE_IDS, .ids = fake->ids};
	fake_tell(fake, &message, -1);
	for (int32_t cpu = 0; cpu < FAKE_RINGS; cpu++) {
		size_t size = (size_t)sysconf(_SC_PAGESIZE) + fake_ring_bytes();
		fake->rings[cpu] = fake_memory(size, &fd);
		message = (struct message){.kind = MESSAGE_RING, .ring = {cpu}};
		fake_tell(fake, &message, fd);
	}
	fd = tables_memfd_new(&tables_capacity_default);
	CHECK(fd >= 0);
	CHECK_EQ(tables_map(&fake->tables, fd, &tables_capacity_default, true), 0);
	message = (struct message){.kind = MESSAGE_TABLES, .epoch = {1}};
	fake_tell(fake, &message, fd);
}

/* The rings are there; the collector looks into them once fake_main_go() was called. */
static inline void fake_main_start(struct fake_main *fake)
{
	int main_fd, child_fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	fflush(stdout);
	fake->pid = fork();
	CHECK(fake->pid >= 0);
	if (fake->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(main_fd);
		_exit(collector_run(channel_new(child_fd, CHANNEL_CHILD)) ? 1 : 0);
	}
	close(child_fd);
	fake->channel = channel_new(main_fd, CHANNEL_MAIN);
	CHECK(fake->channel);
	fake_tell_all(fake);
}

static inline void fake_main_go(struct fake_main *fake)
{
	const struct message message = {.kind = MESSAGE_START};
	fake_tell(fake, &message, -1);
}

/* ---- what the kernel would write ---- */

static inline void fake_write(struct fake_main *fake, size_t ring, const void *record, size_t size)
{
	struct perf_event_mmap_page *page = fake->rings[ring];
	uint8_t *data = (uint8_t *)page + sysconf(_SC_PAGESIZE);
	uint64_t head = page->data_head, mask = fake_ring_bytes() - 1;
	CHECK(size % 8 == 0 && head + size - page->data_tail <= fake_ring_bytes());
	for (size_t i = 0; i < size; i++)
		data[(head + i) & mask] = ((const uint8_t *)record)[i];
	__atomic_store_n(&page->data_head, head + size, __ATOMIC_RELEASE);
}

struct fake_sample {
	uint64_t id;
	int32_t pid, tid;
	uint64_t time_ns; /* since base_ns */
};

static inline void fake_write_sample(struct fake_main *fake, size_t ring,
				     const struct fake_sample *sample)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, ip;
		int32_t pid, tid;
		uint64_t time_ns;
		uint32_t cpu, reserved;
		uint64_t period;
	} record = {
		.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sizeof(record)},
		.id = sample->id,
		.ip = 0xffffffff81000000,
		.pid = sample->pid,
		.tid = sample->tid,
		.time_ns = fake->base_ns + sample->time_ns,
		.cpu = (uint32_t)ring,
		.period = 1,
	};
	fake_write(fake, ring, &record, sizeof(record));
}

/* FORK or EXIT. */
static inline void fake_write_task(struct fake_main *fake, size_t ring, uint32_t type,
				   const struct fake_sample *task, int32_t parent_tid)
{
	const struct {
		struct perf_event_header header;
		int32_t pid, parent_pid, tid, parent_tid;
		uint64_t time_ns;
		int32_t sampled_pid, sampled_tid;
		uint64_t sampled_ns;
		uint32_t cpu, reserved;
		uint64_t id;
	} record = {
		.header = {type, 0, sizeof(record)},
		.pid = task->pid,
		.parent_pid = task->pid,
		.tid = task->tid,
		.parent_tid = parent_tid,
		.time_ns = fake->base_ns + task->time_ns,
		.sampled_pid = task->pid,
		.sampled_tid = parent_tid,
		.sampled_ns = fake->base_ns + task->time_ns,
		.cpu = (uint32_t)ring,
		.id = task->id,
	};
	fake_write(fake, ring, &record, sizeof(record));
}

/* ---- what main does ---- */

static inline void fake_answer(struct fake_main *fake, const struct message *message)
{
	struct message answer = {.kind = MESSAGE_PROCESS, .process = message->process};
	switch (message->kind) {
	case MESSAGE_MAPPED:
		CHECK_EQ(message->result.error, 0);
		break;
	case MESSAGE_NEED_PROCESS:
		answer.process.error = -ESRCH;
		fake_tell(fake, &answer, -1);
		break;
	case MESSAGE_DOUBLE:
		CHECK(fake->nr_doubles < FAKE_DOUBLES_MAX);
		fake->doubles[fake->nr_doubles++] = message->duplicates.id;
		break;
	case MESSAGE_DONE:
		CHECK_EQ(message->result.error, 0);
		fake->done = true;
		break;
	default:
		CHECK(!"a message that nobody expects");
	}
}

/* Waits for the collector to say or publish something, and takes it. */
static inline void fake_serve(struct fake_main *fake)
{
	struct pollfd fds[] = {{.fd = channel_fd(fake->channel), .events = POLLIN},
			       {.fd = fake->to_main, .events = POLLIN}};
	CHECK(poll(fds, 2, FAKE_PATIENCE_MS) > 0);
	uint64_t nr_signals;
	if (fds[1].revents)
		CHECK(read(fake->to_main, &nr_signals, sizeof(nr_signals)) == sizeof(nr_signals));
	struct message message;
	int fd, got;
	while ((got = protocol_receive(fake->channel, &message, &fd)) == 1)
		fake_answer(fake, &message);
	CHECK(got == -EAGAIN || fake->done);
	fake->nr_samples +=
		tables_read_samples(&fake->tables, fake->samples + fake->nr_samples,
				    FAKE_SAMPLES_MAX - fake->nr_samples, &fake->nr_missed);
}

static inline void fake_wait_samples(struct fake_main *fake, size_t nr)
{
	while (fake->nr_samples < nr)
		fake_serve(fake);
	CHECK_EQ(fake->nr_samples, nr);
}

/* Stops the collector, takes what is left, and looks whether all of it is accounted for. */
static inline void fake_main_finish(struct fake_main *fake)
{
	const struct message stop = {.kind = MESSAGE_STOP};
	int status;
	fake_tell(fake, &stop, -1);
	while (!fake->done)
		fake_serve(fake);
	fake->nr_samples +=
		tables_read_samples(&fake->tables, fake->samples + fake->nr_samples,
				    FAKE_SAMPLES_MAX - fake->nr_samples, &fake->nr_missed);
	CHECK_EQ(waitpid(fake->pid, &status, 0), fake->pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(fake->nr_missed, 0);
}

static inline void fake_main_release(struct fake_main *fake)
{
	channel_free(fake->channel);
	close(fake->to_main);
	tables_unmap(&fake->tables);
	munmap(fake->status, sizeof(*fake->status));
	for (size_t i = 0; i < FAKE_RINGS; i++)
		munmap(fake->rings[i], (size_t)sysconf(_SC_PAGESIZE) + fake_ring_bytes());
}

#endif

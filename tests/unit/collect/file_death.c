/* SPDX-License-Identifier: MIT */
/*
 * A collector that dies while it reads on in its file, between two records, was killed by none: what the
 * tables have of them must not be counted as lost, too.
 */
#include "fake_main.h"

#include <sys/syscall.h>

#include "perfdata/crafted.h"

enum {
	BEFORE_HOLE = 100,
	HOLE_BYTES = 16 << 20, /* nothing is read ahead over it */
	RECORD_AUXTRACE = 71,
	SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
};

/* In the collector alone: where to die. */
static off_t deadly_from = INT64_MAX;

/* In place of libc's. */
ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	if (offset >= deadly_from)
		raise(SIGKILL);
	return syscall(SYS_pread64, fd, bytes, size, offset);
}

static struct fake_main fake;

/* Samples, a hole that is passed over, and something to be read behind it. */
static int file_with_hole(size_t *hole_at)
{
	const struct crafted_event event = {
		.attr = {.size = sizeof(event.attr),
			 .type = PERF_TYPE_SOFTWARE,
			 .sample_type = SAMPLE_TYPE,
			 .sample_id_all = 1},
		.ids = {1},
		.nr_ids = 1,
	};
	struct crafted file;
	crafted_begin(&file, &event, 1);
	for (uint64_t i = 0; i < BEFORE_HOLE; i++)
		put_sample(&file, SAMPLE_TYPE, 1, 0x1000, 1 + i);
	put_round(&file);
	put_round(&file); /* what was before is given out now */
	const uint64_t auxtrace[5] = {HOLE_BYTES};
	put_record(&file, RECORD_AUXTRACE, 0, auxtrace, sizeof(auxtrace));
	*hole_at = file.size;
	const size_t size = file.size + HOLE_BYTES + sizeof(struct perf_event_header);
	patch_u64(&file, CRAFTED_DATA_SIZE_AT, size - file.data_at);
	int fd = crafted_fd(&file, file.size);
	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	crafted_release(&file);
	return fd;
}

static void start_on(int source_fd, off_t deadly)
{
	int main_fd, child_fd, fd;
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	fflush(stdout);
	fake.pid = fork();
	CHECK(fake.pid >= 0);
	if (fake.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(main_fd);
		deadly_from = deadly;
		_exit(collector_run(channel_new(child_fd, CHANNEL_CHILD)) ? 1 : 0);
	}
	close(child_fd);
	fake.channel = channel_new(main_fd, CHANNEL_MAIN);
	CHECK(fake.channel);
	struct message message = {.kind = MESSAGE_STATUS};
	fake.status = fake_memory(sizeof(*fake.status), &fd);
	atomic_store(&fake.status->busy_cpu, -1);
	fake_tell(&fake, &message, fd);
	message.kind = MESSAGE_TO_MAIN;
	fake.to_main = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fake_tell(&fake, &message, dup(fake.to_main));
	message = (struct message){.kind = MESSAGE_CONFIG, .config = {.skip_cpu = -1}};
	fake_tell(&fake, &message, -1);
	message = (struct message){.kind = MESSAGE_SOURCE};
	fake_tell(&fake, &message, source_fd);
	fd = tables_memfd_new(&tables_capacity_default);
	CHECK_EQ(tables_map(&fake.tables, fd, &tables_capacity_default, true), 0);
	message = (struct message){.kind = MESSAGE_TABLES, .epoch = {1}};
	fake_tell(&fake, &message, fd);
	fake_main_go(&fake);
}

static void between_two_records_none_is_in_hand(void)
{
	size_t hole_at = 0;
	int status, fd = file_with_hole(&hole_at);
	start_on(fd, (off_t)hole_at);
	CHECK_EQ(waitpid(fake.pid, &status, 0), fake.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(atomic_load(&fake.status->progress) >= BEFORE_HOLE);
	CHECK_EQ(atomic_load(&fake.status->busy_cpu), -1);
	channel_free(fake.channel);
	close(fake.to_main);
	tables_unmap(&fake.tables);
	munmap(fake.status, sizeof(*fake.status));
}

int main(void)
{
	RUN(between_two_records_none_is_in_hand);
	return test_done();
}

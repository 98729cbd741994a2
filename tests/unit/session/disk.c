/* SPDX-License-Identifier: MIT */
/* The process that writes may die at any moment: what it leaves is a file as if it had not. */
#include <ctop/session/disk.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/child/child.h>
#include <ctop/recording/chunk.h>

#include "test.h"

enum { NR_CHUNKS = 600, CHUNK_BYTES = 3000, ROUNDS = 6 };
/* Nothing goes out before its hello, which a loop would take; there is none here. */
enum { HELLO_MS = 60000 };

struct scene {
	struct disk disk;
	struct chunk_writer *chunks;
	int pipe_fd;
	unsigned nr_deaths;
};

static void set_up(struct scene *scene, int output_fd)
{
	disk_init(&scene->disk);
	CHECK_EQ(disk_start(&scene->disk, output_fd, &scene->pipe_fd), 0);
	CHECK_EQ(channel_await_hello(scene->disk.writer.channel, HELLO_MS), 0);
	scene->chunks = chunk_writer_new(scene->pipe_fd);
	CHECK(scene->chunks != NULL);
	chunk_keep(scene->chunks);
	CHECK_EQ(chunk_write_head(scene->chunks), 0);
	scene->nr_deaths = 0;
}

static void go_on(struct scene *scene)
{
	const uint8_t *kept;
	uint64_t from = chunk_confirm(scene->chunks, disk_written(&scene->disk));
	const size_t size = chunk_kept(scene->chunks, from, &kept);
	from = chunk_confirm(scene->chunks, disk_find(&scene->disk, from, kept, size));
	CHECK_EQ(disk_restart(&scene->disk, from, &scene->pipe_fd), 0);
	CHECK_EQ(channel_await_hello(scene->disk.writer.channel, HELLO_MS), 0);
	chunk_redirect(scene->chunks, scene->pipe_fd, from);
	CHECK_EQ(chunk_push(scene->chunks), 0);
}

static void kill_writer(struct scene *scene)
{
	CHECK_EQ(kill(scene->disk.writer.pid, SIGKILL), 0);
	CHECK_EQ(disk_wait(&scene->disk, -1), -EAGAIN);
	CHECK(disk_has_ended(&scene->disk));
	scene->nr_deaths++;
	go_on(scene);
}

static void put_chunk(struct scene *scene, uint32_t *state)
{
	struct buffer payload = {0};
	for (int i = 0; i < CHUNK_BYTES; i++) {
		const uint8_t byte = (uint8_t)((*state = *state * 1103515245 + 12345) >> 16);
		buffer_add(&payload, &byte, 1); /* no compressor makes these small */
	}
	CHECK_EQ(chunk_write(scene->chunks, CHUNK_METADATA, 1, &payload), 0);
	buffer_release(&payload);
}

static void push_all(struct scene *scene)
{
	while (chunk_waiting_bytes(scene->chunks)) {
		struct pollfd fd = {.fd = scene->pipe_fd, .events = POLLOUT};
		CHECK(poll(&fd, 1, -1) == 1);
		chunk_confirm(scene->chunks, disk_written(&scene->disk));
		CHECK_EQ(chunk_push(scene->chunks), 0);
	}
}

/* All chunks, with a death after each `apart` of them, as long as that is not too often. */
static void write_all_chunks(struct scene *scene, unsigned apart)
{
	uint32_t state = apart;
	for (unsigned i = 0; i < NR_CHUNKS; i++) {
		put_chunk(scene, &state);
		if (i % 7 == 0)
			chunk_confirm(scene->chunks, disk_written(&scene->disk));
		if (i % apart == apart - 1 && scene->nr_deaths + 1 < WORKER_MAX_DEATHS)
			kill_writer(scene);
	}
	push_all(scene);
	chunk_close(scene->chunks);
}

static void tear_down(struct scene *scene)
{
	chunk_writer_free(scene->chunks);
	disk_release(&scene->disk);
}

/* How many chunks there are, each as it was written; *damage is what lies between them. */
static unsigned chunks_of(int fd, struct chunk_damage *damage)
{
	struct chunk_reader *reader = chunk_reader_new(fd);
	struct chunk chunk;
	unsigned nr = 0;
	*damage = (struct chunk_damage){0};
	CHECK_EQ(chunk_read_head(reader), 0);
	while (chunk_read(reader, &chunk, damage) == 1)
		nr++;
	chunk_reader_free(reader);
	return nr;
}

static int new_file(void)
{
	char path[] = "/tmp/ctop-disk-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	CHECK(fd >= 0);
	unlink(path);
	return fd;
}

static void a_file_is_as_without_deaths(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct scene scene;
		struct chunk_damage damage;
		int fd = new_file();
		CHECK_EQ(write(fd, "before", 6), 6);
		set_up(&scene, dup(fd));
		write_all_chunks(&scene, 11 + round * 31);
		CHECK_EQ(disk_wait(&scene.disk, -1), 0);
		CHECK_EQ(scene.nr_deaths, WORKER_MAX_DEATHS - 1);
		CHECK_EQ(lseek(fd, 0, SEEK_END), 6 + (off_t)chunk_bytes_written(scene.chunks));
		CHECK_EQ(lseek(fd, 6, SEEK_SET), 6);
		/* Each whole, in its place, with none missing between two: so all bytes are as they were written. */
		CHECK_EQ(chunks_of(fd, &damage), NR_CHUNKS);
		CHECK_EQ(damage.places, 0);
		CHECK_EQ(damage.missing, 0);
		tear_down(&scene);
		close(fd);
	}
}

/* As a writer that is killed in the middle of a write: it has written so much, and said nothing. */
static void kill_writer_in_a_write(struct scene *scene, int fd, size_t nr)
{
	const uint8_t *kept;
	CHECK_EQ(kill(scene->disk.writer.pid, SIGKILL), 0);
	CHECK_EQ(disk_wait(&scene->disk, -1), -EAGAIN);
	const uint64_t from = chunk_confirm(scene->chunks, disk_written(&scene->disk));
	CHECK(chunk_kept(scene->chunks, from, &kept) >= nr);
	CHECK_EQ(write(fd, kept, nr), (ssize_t)nr);
	go_on(scene);
}

static int append_to_file(void)
{
	int fd = new_file();
	CHECK_EQ(write(fd, "before", 6), 6);
	CHECK_EQ(fcntl(fd, F_SETFL, O_APPEND), 0);
	return fd;
}

/* A writer that has written the head and waits, and 20 chunks in its pipe. */
static void set_up_appending(struct scene *scene, int fd)
{
	uint32_t state = 1;
	int wait_status;
	set_up(scene, dup(fd));
	while (disk_written(&scene->disk) < chunk_bytes_written(scene->chunks))
		sched_yield();
	CHECK_EQ(kill(scene->disk.writer.pid, SIGSTOP), 0);
	CHECK_EQ(waitpid(scene->disk.writer.pid, &wait_status, WUNTRACED), scene->disk.writer.pid);
	CHECK(WIFSTOPPED(wait_status));
	for (int i = 0; i < 20; i++)
		put_chunk(scene, &state);
}

static unsigned end_appending(struct scene *scene, int fd, struct chunk_damage *damage)
{
	push_all(scene);
	chunk_close(scene->chunks);
	CHECK_EQ(disk_wait(&scene->disk, -1), 0);
	CHECK_EQ(lseek(fd, 6, SEEK_SET), 6);
	return chunks_of(fd, damage);
}

static void an_appended_file_is_as_without_deaths(void)
{
	static const size_t parts[] = {0, 1, 4095, 4096, 10000};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct scene scene;
		struct chunk_damage damage;
		int fd = append_to_file();
		set_up_appending(&scene, fd);
		kill_writer_in_a_write(&scene, fd, parts[i]);
		CHECK_EQ(end_appending(&scene, fd, &damage), 20);
		CHECK_EQ(damage.places + damage.missing, 0);
		CHECK_EQ(lseek(fd, 0, SEEK_END), 6 + (off_t)chunk_bytes_written(scene.chunks));
		CHECK(!scene.disk.may_repeat);
		tear_down(&scene);
		close(fd);
	}
}

/* What stands at its end is not known to be ours: better a part twice than one that is missing. */
static void a_file_that_others_append_to_misses_nothing(void)
{
	struct scene scene;
	struct chunk_damage damage;
	int fd = append_to_file();
	set_up_appending(&scene, fd);
	CHECK_EQ(write(fd, "others", 6), 6);
	kill_writer_in_a_write(&scene, fd, 5000);
	CHECK(scene.disk.may_repeat);
	CHECK_EQ(end_appending(&scene, fd, &damage), 20);
	CHECK_EQ(damage.missing, 0);
	tear_down(&scene);
	close(fd);
}

static void one_that_dies_after_the_pipes_end_is_replaced_too(void)
{
	struct scene scene;
	struct chunk_damage damage;
	uint32_t state = 1;
	int fd = new_file();
	set_up(&scene, dup(fd));
	CHECK_EQ(kill(scene.disk.writer.pid, SIGSTOP), 0);
	for (int i = 0; i < 20; i++)
		put_chunk(&scene, &state);
	CHECK_EQ(chunk_waiting_bytes(scene.chunks), 0);
	chunk_close(scene.chunks);
	kill_writer(&scene);
	push_all(&scene);
	chunk_close(scene.chunks);
	CHECK_EQ(disk_wait(&scene.disk, -1), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(chunks_of(fd, &damage), 20);
	CHECK_EQ(damage.places + damage.missing, 0);
	tear_down(&scene);
	close(fd);
}

static void a_pipe_misses_nothing(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct scene scene;
		int ends[2], wait_status;
		CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
		fflush(stdout);
		pid_t reader = fork();
		if (reader == 0) {
			struct chunk_damage damage;
			close(ends[1]);
			unsigned nr = chunks_of(ends[0], &damage);
			/* What was in hand at a death may come twice. */
			_exit(nr != NR_CHUNKS || damage.missing ||
			      damage.places >= WORKER_MAX_DEATHS);
		}
		close(ends[0]);
		set_up(&scene, ends[1]);
		write_all_chunks(&scene, 11 + round * 31);
		CHECK_EQ(disk_wait(&scene.disk, -1), 0);
		CHECK_EQ(waitpid(reader, &wait_status, 0), reader);
		CHECK_EQ(wait_status, 0);
		tear_down(&scene);
	}
}

static void what_is_not_confirmed_is_bounded(void)
{
	struct scene scene;
	uint32_t state = 1;
	set_up(&scene, new_file());
	/* Bytes vanish in a pipe that is read and never confirmed. */
	int ends[2];
	CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	chunk_redirect(scene.chunks, ends[1], 0);
	static char bytes[1 << 16];
	uint64_t taken = 0;
	for (int i = 0; i < 2 * CHUNK_KEPT_MAX / CHUNK_BYTES; i++) {
		put_chunk(&scene, &state);
		for (ssize_t got; (got = read(ends[0], bytes, sizeof(bytes))) > 0;)
			taken += (uint64_t)got;
	}
	CHECK_EQ(taken, CHUNK_KEPT_MAX);
	CHECK(chunk_waiting_bytes(scene.chunks) > 0);
	/* More than was given is nobody's to confirm. */
	CHECK_EQ(chunk_confirm(scene.chunks, UINT64_MAX), CHUNK_KEPT_MAX);
	CHECK_EQ(chunk_confirm(scene.chunks, 0), CHUNK_KEPT_MAX);
	close(ends[0]);
	tear_down(&scene);
}

static void too_many_deaths_are_an_end(void)
{
	struct scene scene;
	set_up(&scene, new_file());
	for (int i = 0; i + 1 < WORKER_MAX_DEATHS; i++)
		kill_writer(&scene);
	CHECK_EQ(kill(scene.disk.writer.pid, SIGKILL), 0);
	CHECK_EQ(disk_wait(&scene.disk, -1), -ECHILD);
	CHECK_EQ(disk_wait(&scene.disk, -1), -ECHILD);
	tear_down(&scene);
}

static void a_full_device_is_its_own_word(void)
{
	struct scene scene;
	uint32_t state = 1;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	set_up(&scene, fd);
	put_chunk(&scene, &state);
	CHECK_EQ(disk_wait(&scene.disk, -1), -ENOSPC);
	tear_down(&scene);
}

int main(int argc, char **argv)
{
	static const char role[] = "--child=";
	if (argc == 2 && strncmp(argv[1], role, strlen(role)) == 0)
		return child_main(argv[1] + strlen(role));
	signal(SIGPIPE, SIG_IGN);
	RUN(a_file_is_as_without_deaths);
	RUN(an_appended_file_is_as_without_deaths);
	RUN(a_file_that_others_append_to_misses_nothing);
	RUN(one_that_dies_after_the_pipes_end_is_replaced_too);
	RUN(a_pipe_misses_nothing);
	RUN(what_is_not_confirmed_is_bounded);
	RUN(too_many_deaths_are_an_end);
	RUN(a_full_device_is_its_own_word);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Profiles that wait for a server that is away. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "main/serve/pusher.h"
#include "test.h"

static int profile_of(size_t size)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	return fd;
}

static int nr_open(void)
{
	int nr = 0;
	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void the_oldest_are_dropped_and_counted(void)
{
	struct pusher pusher;
	const int before = nr_open();
	pusher_init(&pusher, "http://127.0.0.1:1");
	for (int i = 0; i < PUSH_QUEUE_MOST + 8; i++) {
		const int fd = profile_of(100);
		pusher_add(&pusher, fd, i, i + 1);
		close(fd);
	}
	CHECK_EQ(pusher.nr, PUSH_QUEUE_MOST);
	CHECK_EQ(pusher.counts.dropped, 8);
	CHECK(strstr(pusher.queue[0].query, "&from=8&until=9&"));
	pusher_release(&pusher);
	CHECK_EQ(pusher.nr, 0);
	CHECK_EQ(pusher.bytes, 0);
	CHECK_EQ(nr_open(), before);
}

static void so_many_bytes_wait(void)
{
	struct pusher pusher;
	pusher_init(&pusher, "http://127.0.0.1:1");
	for (int i = 0; i < 6; i++) {
		const int fd = profile_of((size_t)15 << 20);
		pusher_add(&pusher, fd, i, i + 1);
		close(fd);
	}
	CHECK_EQ(pusher.nr, 4);
	CHECK_EQ(pusher.counts.dropped, 2);
	CHECK(pusher_timeout_ms(&pusher) == 0);
	pusher_release(&pusher);
}

int main(void)
{
	RUN(the_oldest_are_dropped_and_counted);
	RUN(so_many_bytes_wait);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* A file may change at any moment while it is read: what is of no one file is not used, and nobody falls. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <ctop/base/lost_pages.h>

#include "files/opened.h"

/* Written long ago: whatever is written now has another time. */
static int old_file(void)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	small_elf_init(&elf);
	int fd = file_of_bytes(&elf, sizeof(elf));
	CHECK_EQ(futimens(fd, long_ago), 0);
	return fd;
}

static struct object *open_again(int fd)
{
	struct error error;
	struct object *object = object_open(dup(fd), &error);
	CHECK(object != NULL);
	return object;
}

static void one_that_stays_is_as_opened(void)
{
	int fd = old_file();
	struct object *object = open_again(fd);
	CHECK(object_is_as_opened(object, true) && object_is_as_opened(object, false));
	object_free(object);
	close(fd);
}

static void one_byte_is_enough(void)
{
	int fd = old_file();
	struct object *object = open_again(fd);
	const uint8_t byte = 1;
	CHECK_EQ(pwrite(fd, &byte, 1, SMALL_CODE_OFFSET), 1);
	CHECK(!object_is_as_opened(object, false));
	object_free(object);
	close(fd);
}

static void so_is_its_size(void)
{
	int fd = old_file();
	struct object *object = open_again(fd);
	CHECK_EQ(ftruncate(fd, sizeof(elf) + 1), 0);
	CHECK(!object_is_as_opened(object, false));
	object_free(object);
	close(fd);
}

static void a_time_set_back_shows_while_it_is_read(void)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	const uint8_t byte = 1;
	int fd = old_file();
	struct object *object = open_again(fd);
	struct stat before, after;
	CHECK_EQ(fstat(fd, &before), 0);
	/* Until the clock that files have has moved on. */
	do {
		CHECK_EQ(pwrite(fd, &byte, 1, SMALL_CODE_OFFSET), 1);
		CHECK_EQ(futimens(fd, long_ago), 0);
		CHECK_EQ(fstat(fd, &after), 0);
	} while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	CHECK(!object_is_as_opened(object, true));
	object_free(object);
	close(fd);
}

/* Rewrites all of it, with other sizes, offsets and counts each time, for ever. */
static void rewrite(int fd)
{
	static struct small_elf made;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t state = 1;;) {
		small_elf_init(&made);
		for (int i = 0; i < 64; i++) {
			state = state * 1103515245 + 12345;
			((uint8_t *)&made)[(state >> 8) % sizeof(made.start)] = (uint8_t)state;
		}
		if (pwrite(fd, &made, sizeof(made), 0) < 0 ||
		    ftruncate(fd, (off_t)(sizeof(made) - (state >> 9) % 4096)) < 0)
			_exit(1);
	}
}

static void nobody_falls_over_one_that_is_rewritten_all_the_time(void)
{
	int fd = old_file();
	fflush(stdout);
	pid_t writer = fork();
	CHECK(writer >= 0);
	if (writer == 0)
		rewrite(fd);
	CHECK_EQ(lost_pages_survive(), 0);
	for (int i = 0; i < 3000; i++) {
		struct error error;
		uint8_t bytes[64];
		struct object *object = object_open(dup(fd), &error);
		if (!object)
			continue;
		CHECK(object_identity(object)->build_id_size <= 20);
		object_read(object, SMALL_CODE, bytes, sizeof(bytes));
		object_is_root(object, SMALL_CODE);
		object_is_as_opened(object, true);
		object_free(object);
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	close(fd);
}

int main(void)
{
	RUN(one_that_stays_is_as_opened);
	RUN(one_byte_is_enough);
	RUN(so_is_its_size);
	RUN(a_time_set_back_shows_while_it_is_read);
	RUN(nobody_falls_over_one_that_is_rewritten_all_the_time);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* The files that the broker keeps open, and what it tells of those that it could not: both are bounded. */
#include "main/broker/broker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"

enum { KEPT_MAX = 2048, AHEAD_MAX = 256 };

static struct file_key key_number(uint64_t number)
{
	struct file_key key;
	memset(&key, 0, sizeof(key)); /* padding is compared, too */
	key.file.inode = number + 1;
	return key;
}

static int new_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static void need_descriptors(rlim_t nr)
{
	struct rlimit limit;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < nr)
		SKIP("so many descriptors may not be opened");
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct kept_file *find(const struct broker *broker, uint64_t number)
{
	const struct file_key key = key_number(number);
	return find_kept(broker, &key);
}

static struct kept_file *keep_number(struct broker *broker, uint64_t number)
{
	const struct file_key key = key_number(number);
	struct kept_file *file = keep(broker, &key, new_fd());
	CHECK(file != NULL);
	return file;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void the_oldest_goes(void)
{
	need_descriptors(KEPT_MAX + 64);
	struct broker *broker = broker_new();
	CHECK(broker != NULL);
	const int first_fd = keep_number(broker, 0)->fd;
	keep_number(broker, 1)->refused = BROKER_SYMBOLIZER; /* that is not forgotten */
	const int third_fd = keep_number(broker, 2)->fd;
	for (uint64_t i = 3; i < KEPT_MAX; i++)
		keep_number(broker, i);
	use_kept(broker, find(broker, 0)); /* the last one used by now */
	keep_number(broker, KEPT_MAX);
	CHECK(find(broker, 0) != NULL);
	CHECK(is_open(first_fd));
	CHECK(find(broker, 1) != NULL);
	CHECK(!find(broker, 2));
	CHECK(!is_open(third_fd));
	keep_number(broker, KEPT_MAX + 1);
	CHECK(!find(broker, 3));
	CHECK_EQ(HASH_COUNT(broker->files), KEPT_MAX);
	broker_free(broker);
	CHECK(!is_open(first_fd));
}

/* What nobody asked for yet makes room for its like, and for nothing else. */
static void of_those_opened_ahead_fewer_are_kept(void)
{
	struct broker *broker = broker_new();
	CHECK(broker != NULL);
	keep_number(broker, 0);
	for (uint64_t i = 1; i <= AHEAD_MAX; i++) {
		const struct file_key key = key_number(i);
		CHECK(keep_ahead(broker, &key, new_fd()) != NULL);
	}
	use_kept(broker, find(broker, 1)); /* asked for: one of the others from now on */
	for (uint64_t i = AHEAD_MAX + 1; i <= AHEAD_MAX + 2; i++) {
		const struct file_key key = key_number(i);
		CHECK(keep_ahead(broker, &key, new_fd()) != NULL);
	}
	CHECK(find(broker, 0) != NULL);
	CHECK(find(broker, 1) != NULL);
	CHECK(!find(broker, 2));
	CHECK(find(broker, 3) != NULL);
	CHECK_EQ(broker->ahead.nr_kept, AHEAD_MAX);
	broker_free(broker);
}

static void files_that_were_gone_are_told_of_up_to_a_number(void)
{
	enum { TOLD = 16, MANY = 100 };
	struct broker *broker = broker_new();
	char path[32];
	size_t nr;
	CHECK(broker != NULL);
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/tmp/gone-%d", i);
		note_gone(broker, path, i ? -ENOENT : -EACCES);
		note_gone(broker, path, i ? -ESTALE : -ETIMEDOUT); /* for the other reader */
	}
	const char *const *said = broker_unreadable(broker, &nr);
	CHECK_EQ(nr, TOLD + 1);
	CHECK_STR(said[0], "/tmp/gone-0 (stacks and names: Permission denied)");
	CHECK_STR(said[1], "/tmp/gone-1 (stacks and names: gone before it could be opened)");
	CHECK_STR(said[TOLD], "and 84 more (stacks and names: gone before they could be opened)");
	broker_free(broker);
}

int main(void)
{
	RUN(the_oldest_goes);
	RUN(of_those_opened_ahead_fewer_are_kept);
	RUN(files_that_were_gone_are_told_of_up_to_a_number);
	return test_done();
}

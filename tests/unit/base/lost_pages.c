/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/lost_pages.h>
#include <ctop/elf/object.h>

static int file_of(size_t size)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	CHECK_EQ(pwrite(fd, "begin", 5, 0), 5);
	CHECK_EQ(pwrite(fd, "end", 3, (off_t)size - 3), 3);
	return fd;
}

static void what_is_cut_off_reads_as_zeros(void)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), size = 3 * page_bytes;
	int fd = file_of(size);
	const volatile char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(bytes != MAP_FAILED);
	CHECK_EQ(bytes[size - 1], 'd');
	const uint64_t before = lost_pages_count();
	CHECK_EQ(ftruncate(fd, (off_t)page_bytes), 0);
	CHECK_EQ(bytes[size - 1], 0);
	CHECK_EQ(bytes[page_bytes], 0);
	CHECK_EQ(lost_pages_count() - before, 2);
	CHECK_EQ(bytes[0], 'b');
	/* Written again: what was zero once may stay so, nothing breaks. */
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(bytes[1], 0);
	close(fd);
}

/* Where somebody would write into a page that is gone, going on would lose it. */
static void writing_ends_the_process(void)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	int fd = file_of(page_bytes), status;
	volatile char *bytes = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(bytes != MAP_FAILED);
	CHECK_EQ(ftruncate(fd, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		bytes[0] = 1;
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	close(fd);
}

/* A SIGBUS that somebody sends is no lost page. */
static void a_signal_sent_ends_the_process(void)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGBUS);
		raise(SIGBUS);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static void a_program_that_is_cut_while_it_is_read(void)
{
	struct error error;
	char path[] = "/tmp/ctop-cut-XXXXXX", bytes[64 << 10];
	int source = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = mkostemp(path, O_CLOEXEC);
	CHECK(source >= 0 && fd >= 0);
	unlink(path);
	for (ssize_t got; (got = read(source, bytes, sizeof(bytes))) > 0;)
		CHECK_EQ(write(fd, bytes, (size_t)got), got);
	close(source);
	int cutter = dup(fd);
	struct object *object = object_open(fd, &error);
	CHECK(object != NULL);
	CHECK_EQ(ftruncate(cutter, 64), 0);
	object_is_root(object, 0x1000); /* reads every symbol */
	uint64_t value = 1;
	object_read(object, 0x1000, &value, sizeof(value));
	object_free(object);
	close(cutter);
}

int main(void)
{
	if (lost_pages_survive())
		return 1;
	RUN(what_is_cut_off_reads_as_zeros);
	RUN(writing_ends_the_process);
	RUN(a_signal_sent_ends_the_process);
	RUN(a_program_that_is_cut_while_it_is_read);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include <ctop/files/locate.h>

#include <errno.h>
#include <sys/stat.h>

#include "apart.h"
#include "elf/small_elf.h"
#include "proved.h"
#include "test.h"

static char directory[64];
static struct small_elf elf;

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static bool write_elf(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool written = fd >= 0 && write(fd, &elf, sizeof(elf)) == (ssize_t)sizeof(elf);
	close(fd);
	return written;
}

/* Closes what was opened; -errno or 0. */
static int locate(const uint8_t *build_id, size_t size, const char *link, const char *module)
{
	int fd = debug_file(build_id, size, link, module);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int linked(const char *link)
{
	char module[128];
	snprintf(module, sizeof(module), "%s/program", directory);
	return locate(NULL, 0, link, module);
}

static void beside_the_module_or_below_it(void)
{
	CHECK_EQ(linked("program.debug"), -ENOENT);
	CHECK(write_elf(path_of("program.debug")));
	CHECK_EQ(linked("program.debug"), 0);
	unlink(path_of("program.debug"));
	CHECK_EQ(mkdir(path_of(".debug"), 0700), 0);
	CHECK(write_elf(path_of(".debug/program.debug")));
	CHECK_EQ(linked("program.debug"), 0);
	unlink(path_of(".debug/program.debug"));
	rmdir(path_of(".debug"));
}

static void a_link_names_a_file_and_no_path(void)
{
	CHECK(write_elf(path_of("program")));
	CHECK_EQ(linked(""), -ENOENT);
	CHECK_EQ(linked("program"), -ENOENT); /* itself */
	CHECK_EQ(linked("/etc/passwd"), -ENOENT);
	CHECK_EQ(linked("../../etc/passwd"), -ENOENT);
	CHECK_EQ(linked(".."), -ENOENT);
	CHECK_EQ(locate(NULL, 0, "passwd", "no/absolute/path"), -ENOENT);
	CHECK_EQ(locate(NULL, 0, "passwd", "[vdso]"), -ENOENT);
	CHECK_EQ(locate(NULL, 0, "passwd", ""), -ENOENT);
	static char longest[10000];
	memset(longest, 'x', sizeof(longest) - 1);
	CHECK_EQ(linked(longest), -ENOENT);
	longest[0] = '/';
	CHECK_EQ(locate(NULL, 0, "passwd", longest), -ENOENT);
	unlink(path_of("program"));
}

/* What the kernel makes up is no file: a look at the kernel's log would take it from who reads it. */
static void nothing_that_the_kernel_makes_up(void)
{
	CHECK_EQ(locate(NULL, 0, "kmsg", "/proc/evil"), -ENOENT);
	CHECK_EQ(locate(NULL, 0, "kallsyms", "/proc/evil"), -ENOENT);
	CHECK_EQ(locate(NULL, 0, "uevent_seqnum", "/sys/kernel/evil"), -ENOENT);
}

static void nothing_asked_nothing_found(void)
{
	CHECK_EQ(locate(NULL, 0, NULL, NULL), -ENOENT);
	CHECK_EQ(locate(NULL, 0, "x", NULL), -ENOENT);
	CHECK_EQ(locate(NULL, 0, NULL, "/bin/true"), -ENOENT);
}

static void with_a_build_id_a_name_alone_does_not_do(void)
{
	char module[128];
	snprintf(module, sizeof(module), "%s/program", directory);
	uint8_t other[20] = {1, 2, 3};
	CHECK(write_elf(path_of("program.debug")));
	CHECK_EQ(locate(other, 20, "program.debug", module), -ENOENT);
	CHECK_EQ(locate(elf.start.note.build_id, 20, "program.debug", module), 0);
	CHECK_EQ(mkfifo(path_of("fifo.debug"), 0600), 0);
	CHECK_EQ(linked("fifo.debug"), -ENOENT);
	unlink(path_of("fifo.debug"));
	unlink(path_of("program.debug"));
}

/* What is there and is not opened is distinguished from what is not there, also where another place has a file. */
static void what_is_no_file_is_told(void)
{
	char module[128];
	snprintf(module, sizeof(module), "%s/program", directory);
	CHECK_EQ(locate_debug_by_link(0, module, "x.debug", 0), -ENOENT);
	CHECK_EQ(mkdir(path_of(".debug"), 0700), 0);
	CHECK_EQ(mkfifo(path_of("x.debug"), 0600), 0);
	CHECK_EQ(locate_debug_by_link(0, module, "x.debug", 0), -EINVAL);
	CHECK(write_elf(path_of(".debug/x.debug")));
	int fd = locate_debug_by_link(0, module, "x.debug", 0);
	CHECK(fd >= 0);
	close(fd);
	CHECK_EQ(locate_debug_by_link(0, module, "x.debug", 1), -EINVAL);
	unlink(path_of(".debug/x.debug"));
	unlink(path_of("x.debug"));
	CHECK_EQ(mkdir(path_of("x.debug"), 0700), 0);
	CHECK_EQ(locate_debug_by_link(0, module, "x.debug", 0), -EINVAL);
	rmdir(path_of("x.debug"));
	rmdir(path_of(".debug"));
}

static int located(const char *name, unsigned candidate)
{
	char module[128];
	snprintf(module, sizeof(module), "%s/program", directory);
	int fd = locate_common_debug_file(0, module, name, candidate);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Whatever path a debug file has for it. */
static void a_common_file_is_beside_the_module(void)
{
	CHECK_EQ(located("common", 0), -ENOENT);
	CHECK(write_elf(path_of("common")));
	CHECK_EQ(located("common", 0), 0);
	CHECK_EQ(located("common", 1), -ENOENT);
	CHECK_EQ(located("../elsewhere/common", 0), 0);
	CHECK_EQ(located("/home/somebody/.dwz/common", 0), 0);
	static const char *const none[] = {"",
					   "/",
					   "..",
					   "/etc/passwd",
					   "../../../../etc/passwd",
					   ".dwz/../../../../etc/passwd",
					   "/usr/lib/debug/.dwz/../../../../etc/passwd",
					   ".dwz/",
					   ".dwz//etc/passwd",
					   ".dwz/.dwz/.."};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK(located(none[i], 0) < 0);
	static char longest[10000] = ".dwz/";
	memset(longest + 5, 'x', sizeof(longest) - 6);
	CHECK(located(longest, 0) < 0);
	unlink(path_of("common"));
}

static void build_ids_of_odd_sizes(void)
{
	static uint8_t long_id[64] = {0xa0, 0xa1};
	CHECK_EQ(locate(long_id, 1, NULL, NULL), -ENOENT);
	CHECK_EQ(locate(long_id, 20, NULL, NULL), -ENOENT);
	CHECK_EQ(locate(long_id, 21, NULL, NULL), -ENOENT);
	CHECK_EQ(locate(long_id, SIZE_MAX, NULL, NULL), -ENOENT);
}

/* In a mount namespace with a /usr/lib of its own. */
static int by_build_id(void)
{
	static const char path[] =
		"/usr/lib/debug/.build-id/a0/a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3.debug";
	if (!own_mounts() || mount("none", "/usr/lib", "tmpfs", 0, NULL) != 0)
		return NOT_POSSIBLE;
	EXPECT(mkdir("/usr/lib/debug", 0755) == 0);
	EXPECT(mkdir("/usr/lib/debug/.build-id", 0755) == 0);
	EXPECT(mkdir("/usr/lib/debug/.build-id/a0", 0755) == 0);
	EXPECT(locate(elf.start.note.build_id, 20, NULL, NULL) == -ENOENT);
	EXPECT(write_elf(path));
	EXPECT(locate(elf.start.note.build_id, 20, NULL, NULL) == 0);
	uint8_t build_id[20];
	memcpy(build_id, elf.start.note.build_id, sizeof(build_id));
	elf.start.note.build_id[19] ^= 1;
	EXPECT(write_elf(path)); /* of another program, under this one's name */
	EXPECT(locate(build_id, 20, NULL, NULL) == -ENOENT);
	/* By link below the same root. */
	EXPECT(mkdir("/usr/lib/debug/opt", 0755) == 0);
	EXPECT(write_elf("/usr/lib/debug/opt/tool.debug"));
	EXPECT(locate(NULL, 0, "tool.debug", "/opt/tool") == 0);
	EXPECT(locate(NULL, 0, "tool.debug", "/tool") == -ENOENT);
	/* Where distributions have what dwz found in several debug files, by names of all kinds. */
	EXPECT(mkdir("/usr/lib/debug/.dwz", 0755) == 0);
	EXPECT(mkdir("/usr/lib/debug/.dwz/triplet", 0755) == 0);
	EXPECT(write_elf("/usr/lib/debug/.dwz/triplet/package.debug"));
	EXPECT(located("/usr/lib/debug/.dwz/triplet/package.debug", 0) == 0);
	EXPECT(located("../../.dwz/triplet/package.debug", 0) == 0);
	EXPECT(located("../../.dwz/triplet/package.debug", 1) == -ENOENT);
	EXPECT(located("../../.dwz/package.debug", 0) == -ENOENT);
	return 0;
}

static void below_usr_lib_debug(void)
{
	int result = run_apart(by_build_id);
	if (result == NOT_POSSIBLE)
		SKIP("no mount namespaces here");
	CHECK_EQ(result, 0);
}

static int split(const char *path)
{
	int fd = locate_split_file(0, path);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void files_of_units(void)
{
	CHECK_EQ(split(path_of("a.dwo")), -ENOENT);
	CHECK(write_elf(path_of("a.dwo")));
	CHECK_EQ(split(path_of("a.dwo")), 0);
	static const char *const none[] = {"", "a.dwo", "../a.dwo", "./a.dwo"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK_EQ(split(none[i]), -ENOENT);
	/* Links are followed, to no file that the kernel makes up. */
	unlink(path_of("a.dwo"));
	CHECK_EQ(symlink("/proc/self/maps", path_of("a.dwo")), 0);
	CHECK_EQ(split(path_of("a.dwo")), -EINVAL);
	unlink(path_of("a.dwo"));
	CHECK_EQ(mkfifo(path_of("a.dwo"), 0600), 0);
	CHECK_EQ(split(path_of("a.dwo")), -EINVAL);
	unlink(path_of("a.dwo"));
	CHECK_EQ(split("/dev/zero"), -EINVAL);
}

int main(void)
{
	snprintf(directory, sizeof(directory), "/tmp/ctop-debug-XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	small_elf_init(&elf);
	RUN(beside_the_module_or_below_it);
	RUN(a_link_names_a_file_and_no_path);
	RUN(nothing_that_the_kernel_makes_up);
	RUN(nothing_asked_nothing_found);
	RUN(with_a_build_id_a_name_alone_does_not_do);
	RUN(what_is_no_file_is_told);
	RUN(a_common_file_is_beside_the_module);
	RUN(files_of_units);
	RUN(build_ids_of_odd_sizes);
	RUN(below_usr_lib_debug);
	rmdir(directory);
	return test_done();
}

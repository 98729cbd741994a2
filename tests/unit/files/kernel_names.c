/* SPDX-License-Identifier: MIT */
/* The kernel's functions between two runs: our own kernel's, in a directory of the test's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/kernel/names_text.h>
#include <ctop/symbol/kallsyms.h>

#include "main/files/kernel_names.h"
#include "main/files/own_cache.h"
#include "test.h"

enum { TEXT_MAX = 32 << 20 };

static char where[64];
static int directory_fd;

static void begin(void)
{
	strcpy(where, "/tmp/ctop-test-XXXXXX");
	CHECK(mkdtemp(where) != NULL);
	directory_fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(directory_fd >= 0);
}

/* How many entries it had. */
static unsigned end(void)
{
	char path[512];
	unsigned nr = 0;
	const struct dirent *entry;
	DIR *directory = opendir(where);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		snprintf(path, sizeof(path), "%s/%s", where, entry->d_name);
		if (unlink(path))
			rmdir(path);
	}
	closedir(directory);
	close(directory_fd);
	rmdir(where);
	return nr;
}

static enum kernel_names_from from;

static int names(void)
{
	int fd = kernel_names_open(directory_fd, &from);
	if (fd == -EPERM || fd == -ENOTSUP) {
		end();
		SKIP("this kernel shows no addresses, or has no boot id");
	}
	return fd;
}

static char *text_of(int fd)
{
	char *text = calloc(1, TEXT_MAX);
	size_t size = 0;
	ssize_t got;
	CHECK(text != NULL);
	while ((got = pread(fd, text + size, TEXT_MAX - 1 - size, (off_t)size)) > 0)
		size += (size_t)got;
	CHECK_EQ(got, 0);
	return text;
}

/* The kernel's own file of the names that are kept. */
static void path_of_kept(char path[512])
{
	const struct dirent *entry;
	DIR *directory = opendir(where);
	path[0] = '\0';
	while ((entry = readdir(directory)))
		if (!strncmp(entry->d_name, "kernel-", 7))
			snprintf(path, 512, "%s/%s", where, entry->d_name);
	closedir(directory);
	CHECK(path[0] != '\0');
}

/* Fills the cache, closes what came. */
static void fill(void)
{
	int fd = names();
	CHECK(fd >= 0);
	CHECK_EQ(from, KERNEL_NAMES_KEPT);
	close(fd);
}

/* What is there is not used: the names are printed, and right. */
static void check_not_used(enum kernel_names_from wanted)
{
	int fd = names();
	CHECK(fd >= 0);
	CHECK_EQ(from, wanted);
	char *text = text_of(fd);
	CHECK(!strncmp(text, KERNEL_NAMES_FIRST_LINE "\n", strlen(KERNEL_NAMES_FIRST_LINE "\n")));
	CHECK(strstr(text, " T _text\n") != NULL || strstr(text, " T _stext\n") != NULL);
	free(text);
	close(fd);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Functions of the kernel and of its modules, each as the kernel prints it, in the order of their addresses; nothing else. */
static void what_the_kernel_prints(void)
{
	enum { LINES_MAX = 1 << 20 };
	static char *kept[LINES_MAX], *printed[LINES_MAX];
	char *line = NULL, type, *rest;
	size_t capacity = 0, nr_kept = 0, nr_printed = 0, wrong = 0;
	uint64_t before = 0;
	begin();
	fill();
	int fd = names();
	CHECK_EQ(from, KERNEL_NAMES_CACHED);
	char *text = text_of(fd), *at = strstr(text, "\n# functions\n");
	close(fd);
	CHECK(at != NULL);
	at = strchr(at + 1, '\n') + 1;
	for (char *token = strtok_r(at, "\n", &rest); token && *token != '#' && nr_kept < LINES_MAX;
	     token = strtok_r(NULL, "\n", &rest)) {
		const uint64_t address = strtoull(token, NULL, 16);
		wrong += address < before;
		before = address;
		kept[nr_kept++] = token;
	}
	FILE *kernel = fopen("/proc/kallsyms", "re");
	while (getline(&line, &capacity, kernel) > 0 && nr_printed < LINES_MAX) {
		const bool is_made = strstr(line, "\t[bpf]") || strstr(line, "\t[__builtin__");
		if (sscanf(line, "%*x %c", &type) != 1 || !strchr("tTwW", type) || is_made)
			continue;
		line[strcspn(line, "\n")] = '\0';
		printed[nr_printed++] = strdup(line);
	}
	fclose(kernel);
	free(line);
	CHECK_EQ(nr_kept, nr_printed);
	CHECK(nr_kept > 1000);
	qsort(kept, nr_kept, sizeof(*kept), by_bytes);
	qsort(printed, nr_printed, sizeof(*printed), by_bytes);
	for (size_t i = 0; i < nr_printed; i++) {
		wrong += strcmp(kept[i], printed[i]) != 0;
		free(printed[i]);
	}
	CHECK_EQ(wrong, 0);
	free(text);
	CHECK_EQ(end(), 1);
}

static struct kallsyms *read_names(int fd)
{
	struct kallsyms *kallsyms = kallsyms_new(fd);
	int result;
	while ((result = kallsyms_read_part(kallsyms)) > 0)
		;
	CHECK_EQ(result, 0);
	return kallsyms;
}

/* Each function of the kernel has the same name out of both, at its first byte, in it, and before it. */
static void are_found_as_among_all(void)
{
	char *line = NULL;
	size_t capacity = 0, nr = 0, wrong = 0;
	uint64_t code[4];
	begin();
	fill();
	struct kallsyms *kept = read_names(names());
	struct kallsyms *all = read_names(open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
	FILE *kernel = fopen("/proc/kallsyms", "re");
	CHECK(kallsyms_is_kept(kept) && !kallsyms_is_kept(all));
	CHECK_EQ(kallsyms_text(kept, &code[0], &code[1]), kallsyms_text(all, &code[2], &code[3]));
	CHECK_EQ(code[0], code[2]);
	CHECK_EQ(code[1], code[3]);
	while (getline(&line, &capacity, kernel) > 0) {
		const uint64_t address = strtoull(line, NULL, 16);
		for (int i = -1; address && i < 2; i++) {
			struct symbol_hit of_kept, of_all;
			/* What is left out is found among all alone; and where that begins another ends. */
			if (!kallsyms_find(all, address + (uint64_t)i, &of_all) ||
			    (of_all.module && (strstr(of_all.module, "bpf") ||
					       strstr(of_all.module, "__builtin__"))))
				continue;
			nr++;
			wrong += !kallsyms_find(kept, address + (uint64_t)i, &of_kept) ||
				 of_kept.start != of_all.start ||
				 strcmp(of_kept.name, of_all.name) != 0 ||
				 !of_kept.module != !of_all.module ||
				 (of_all.module && strcmp(of_kept.module, of_all.module) != 0);
		}
	}
	fclose(kernel);
	free(line);
	CHECK(nr > 1000);
	CHECK_EQ(wrong, 0);
	kallsyms_free(kept);
	kallsyms_free(all);
	CHECK_EQ(end(), 1);
}

static void is_for_its_owner_alone(void)
{
	char path[512];
	struct stat status;
	begin();
	fill();
	path_of_kept(path);
	CHECK_EQ(stat(path, &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0600);
	CHECK_EQ(chmod(path, 0644), 0);
	check_not_used(KERNEL_NAMES_KEPT);
	CHECK_EQ(stat(path, &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0600);
	CHECK_EQ(chmod(path, 0602), 0);
	check_not_used(KERNEL_NAMES_KEPT);
	if (geteuid() == 0) {
		CHECK_EQ(chown(path, 65534, 65534), 0);
		check_not_used(KERNEL_NAMES_KEPT);
		CHECK_EQ(stat(path, &status), 0);
		CHECK_EQ(status.st_uid, 0);
	}
	CHECK_EQ(end(), 1);
}

/* Overwrites a line of the head with one as long. */
static void change(const char *path, const char *start)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *text = text_of(fd), *at = strstr(text, start);
	CHECK(at != NULL);
	const char changed = at[strlen(start)] == '1' ? '2' : '1';
	CHECK_EQ(pwrite(fd, &changed, 1, at + strlen(start) - text), 1);
	free(text);
	close(fd);
}

static void another_kernels_are_not_used(void)
{
	static const char *const lines[] = {"\n# boot ", "\n# kernel ", "\n# text ",
					    "kept by ctop: "};
	char path[512];
	begin();
	fill();
	path_of_kept(path);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		change(path, lines[i]);
		check_not_used(KERNEL_NAMES_KEPT);
	}
	/* A module that has gone, or was loaded elsewhere. */
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *text = text_of(fd), *symbols = strstr(text, "\n# text ") + 1;
	symbols = strchr(symbols, '\n') + 1;
	const char module[] = "# module gone 4096 Live 0xffffffffc0000000 12\n";
	CHECK(pwrite(fd, module, strlen(module), symbols - text) > 0);
	CHECK(pwrite(fd, symbols, strlen(symbols), symbols - text + (off_t)strlen(module)) > 0);
	close(fd);
	free(text);
	check_not_used(KERNEL_NAMES_KEPT);
	CHECK_EQ(end(), 1);
}

static void what_is_cut_is_not_used(void)
{
	char path[512];
	struct stat status;
	begin();
	fill();
	path_of_kept(path);
	CHECK_EQ(stat(path, &status), 0);
	for (off_t size = status.st_size - 1; size > 0; size = size > 100 ? size / 8 : size - 1) {
		CHECK_EQ(truncate(path, size), 0);
		check_not_used(KERNEL_NAMES_KEPT);
	}
	CHECK_EQ(truncate(path, 0), 0);
	check_not_used(KERNEL_NAMES_KEPT);
	/* Nor what is longer than anything that is kept. */
	CHECK_EQ(truncate(path, (off_t)KERNEL_NAMES_MAX + 1), 0);
	check_not_used(KERNEL_NAMES_KEPT);
	CHECK_EQ(end(), 1);
}

/* A link is replaced, and what it leads to stays as it is; so is a fifo, which nobody waits at. */
static void what_is_no_file_is_not_used(void)
{
	char path[512], victim[] = "/tmp/ctop-test-XXXXXX";
	struct stat status;
	int fd = mkstemp(victim);
	CHECK_EQ(write(fd, "precious", 8), 8);
	begin();
	fill();
	path_of_kept(path);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(symlink(victim, path), 0);
	check_not_used(KERNEL_NAMES_KEPT);
	CHECK_EQ(lstat(path, &status), 0);
	CHECK(S_ISREG(status.st_mode));
	CHECK_EQ(fstat(fd, &status), 0);
	CHECK_EQ(status.st_size, 8);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	check_not_used(KERNEL_NAMES_KEPT);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkdir(path, 0700), 0);
	check_not_used(KERNEL_NAMES_NOT_KEPT);
	CHECK_EQ(end(), 1);
	close(fd);
	unlink(victim);
}

/* Nothing can be written: the names are there all the same. */
static void nowhere_to_keep_them(void)
{
	begin();
	CHECK_EQ(rmdir(where), 0);
	check_not_used(KERNEL_NAMES_NOT_KEPT);
	close(directory_fd);
}

/* Of other boots so many stay, the newest; what is somebody else's in there stays, too. */
static void the_oldest_go(void)
{
	char name[64];
	begin();
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "kernel-%d%s", i, i % 2 ? ".123" : "");
		int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		const struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
		CHECK_EQ(futimens(fd, times), 0);
		close(fd);
	}
	close(openat(directory_fd, "another", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	fill();
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "kernel-%d%s", i, i % 2 ? ".123" : "");
		CHECK_EQ(faccessat(directory_fd, name, F_OK, 0) == 0,
			 i >= 9 - (KERNEL_NAMES_BOOTS_MAX - 1));
	}
	CHECK_EQ(end(), KERNEL_NAMES_BOOTS_MAX + 1);
}

/* ---- the directory ---- */

static int open_in(const char *cache)
{
	setenv("XDG_CACHE_HOME", cache, 1);
	int fd = own_cache_open();
	unsetenv("XDG_CACHE_HOME");
	return fd;
}

static bool is_made(const char *cache)
{
	char path[512];
	struct stat status;
	int fd = open_in(cache);
	if (fd < 0)
		return false;
	close(fd);
	snprintf(path, sizeof(path), "%s/ctop", cache);
	const bool is_so = stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
			   (status.st_mode & 07777) == 0700;
	rmdir(path);
	return is_so;
}

/* An emulator of programs takes another directory for the root, whose names lead elsewhere. */
static bool is_real_root(void)
{
	struct stat below, absolute;
	const int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool is_real = fd >= 0 && !fstatat(fd, "tmp", &below, 0) &&
			     !stat("/tmp", &absolute) && below.st_ino == absolute.st_ino &&
			     below.st_dev == absolute.st_dev;
	if (fd >= 0)
		close(fd);
	return is_real;
}

static void the_directory_is_made(void)
{
	char path[128];
	if (!is_real_root())
		SKIP("emulated, / is another directory");
	begin();
	CHECK(is_made(where));
	snprintf(path, sizeof(path), "%s/cache", where);
	CHECK(is_made(path));
	CHECK(is_made(path));
	CHECK_EQ(rmdir(path), 0);
	/* Only that. */
	snprintf(path, sizeof(path), "%s/home/cache", where);
	CHECK_EQ(open_in(path), -ENOENT);
	/* A link on the way is the user's own, or root's. */
	snprintf(path, sizeof(path), "%s/link", where);
	CHECK_EQ(symlink(where, path), 0);
	CHECK(is_made(path));
	CHECK_EQ(end(), 1);
}

static void a_directory_of_others_is_refused(void)
{
	char path[128];
	if (!is_real_root())
		SKIP("emulated, / is another directory");
	begin();
	snprintf(path, sizeof(path), "%s/ctop", where);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(chmod(path, 0770), 0);
	CHECK_EQ(open_in(where), -EPERM);
	CHECK_EQ(chmod(path, 01777), 0);
	CHECK_EQ(open_in(where), -EPERM);
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(symlink("/tmp", path), 0);
	CHECK(open_in(where) < 0);
	CHECK_EQ(unlink(path), 0);
	close(openat(directory_fd, "ctop", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	CHECK_EQ(open_in(where), -ENOTDIR);
	CHECK_EQ(unlink(path), 0);
	/* On the way there. */
	CHECK_EQ(chmod(where, 0777), 0);
	CHECK_EQ(open_in(where), -EPERM);
	CHECK_EQ(chmod(where, 0700), 0);
	CHECK_EQ(end(), 0);
}

/* Root's HOME may be a user's, and is not asked for; nor is a directory that is a user's. */
static void root_keeps_nothing_at_a_users(void)
{
	char path[128];
	struct stat status;
	if (geteuid())
		SKIP("needs root");
	if (!is_real_root())
		SKIP("emulated, / is another directory");
	begin();
	CHECK_EQ(chown(where, 65534, 65534), 0);
	CHECK_EQ(open_in(where), -EPERM);
	snprintf(path, sizeof(path), "%s/cache", where);
	CHECK_EQ(open_in(path), -EPERM);
	setenv("HOME", where, 1);
	unsetenv("XDG_CACHE_HOME");
	const bool was_there = access("/var/cache/ctop", F_OK) == 0;
	int fd = own_cache_open();
	struct stat opened;
	if (fd >= 0) {
		CHECK_EQ(fstat(fd, &opened), 0);
		CHECK_EQ(stat("/var/cache/ctop", &status), 0);
		CHECK(opened.st_ino == status.st_ino && opened.st_dev == status.st_dev);
		close(fd);
	}
	if (!was_there)
		rmdir("/var/cache/ctop");
	CHECK_EQ(end(), 0);
}

int main(void)
{
	RUN(what_the_kernel_prints);
	RUN(are_found_as_among_all);
	RUN(is_for_its_owner_alone);
	RUN(another_kernels_are_not_used);
	RUN(what_is_cut_is_not_used);
	RUN(what_is_no_file_is_not_used);
	RUN(nowhere_to_keep_them);
	RUN(the_oldest_go);
	RUN(the_directory_is_made);
	RUN(a_directory_of_others_is_refused);
	RUN(root_keeps_nothing_at_a_users);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include "kernel_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/base/text.h>
#include <ctop/base/write_all.h>
#include <ctop/kernel/names_text.h>

static const char last_line[] = KERNEL_NAMES_LAST_LINE "\n";
static const char prefix[] = "kernel-";
enum { BOOT_ID_CHARS = 36, NAME_BYTES = 96 };

/* ---- what the names are of ---- */

static bool read_boot_id(char id[BOOT_ID_CHARS + 1])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd < 0 ? -1 : read(fd, id, BOOT_ID_CHARS);
	if (fd >= 0)
		close(fd);
	id[BOOT_ID_CHARS] = '\0';
	return got == BOOT_ID_CHARS && strspn(id, "0123456789abcdef-") == BOOT_ID_CHARS;
}

/*
 * With file capabilities we may see what our user may not, and what is kept is the user's to read. Root's privilege is raised, as
 * root may see it.
 */
static FILE *open_as_user(const char *path)
{
	int fd = geteuid() == 0 ? privilege_openat(PRIVILEGE_KERNEL_NAMES, AT_FDCWD, path,
						   O_RDONLY | O_CLOEXEC)
				: open(path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

/*
 * Each module with its size, state and address; not who uses it, which changes all the time. One that is built again and loaded in the old
 * one's place has another number in sysfs.
 */
static void add_modules(struct text *head)
{
	char line[4096], path[96], name[64], size[32], state[32], address[32];
	struct stat status;
	FILE *modules = open_as_user("/proc/modules");
	while (modules && fgets(line, sizeof(line), modules)) {
		if (sscanf(line, "%63s %31s %*s %*s %31s %31s", name, size, state, address) != 4)
			continue;
		snprintf(path, sizeof(path), "/sys/module/%s", name);
		const bool is_there = stat(path, &status) == 0;
		text_addf(head, "# module %s %s %s %s %llu\n", name, size, state, address,
			  is_there ? (unsigned long long)status.st_ino : 0);
	}
	if (modules)
		fclose(modules);
}

/* All lines up to the first function's, which says where the kernel is. */
static void make_head(struct text *head, const char *boot_id, const char *first_function)
{
	struct utsname kernel = {0};
	uname(&kernel);
	text_add(head, KERNEL_NAMES_FIRST_LINE "\n");
	text_addf(head, "# boot %s\n# kernel %s %s %s\n# text %s", boot_id, kernel.release,
		  kernel.version, kernel.machine, first_function);
	add_modules(head);
	text_add(head, "# functions\n"); /* no further module */
}

/* ---- the kernel's text ---- */

struct lines {
	FILE *file;
	char *line;
	size_t capacity;
	char module[64]; /* that the last line of one had, and whether it is listed */
	bool is_listed;
};

static bool is_function(const char *line)
{
	const char *type = strchr(line, ' ');
	return type && type[1] && strchr("tTwW", type[1]) && type[2] == ' ';
}

static bool next_function(struct lines *lines)
{
	while (getline(&lines->line, &lines->capacity, lines->file) > 0)
		if (is_function(lines->line))
			return true;
	return false;
}

/* Of the kernel itself, or of a module that the head lists: all else in brackets is made while it runs. */
static bool is_to_keep(struct lines *lines, const char *head)
{
	char module[64], listed[96];
	const char *bracket = strchr(lines->line, '\t');
	if (!bracket)
		return true;
	if (sscanf(bracket, "\t[%63[^]\n]", module) != 1)
		return false;
	if (strcmp(module, lines->module) != 0) {
		snprintf(listed, sizeof(listed), "\n# module %s ", module);
		lines->is_listed = strstr(head, listed) != NULL;
		strcpy(lines->module, module);
	}
	return lines->is_listed;
}

/* From the function in hand to the last. */
static int print_names(struct lines *lines, const char *head, struct text *names)
{
	text_add(names, head);
	do {
		if (is_to_keep(lines, head))
			text_add(names, lines->line);
		if (names->size > KERNEL_NAMES_MAX - sizeof(last_line))
			return -EFBIG;
	} while (next_function(lines));
	text_add(names, last_line);
	return names->failed ? -ENOMEM : ferror(lines->file) ? -EIO : 0;
}

static int open_lines(struct lines *lines)
{
	lines->file = open_as_user("/proc/kallsyms");
	if (!lines->file)
		return -errno;
	if (!next_function(lines))
		return -ENODATA;
	return strtoull(lines->line, NULL, 16) ? 0 : -EPERM;
}

static void close_lines(struct lines *lines)
{
	if (lines->file)
		fclose(lines->file);
	free(lines->line);
}

/* ---- the cache ---- */

/* Nobody's but ours to read and write. */
static bool is_ours(int fd, struct stat *status)
{
	return !fstat(fd, status) && S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
	       !(status->st_mode & (S_IRWXG | S_IRWXO)) && status->st_size <= KERNEL_NAMES_MAX;
}

/* Whole, and of this boot, kernel and modules. */
static bool is_as_kept(const char *bytes, size_t size, const struct text *head)
{
	const size_t last = sizeof(last_line) - 1;
	return size >= head->size + last && memcmp(bytes, head->bytes, head->size) == 0 &&
	       memcmp(bytes + size - last, last_line, last) == 0;
}

/* A copy of it, which nobody changes any more. False: there is none that is right. */
static bool read_kept(int directory_fd, const char *name, const struct text *head,
		      struct text *names)
{
	struct stat status;
	const int fd = openat(directory_fd, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *bytes = fd >= 0 && is_ours(fd, &status) ? malloc((size_t)status.st_size + 1) : NULL;
	const size_t size = bytes ? (size_t)status.st_size : 0;
	const bool is_right = bytes && pread(fd, bytes, size, 0) == (ssize_t)size &&
			      is_as_kept(bytes, size, head);
	if (is_right)
		text_add_bytes(names, bytes, size);
	free(bytes);
	if (fd >= 0)
		close(fd);
	return is_right && !names->failed;
}

/* The oldest of so many of other boots; "" while there are fewer. */
static void find_oldest(DIR *directory, const char *name, char oldest[NAME_BYTES])
{
	const struct dirent *entry;
	struct stat status;
	struct timespec since = {0};
	unsigned nr = 0;
	oldest[0] = '\0';
	rewinddir(directory);
	while ((entry = readdir(directory))) {
		if (strncmp(entry->d_name, prefix, sizeof(prefix) - 1) != 0 ||
		    strlen(entry->d_name) >= NAME_BYTES || !strcmp(entry->d_name, name) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!S_ISREG(status.st_mode))
			continue;
		nr++;
		const struct timespec *at = &status.st_mtim;
		if (oldest[0] && (at->tv_sec > since.tv_sec ||
				  (at->tv_sec == since.tv_sec && at->tv_nsec >= since.tv_nsec)))
			continue;
		since = *at;
		strcpy(oldest, entry->d_name);
	}
	if (nr < KERNEL_NAMES_BOOTS_MAX)
		oldest[0] = '\0';
}

static void make_room(int directory_fd, const char *name)
{
	char oldest[NAME_BYTES];
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory && fd >= 0)
		close(fd);
	if (!directory)
		return;
	do
		find_oldest(directory, name, oldest);
	while (oldest[0] && !unlinkat(directory_fd, oldest, 0));
	closedir(directory);
}

/* Under a name of its own, until it is whole: who reads meanwhile has the one before. */
static int keep(int directory_fd, const char *name, const struct text *names)
{
	char unfinished[NAME_BYTES + 16];
	snprintf(unfinished, sizeof(unfinished), "%s.%d", name, (int)getpid());
	make_room(directory_fd, name);
	unlinkat(directory_fd, unfinished, 0); /* of one that was ended, and had our number */
	int fd = openat(directory_fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int result = write_all(fd, names->bytes, names->size);
	if (close(fd) && !result)
		result = -errno;
	if (!result && renameat(directory_fd, unfinished, directory_fd, name))
		result = -errno;
	if (result)
		unlinkat(directory_fd, unfinished, 0);
	return result;
}

static int give(const struct text *names)
{
	int fd = memfd_create("names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = fd < 0 ? -errno : write_all(fd, names->bytes, names->size);
	if (!result &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		result = -errno;
	if (result && fd >= 0)
		close(fd);
	return result ? result : fd;
}

/* ---- both ---- */

struct kernel {
	struct lines lines;
	char boot_id[BOOT_ID_CHARS + 1], name[NAME_BYTES];
	char *first_function;
	struct text head, names;
};

static int look_at(struct kernel *kernel)
{
	if (!read_boot_id(kernel->boot_id))
		return -ENOTSUP;
	const int result = open_lines(&kernel->lines);
	if (result)
		return result;
	kernel->first_function = strdup(kernel->lines.line);
	if (!kernel->first_function)
		return -ENOMEM;
	snprintf(kernel->name, sizeof(kernel->name), "%s%s", prefix, kernel->boot_id);
	make_head(&kernel->head, kernel->boot_id, kernel->first_function);
	return kernel->head.failed ? -ENOMEM : 0;
}

/* The head is made twice: if nothing has come or gone between the two, what was printed is of both. */
static int print(struct kernel *kernel)
{
	struct text again = {0};
	int result = print_names(&kernel->lines, kernel->head.bytes, &kernel->names);
	make_head(&again, kernel->boot_id, kernel->first_function);
	if (!result && strcmp(text_string(&again), kernel->head.bytes) != 0)
		result = -EAGAIN;
	text_release(&again);
	return result;
}

int kernel_names_open(int directory_fd, enum kernel_names_from *from)
{
	struct kernel kernel = {0};
	int result = look_at(&kernel);
	int fd = -1;
	*from = KERNEL_NAMES_CACHED;
	if (!result && !read_kept(directory_fd, kernel.name, &kernel.head, &kernel.names)) {
		result = print(&kernel);
		if (!result)
			*from = keep(directory_fd, kernel.name, &kernel.names)
					? KERNEL_NAMES_NOT_KEPT
					: KERNEL_NAMES_KEPT;
	}
	if (!result)
		fd = give(&kernel.names);
	close_lines(&kernel.lines);
	free(kernel.first_function);
	text_release(&kernel.head);
	text_release(&kernel.names);
	return result ? result : fd;
}

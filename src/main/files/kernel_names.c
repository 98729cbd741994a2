/* SPDX-License-Identifier: MIT */
#include "kernel_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/base/sort.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>
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

struct place {
	uint64_t address; /* first: what they are sorted by */
	size_t at, bytes; /* of its line */
};

struct functions {
	struct text text; /* their lines, as the kernel prints them */
	struct {
		struct place *items;
		size_t nr, capacity;
	} places;
	uint64_t code_start, code_end; /* of _text and _etext; 0: not seen */
};

static int add_function(struct functions *functions, const char *line)
{
	char *type;
	const struct place place = {strtoull(line, &type, 16), functions->text.size, strlen(line)};
	if (vec_reserve(&functions->places, functions->places.nr + 1))
		return -ENOMEM;
	functions->places.items[functions->places.nr++] = place;
	text_add_bytes(&functions->text, line, place.bytes);
	if (!strcmp(type + strlen(" T "), "_text\n"))
		functions->code_start = place.address;
	if (!strcmp(type + strlen(" T "), "_etext\n"))
		functions->code_end = place.address;
	return functions->text.size > KERNEL_NAMES_MAX ? -EFBIG : 0;
}

/* From the function in hand to the last. */
static int read_functions(struct lines *lines, const char *head, struct functions *functions)
{
	int result = 0;
	do {
		if (is_to_keep(lines, head))
			result = add_function(functions, lines->line);
	} while (!result && next_function(lines));
	return !result && ferror(lines->file) ? -EIO : result;
}

/* In the order of their addresses: modules come in any. */
static int print_names(struct lines *lines, const char *head, struct text *names)
{
	struct functions functions = {.code_start = 0};
	const int result = read_functions(lines, head, &functions);
	sort_by_u64(functions.places.items, functions.places.nr, sizeof(struct place));
	text_add(names, head);
	for (size_t i = 0; !result && !functions.text.failed && i < functions.places.nr; i++) {
		const struct place *place = &functions.places.items[i];
		text_add_bytes(names, functions.text.bytes + place->at, place->bytes);
	}
	if (functions.code_start && functions.code_end)
		text_addf(names, KERNEL_NAMES_CODE "%llx %llx \n",
			  (unsigned long long)functions.code_start,
			  (unsigned long long)functions.code_end);
	text_add(names, last_line);
	const bool is_whole = !functions.text.failed && !names->failed;
	text_release(&functions.text);
	free(functions.places.items);
	return result ? result : !is_whole ? -ENOMEM : names->size > KERNEL_NAMES_MAX ? -EFBIG : 0;
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

/* For who asks: nobody writes to it any more. Takes the descriptor, and returns it, or -errno. */
static int seal(int fd)
{
	if (!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	const int error = errno;
	close(fd);
	return -error;
}

static int new_file(void)
{
	const int fd = memfd_create("names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

/* The kernel copies it, since its owner may change the one on disk at any time; the copy is compared. */
static bool copy(int from, int to, size_t size, const struct text *head)
{
	size_t done = 0;
	ssize_t got;
	while (done < size && (got = sendfile(to, from, NULL, size - done)) > 0)
		done += (size_t)got;
	char *bytes =
		done && done == size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, to, 0) : MAP_FAILED;
	if (bytes == MAP_FAILED)
		return false;
	const bool is_right = is_as_kept(bytes, size, head);
	munmap(bytes, size);
	return is_right;
}

/* A copy of it; -errno: there is none that is right. */
static int read_kept(int directory_fd, const char *name, const struct text *head)
{
	struct stat status;
	const int kept = openat(directory_fd, name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (kept < 0)
		return -errno;
	const int fd = is_ours(kept, &status) ? new_file() : -EPERM;
	const bool is_right = fd >= 0 && copy(kept, fd, (size_t)status.st_size, head);
	close(kept);
	if (fd >= 0 && !is_right)
		close(fd);
	return fd < 0 ? fd : is_right ? seal(fd) : -EINVAL;
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
	const int fd = new_file();
	const int result = fd < 0 ? fd : write_all(fd, names->bytes, names->size);
	if (result && fd >= 0)
		close(fd);
	return result ? result : seal(fd);
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
	snprintf(kernel->name, sizeof(kernel->name), "%s%s", prefix, kernel->boot_id);
	const int result = open_lines(&kernel->lines);
	if (result)
		return result;
	kernel->first_function = strdup(kernel->lines.line);
	if (!kernel->first_function)
		return -ENOMEM;
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
	const int result = look_at(&kernel);
	*from = KERNEL_NAMES_CACHED;
	if (result == -EPERM) /* what may not be seen any more does not stay, either */
		unlinkat(directory_fd, kernel.name, 0);
	int fd = result ? result : read_kept(directory_fd, kernel.name, &kernel.head);
	if (!result && fd < 0) {
		fd = print(&kernel);
		if (!fd) {
			*from = keep(directory_fd, kernel.name, &kernel.names)
					? KERNEL_NAMES_NOT_KEPT
					: KERNEL_NAMES_KEPT;
			fd = give(&kernel.names);
		}
	}
	close_lines(&kernel.lines);
	free(kernel.first_function);
	text_release(&kernel.head);
	text_release(&kernel.names);
	return fd;
}

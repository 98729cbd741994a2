/* SPDX-License-Identifier: MIT */
/*
 * The opener of all outputs in a directory that somebody else changes at every moment. The input: how it is opened (a byte
 * of flags), the name of the output (its size, its bytes), how many entries there are and each (its kind, its name), and
 * then what the others do: a byte before each step that the opener takes in that directory, 0 nothing, else two entries are
 * exchanged, or one removed, or put there again.
 *
 * Whatever they do, nothing outside of the directory changes, and what is written goes into a new file of the directory, or into the
 * fifo that was seen there; or it is refused.
 *
 * Its steps are openat(), fstatat(), renameat(), unlinkat() and poll(), replaced by the linker (fuzz.mk).
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "fuzz.h"
#include <ctop/output/output.h>

enum { ENTRIES_MAX = 8, NAME_MOST = 20, STEPS_MAX = 64, LOOKS_MAX = 4 };

enum kind { NOTHING, REGULAR, LINK, LINK_INSIDE, FIFO, FIFO_READ, DIRECTORY, HARD_LINK, NR_KINDS };

static struct {
	struct input input;
	bool at_work;
	int directory_fd; /* the directory that is theirs */
	struct entry {
		char name[NAME_MOST + 1];
		enum kind kind;
	} entries[ENTRIES_MAX];
	size_t nr;
	int readers[ENTRIES_MAX * STEPS_MAX];
	size_t nr_readers, nr_looks, nr_steps;
} they;

/* Made once: ROOT/victim, ROOT/outside/ and ROOT/theirs/, which is emptied after each run. */
static char root[] = "/tmp/ctop-fuzz-XXXXXX";
static int root_fd = -1, victim_fd = -1;
static const char precious[] = "what is not theirs";

/* ---- what the others do ---- */

static void make(const struct entry *entry)
{
	int fd = -1;
	switch (entry->kind) {
	case REGULAR:
		fd = openat(they.directory_fd, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
		break;
	case LINK:
		(void)!symlinkat("../victim", they.directory_fd, entry->name);
		break;
	case LINK_INSIDE:
		(void)!symlinkat("../outside/new", they.directory_fd, entry->name);
		break;
	case FIFO:
		mkfifoat(they.directory_fd, entry->name, 0600);
		break;
	case FIFO_READ:
		mkfifoat(they.directory_fd, entry->name, 0600);
		fd = openat(they.directory_fd, entry->name,
			    O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && they.nr_readers < sizeof(they.readers) / sizeof(*they.readers)) {
			they.readers[they.nr_readers++] = fd;
			fd = -1;
		}
		break;
	case DIRECTORY:
		mkdirat(they.directory_fd, entry->name, 0700);
		break;
	case HARD_LINK:
		linkat(root_fd, "linked", they.directory_fd, entry->name, 0);
		break;
	case NOTHING:
	case NR_KINDS:
		break;
	}
	if (fd >= 0)
		close(fd);
}

static void drop(const struct entry *entry)
{
	if (unlinkat(they.directory_fd, entry->name, 0))
		unlinkat(they.directory_fd, entry->name, AT_REMOVEDIR);
}

/* Before a step of the opener. */
static void act(void)
{
	if (!they.at_work || !they.nr || they.nr_steps++ >= STEPS_MAX)
		return;
	they.at_work = false;
	unsigned what = input_u8(&they.input);
	const struct entry *one = &they.entries[(what >> 2) % they.nr],
			   *other = &they.entries[(what >> 5) % they.nr];
	struct entry fresh;
	switch (what & 3) {
	case 1:
		renameat2(they.directory_fd, one->name, they.directory_fd, other->name,
			  RENAME_EXCHANGE);
		break;
	case 2:
		drop(one);
		break;
	case 3:
		drop(one);
		fresh = *one;
		fresh.kind = other->kind;
		make(&fresh);
		break;
	default:
		break;
	}
	they.at_work = true;
}

/* ---- the steps of the opener ---- */

int __real_openat(int directory, const char *path, int flags, mode_t mode);
int __wrap_openat(int directory, const char *path, int flags, mode_t mode);
int __wrap_openat(int directory, const char *path, int flags, mode_t mode)
{
	act();
	return __real_openat(directory, path, flags, mode);
}

int __real_fstatat(int directory, const char *path, struct stat *stat, int flags);
int __wrap_fstatat(int directory, const char *path, struct stat *stat, int flags);
int __wrap_fstatat(int directory, const char *path, struct stat *stat, int flags)
{
	act();
	return __real_fstatat(directory, path, stat, flags);
}

int __real_renameat(int from, const char *path, int to, const char *name);
int __wrap_renameat(int from, const char *path, int to, const char *name);
int __wrap_renameat(int from, const char *path, int to, const char *name)
{
	act();
	return __real_renameat(from, path, to, name);
}

int __real_unlinkat(int directory, const char *path, int flags);
int __wrap_unlinkat(int directory, const char *path, int flags);
int __wrap_unlinkat(int directory, const char *path, int flags)
{
	act();
	return __real_unlinkat(directory, path, flags);
}

/* Nobody waits for a fifo's reader for ever. */
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	(void)fds;
	(void)nr;
	(void)timeout_ms;
	act();
	return ++they.nr_looks >= LOOKS_MAX;
}

/* ---- a run ---- */

static void remove_root(void)
{
	unlinkat(root_fd, "victim", 0);
	unlinkat(root_fd, "linked", 0);
	unlinkat(root_fd, "outside", AT_REMOVEDIR);
	unlinkat(root_fd, "theirs", AT_REMOVEDIR);
	rmdir(root);
}

static void make_root(void)
{
	REQUIRE(mkdtemp(root) != NULL);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(root_fd >= 0);
	victim_fd = openat(root_fd, "victim", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int linked = openat(root_fd, "linked", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(victim_fd >= 0 && linked >= 0);
	REQUIRE(pwrite(victim_fd, precious, sizeof(precious), 0) == sizeof(precious));
	REQUIRE(pwrite(linked, precious, sizeof(precious), 0) == sizeof(precious));
	close(linked);
	REQUIRE(mkdirat(root_fd, "outside", 0700) == 0 && mkdirat(root_fd, "theirs", 0700) == 0);
	they.directory_fd = openat(root_fd, "theirs", O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(they.directory_fd >= 0);
	atexit(remove_root);
}

/* A name of one entry or none: without a slash, not empty, not the directory or the one above. */
static void take_name(struct input *input, char name[NAME_MOST + 1])
{
	size_t size = input_u8(input) % NAME_MOST + 1;
	input_take(input, name, size);
	name[size] = '\0';
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '_';
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		strcpy(name, "x");
}

static bool is_precious(int fd)
{
	char bytes[sizeof(precious) + 1];
	struct stat stat;
	return pread(fd, bytes, sizeof(bytes), 0) == sizeof(precious) &&
	       !memcmp(bytes, precious, sizeof(precious)) && fstat(fd, &stat) == 0 &&
	       (stat.st_mode & 07777) == 0600;
}

static void check_outside(void)
{
	struct stat stat;
	int linked = openat(root_fd, "linked", O_RDONLY | O_CLOEXEC);
	REQUIRE(is_precious(victim_fd) && is_precious(linked));
	close(linked);
	REQUIRE(fstatat(root_fd, "outside/new", &stat, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
	REQUIRE(fstatat(root_fd, "outside", &stat, 0) == 0 && stat.st_nlink == 2);
	REQUIRE(fstatat(root_fd, "victim", &stat, 0) == 0 && stat.st_nlink == 1);
}

static void check_opened(const struct output *output, const struct output_request *request)
{
	struct stat stat;
	REQUIRE(fstat(output->fd, &stat) == 0);
	REQUIRE(S_ISREG(stat.st_mode) || S_ISFIFO(stat.st_mode));
	REQUIRE(!S_ISFIFO(stat.st_mode) || (!request->by_default && request->way != OUTPUT_NEW));
	/* New: nobody has written to it, and no other name of it is known. */
	REQUIRE(!S_ISREG(stat.st_mode) || (stat.st_size == 0 && stat.st_nlink <= 1));
	(void)!write(output->fd, "x", 1);
}

static void empty_directory(void)
{
	int fd = openat(root_fd, "theirs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fdopendir(fd);
	REQUIRE(directory != NULL);
	for (const struct dirent *entry; (entry = readdir(directory));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(they.directory_fd, entry->d_name, 0))
			REQUIRE(unlinkat(they.directory_fd, entry->d_name, AT_REMOVEDIR) == 0);
	closedir(directory);
	for (size_t i = 0; i < they.nr_readers; i++)
		close(they.readers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (root_fd < 0)
		make_root();
	int nr_descriptors = fuzz_open_descriptors();
	they.input = (struct input){bytes, size};
	they.nr_readers = they.nr_looks = they.nr_steps = 0;
	struct input *input = &they.input;
	unsigned flags = input_u8(input);
	char name[NAME_MOST + 1], path[sizeof(root) + NAME_MOST + 10];
	take_name(input, name);
	snprintf(path, sizeof(path), "%s/theirs/%s", root, name);
	they.nr = input_u8(input) % ENTRIES_MAX;
	for (size_t i = 0; i < they.nr; i++) {
		they.entries[i].kind = input_u8(input) % NR_KINDS;
		take_name(input, they.entries[i].name);
		/* The first is mostly what is opened. */
		if (i == 0 && flags & 0x80)
			strcpy(they.entries[i].name, name);
		make(&they.entries[i]);
	}
	const struct output_request request = {
		.path = path,
		.option = "-o",
		.way = (enum output_way)((flags & 7) % (OUTPUT_NEW + 1)),
		.by_default = flags & 8,
		.is_recording = flags & 16,
		.wake_fd = -1,
	};
	struct output output;
	struct error error = {0};
	they.at_work = true;
	int result = output_open(&output, &request, &error);
	if (!result)
		check_opened(&output, &request);
	else
		REQUIRE(result < 0 && error.cause[0] && error.remedy[0]);
	if (!result)
		output_end(&output, flags & 32 ? -EIO : 0);
	they.at_work = false;
	REQUIRE(output.fd < 0 && output.directory_fd < 0);
	check_outside();
	empty_directory();
	REQUIRE(fuzz_open_descriptors() == nr_descriptors);
	return 0;
}

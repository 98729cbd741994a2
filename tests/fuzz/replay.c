/* SPDX-License-Identifier: MIT */
/*
 * Runs a target without a fuzzer: over its corpus, and over what a few deterministic changes make of
 * each file. With arguments, over those files alone and as they are: so a crash is looked at.
 *
 * Compiled once a target, with FUZZ_TARGET, its name, and FUZZ_MUTATIONS, how many changed inputs in all.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { FILES_MAX = 1024, INPUT_MAX = 64 << 10, CHANGES_MAX = 4 };

struct file {
	uint8_t *bytes;
	size_t size;
};

struct corpus {
	struct file files[FILES_MAX];
	size_t nr;
};

/* What the target is at: kept when it ends the program. */
static struct {
	const uint8_t *bytes;
	size_t size;
	char name[512]; /* of the file it came from */
	unsigned change;
} current;

/* ---- when it crashes ---- */

/* What a sanitizer finds ends in abort(), as a broken promise does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

static void keep_current(void)
{
	static volatile sig_atomic_t kept;
	if (kept++)
		return;
	if (!current.bytes) { /* leaks are seen at the end */
		printf("not ok - %s: ended after its last input\n", FUZZ_TARGET);
		fflush(stdout);
		return;
	}
	static const char path[] = FUZZ_CRASH;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bool written = fd >= 0 && write(fd, current.bytes, current.size) == (ssize_t)current.size;
	if (fd >= 0)
		close(fd);
	printf("not ok - %s: %s, change %u; the input is %s %s\n", FUZZ_TARGET, current.name,
	       current.change, written ? "in" : "not to be written to", path);
	fflush(stdout);
}

static void on_signal(int number)
{
	keep_current();
	signal(number, SIG_DFL);
	raise(number);
}

/* There in a program that is built with it; it turns every signal into a report, and that into abort(). */
void __asan_init(void) __attribute__((weak));

static void watch_for_death(void)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	if (__asan_init) {
		signal(SIGABRT, on_signal);
		return;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_signal);
}

static void run(const uint8_t *bytes, size_t size)
{
	uint8_t *exact = fuzz_copy(bytes, size);
	current.bytes = exact;
	current.size = size;
	LLVMFuzzerTestOneInput(exact, size);
	current.bytes = NULL;
	free(exact);
}

/* ---- files ---- */

static bool read_file(const char *path, struct file *file)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	file->bytes = NULL;
	if (fd < 0)
		return false;
	bool ok = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= INPUT_MAX;
	if (ok) {
		file->size = (size_t)stat.st_size;
		file->bytes = malloc(INPUT_MAX);
		ok = file->bytes && read(fd, file->bytes, file->size) == (ssize_t)file->size;
	}
	if (!ok)
		free(file->bytes);
	close(fd);
	return ok;
}

/* In the order of names, so that each run does the same. */
static bool read_corpus(const char *directory, struct corpus *corpus)
{
	struct dirent **entries;
	int nr = scandir(directory, &entries, NULL, alphasort);
	bool ok = nr > 0;
	for (int i = 0; i < nr; i++) {
		char path[sizeof(current.name)];
		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && ok) {
			ok = corpus->nr < FILES_MAX && read_file(path, &corpus->files[corpus->nr]);
			if (!ok)
				printf("# cannot read '%s', or it is too large\n", path);
			corpus->nr += ok;
		}
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
	return ok && corpus->nr > 0;
}

/* ---- changes ---- */

/* splitmix64: numbers that look random and are the same in every run. */
static uint64_t next_number(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t limit)
{
	return limit ? (size_t)(next_number(state) % limit) : 0;
}

/* Opens a gap of at most size bytes at `at`. How many there are. */
static size_t insert_gap(struct file *file, size_t at, size_t size)
{
	if (size > INPUT_MAX - file->size)
		size = INPUT_MAX - file->size;
	memmove(file->bytes + at + size, file->bytes + at, file->size - at);
	file->size += size;
	return size;
}

static void overwrite_number(uint64_t *state, struct file *file)
{
	static const uint64_t numbers[] = {
		0,	    1,		2,	   0x7f,       0x80,	   0xff,
		0x7fff,	    0x8000,	0xffff,	   0x10000,    0x7fffffff, 0x80000000,
		UINT32_MAX, 0xfffffff8, INT64_MAX, 1ull << 63, UINT64_MAX,
	};
	size_t bytes = (size_t)1 << below(state, 4);
	uint64_t number = numbers[below(state, sizeof(numbers) / sizeof(numbers[0]))];
	if (file->size < bytes)
		return;
	memcpy(file->bytes + below(state, file->size - bytes + 1), &number, bytes);
}

static void change(uint64_t *state, struct file *file, const struct corpus *corpus)
{
	size_t at = below(state, file->size), size = 1 + below(state, 1 + below(state, 64));
	if (size > file->size - at)
		size = file->size - at;
	switch (below(state, 8)) {
	case 0: /* flip */
		if (file->size)
			file->bytes[at] ^= (uint8_t)(1u << below(state, 8));
		break;
	case 1:
		if (file->size)
			file->bytes[at] = (uint8_t)next_number(state);
		break;
	case 2:
		overwrite_number(state, file);
		break;
	case 3: /* cut out */
		memmove(file->bytes + at, file->bytes + at + size, file->size - at - size);
		file->size -= size;
		break;
	case 4: /* cut off */
		file->size = at;
		break;
	case 5: /* duplicate */
		insert_gap(file, at, size);
		break;
	case 6: /* insert */
		size = insert_gap(file, at, size);
		for (size_t i = 0; i < size; i++)
			file->bytes[at + i] = (uint8_t)(next_number(state) >> 56);
		break;
	default: { /* a piece of another file */
		const struct file *other = &corpus->files[below(state, corpus->nr)];
		size_t from = below(state, other->size), left = other->size - from;
		size = insert_gap(file, at, left < 4 * size ? left : 4 * size);
		memcpy(file->bytes + at, other->bytes + from, size);
		break;
	}
	}
}

/* Some files more often than others by at most one: the whole number is what was asked for. */
static void run_changed(const struct corpus *corpus, unsigned nr)
{
	struct file file = {.bytes = malloc(INPUT_MAX)};
	REQUIRE(file.bytes != NULL);
	for (unsigned i = 0; i < nr; i++) {
		uint64_t state = i;
		const struct file *from = &corpus->files[i % corpus->nr];
		memcpy(file.bytes, from->bytes, from->size);
		file.size = from->size;
		for (size_t left = 1 + below(&state, CHANGES_MAX); left; left--)
			change(&state, &file, corpus);
		snprintf(current.name, sizeof(current.name), "file %zu", 1 + i % corpus->nr);
		current.change = i + 1;
		run(file.bytes, file.size);
	}
	free(file.bytes);
}

/* ---- what to run ---- */

static int run_files(char **paths)
{
	for (; *paths; paths++) {
		struct file file;
		if (!read_file(*paths, &file)) {
			fprintf(stderr, "cannot read '%s': %s\n", *paths, strerror(errno));
			return 2;
		}
		snprintf(current.name, sizeof(current.name), "%s", *paths);
		run(file.bytes, file.size);
		free(file.bytes);
		printf("ok - %s: %s\n", FUZZ_TARGET, *paths);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct corpus corpus;
	watch_for_death();
	if (argc > 1)
		return run_files(argv + 1);
	if (!read_corpus(FUZZ_CORPUS, &corpus)) {
		printf("not ok - %s: no corpus in %s\n", FUZZ_TARGET, FUZZ_CORPUS);
		return 1;
	}
	for (size_t i = 0; i < corpus.nr; i++) {
		snprintf(current.name, sizeof(current.name), "file %zu", i + 1);
		run(corpus.files[i].bytes, corpus.files[i].size);
	}
	run_changed(&corpus, FUZZ_MUTATIONS);
	printf("ok - %s: %zu files, %u changes\n", FUZZ_TARGET, corpus.nr, FUZZ_MUTATIONS);
	for (size_t i = 0; i < corpus.nr; i++)
		free(corpus.files[i].bytes);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * What it takes until names are there, in CPU time: a frame of the kernel, and one of a file; with the kernel's names printed for this run, and
 * out of the cache, in turn. Prints figures; there is no pass or fail.
 *
 *     names FILE
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/symbolizer/symbolizer.h>

#include "main/files/kernel_names.h"

enum { NR_ROUNDS = 9, FRAMES_A_TURN = 512 };

static void need_module(void *context, struct module_id module, const struct module_row *row)
{
	(void)context, (void)module, (void)row;
}

static void need_debug_file(void *context, struct module_id module, enum debug_file which,
			    const uint8_t *build_id, size_t build_id_size, const char *debuglink,
			    uint64_t unit)
{
	(void)which, (void)build_id, (void)build_id_size, (void)debuglink, (void)unit;
	*(struct module_id *)context = module;
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "names: %s\n", what);
	exit(1);
}

static struct frame_id add(struct tables_writer *writer, uint32_t kind, uint64_t address)
{
	struct module_row row = {.kind = kind, .identity.inode = kind};
	struct module_id module;
	struct frame_id frame;
	must(!tables_add_string(writer, "a file", 6, &row.path) &&
		     !tables_add_module(writer, &row, &module) &&
		     !tables_add_frame(writer, module, address, &frame),
	     "out of memory");
	return frame;
}

static void give(struct symbolizer *symbolizer, uint32_t module, int fd)
{
	must(fd >= 0 &&
		     !symbolizer_give_module(symbolizer, (struct module_id){module}, fd, -ENOENT),
	     "no names");
}

/* Out of the cache in a directory; -1: as the kernel prints them. */
static int kernel_names(int directory_fd)
{
	enum kernel_names_from from = KERNEL_NAMES_CACHED;
	int fd = directory_fd < 0 ? open("/proc/kallsyms", O_RDONLY | O_CLOEXEC)
				  : kernel_names_open(directory_fd, &from);
	must(from == KERNEL_NAMES_CACHED, "the cache is not used");
	return fd;
}

/* CPU time of looking for the kernel's text, and of all that comes behind it, until the file's frame has a row, and until the kernel's has. */
static void measure(const char *path, int directory_fd, double *file_ms, double *kernel_ms)
{
	const struct tables_capacity capacity = {.nr = {16 << 10, 16, 16, 16, 16, 16, 16},
						 .nr_samples = 16};
	const struct symbols_capacity names = {
		.nr_frames = 16, .string_units = 64 << 10, .nr_modules = 16, .nr_lines = 16};
	struct module_id debug = {0};
	const struct symbolizer_requests requests = {
		.context = &debug, .need_module = need_module, .need_debug_file = need_debug_file};
	struct symbolizer *symbolizer = symbolizer_new(&requests);
	struct tables tables;
	struct symbols symbols;
	must(!tables_map(&tables, -1, &capacity, true) && !symbols_map(&symbols, -1, &names, true),
	     "out of memory");
	struct tables_writer *writer = tables_writer_new(&tables);
	must(symbolizer && writer && !symbolizer_begin_epoch(symbolizer, &tables, &symbols),
	     "out of memory");
	const struct frame_id in_kernel = add(writer, MODULE_KERNEL, UINT64_C(0xffffffff81000100));
	const struct frame_id in_file = add(writer, MODULE_FILE, 0x1000);
	tables_publish(writer);
	symbolizer_work(symbolizer, FRAMES_A_TURN);

	const uint64_t start_ns = clock_cpu_ns();
	give(symbolizer, 1, kernel_names(directory_fd));
	symbolizer_work(symbolizer, FRAMES_A_TURN);
	give(symbolizer, 2, open(path, O_RDONLY | O_CLOEXEC));
	if (debug.index)
		symbolizer_give_debug_file(symbolizer, debug, -1, -ENOENT);
	*file_ms = *kernel_ms = 0;
	while (symbolizer_work(symbolizer, FRAMES_A_TURN) > 0) {
		const double ms = (double)(clock_cpu_ns() - start_ns) / (double)NS_PER_MS;
		if (!*file_ms && symbols_row(&symbols, in_file).state != SYMBOL_PENDING)
			*file_ms = ms;
		if (!*kernel_ms && symbols_row(&symbols, in_kernel).state != SYMBOL_PENDING)
			*kernel_ms = ms;
	}
	symbolizer_free(symbolizer);
	tables_writer_free(writer);
	tables_unmap(&tables);
	symbols_unmap(&symbols);
}

/* Each in a process of its own, as in life: memory that was used before costs less. */
static void measure_alone(const char *path, int directory_fd, double *file_ms, double *kernel_ms)
{
	double ms[2];
	int ends[2];
	must(!pipe(ends), "no pipe");
	const pid_t pid = fork();
	must(pid >= 0, "no process");
	if (!pid) {
		measure(path, directory_fd, &ms[0], &ms[1]);
		_exit(write(ends[1], ms, sizeof(ms)) != sizeof(ms));
	}
	close(ends[1]);
	must(read(ends[0], ms, sizeof(ms)) == sizeof(ms), "no figures");
	close(ends[0]);
	must(waitpid(pid, NULL, 0) == pid, "no process");
	*file_ms = ms[0];
	*kernel_ms = ms[1];
}

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double median(double *values)
{
	qsort(values, NR_ROUNDS, sizeof(*values), compare);
	return values[NR_ROUNDS / 2];
}

/* A directory that has the names; removed at the end. */
static int fill_cache(char *path)
{
	enum kernel_names_from from;
	must(mkdtemp(path) != NULL, path);
	int directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = kernel_names_open(directory_fd, &from);
	must(fd >= 0 && from == KERNEL_NAMES_KEPT, "the kernel's names cannot be kept");
	close(fd);
	return directory_fd;
}

static void remove_cache(const char *path, int directory_fd)
{
	DIR *directory = fdopendir(directory_fd);
	const struct dirent *entry;
	while (directory && (entry = readdir(directory)))
		unlinkat(directory_fd, entry->d_name, 0);
	closedir(directory);
	rmdir(path);
}

int main(int argc, char **argv)
{
	static const char *const how[] = {"printed", "kept"};
	double file_ms[2][NR_ROUNDS], kernel_ms[2][NR_ROUNDS];
	char path[] = "/tmp/ctop-bench-XXXXXX";
	must(argc == 2, "usage: names FILE");
	int directory_fd = fill_cache(path);
	for (int i = 0; i < NR_ROUNDS; i++)
		for (int is_kept = 0; is_kept < 2; is_kept++)
			measure_alone(argv[1], is_kept ? directory_fd : -1, &file_ms[is_kept][i],
				      &kernel_ms[is_kept][i]);
	remove_cache(path, directory_fd);
	for (int is_kept = 0; is_kept < 2; is_kept++)
		printf("the kernel's names %s: CPU to the first name, median of %d: of the file "
		       "%.1f ms, of "
		       "the kernel %.1f ms\n",
		       how[is_kept], NR_ROUNDS, median(file_ms[is_kept]),
		       median(kernel_ms[is_kept]));
	return 0;
}

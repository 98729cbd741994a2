/* SPDX-License-Identifier: MIT */
/*
 * What it takes until names are there, in CPU time: a frame of the kernel, whose names come first, and one of a file. Prints figures; there is
 * no pass or fail.
 *
 *     names FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/symbolizer/symbolizer.h>

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

static void give(struct symbolizer *symbolizer, uint32_t module, const char *path)
{
	must(!symbolizer_give_module(symbolizer, (struct module_id){module},
				     open(path, O_RDONLY | O_CLOEXEC), -ENOENT),
	     path);
}

/* CPU time from the kernel's text at hand until the file's frame has a row, and until the kernel's has. */
static void measure(const char *path, double *file_ms, double *kernel_ms)
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
	give(symbolizer, 1, "/proc/kallsyms");
	symbolizer_work(symbolizer, FRAMES_A_TURN);
	give(symbolizer, 2, path);
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

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
	double file_ms[NR_ROUNDS], kernel_ms[NR_ROUNDS];
	must(argc == 2, "usage: names FILE");
	for (int i = 0; i < NR_ROUNDS; i++)
		measure(argv[1], &file_ms[i], &kernel_ms[i]);
	qsort(file_ms, NR_ROUNDS, sizeof(*file_ms), compare);
	qsort(kernel_ms, NR_ROUNDS, sizeof(*kernel_ms), compare);
	printf("CPU to the first name, median of %d: of the file %.1f ms, of the kernel %.1f ms\n",
	       NR_ROUNDS, file_ms[NR_ROUNDS / 2], kernel_ms[NR_ROUNDS / 2]);
	return 0;
}

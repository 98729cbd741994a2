/* SPDX-License-Identifier: MIT */
/*
 * Writes one profile twice, as a recording and as a perf.data file, so that what reads them can be compared: every stack at least
 * once, few of them most of the time.
 *
 *     made_profile RECORDING PERF_DATA|- SAMPLES STACKS
 *
 * -: no perf.data file, which has some 200 bytes a sample.
 */
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include <fcntl.h>

#include <ctop/recorder/recording_writer.h>

#include "made.h"

enum {
	NR_TASKS = 16,
	NR_FUNCTIONS = 4096,
	ROOTS = 6,
	LEVELS = 10,
	DEPTH = ROOTS + LEVELS,
	BATCH = 1 << 16
};
enum { PERIOD_NS = 1000000, FUNCTION_BYTES = 16, CODE_AT = 0x1000, MAPPED_AT = 0x400000 };

struct stack {
	uint32_t functions[DEPTH]; /* root first */
};

/* Stacks whose numbers share their high digits share their callers. */
static struct stack stack_of(uint64_t number)
{
	struct stack stack;
	for (uint32_t i = 0; i < ROOTS; i++)
		stack.functions[i] = i;
	for (uint32_t level = 0; level < LEVELS; level++) {
		const uint64_t callers = number >> 2 * (LEVELS - 1 - level);
		stack.functions[ROOTS + level] =
			(uint32_t)((callers + level) * UINT64_C(0x9e3779b97f4a7c15) >> 52) %
			NR_FUNCTIONS;
	}
	return stack;
}

/* The first ones are each another stack. */
static uint64_t next_number(uint64_t sample, uint64_t nr_stacks, uint64_t *random)
{
	const uint64_t a = random_next(random) % nr_stacks, b = random_next(random) % nr_stacks;
	return sample < nr_stacks ? sample * 0x9e3779b1 % nr_stacks : a * b / nr_stacks;
}

/* ---- a recording ---- */

static struct sample make_stack(struct made *made, uint64_t number)
{
	const struct stack stack = stack_of(number);
	struct sample sample = {.task = made->tasks[number % NR_TASKS],
				.event = 1,
				.weight = PERIOD_NS,
				.end = STACK_COMPLETE};
	for (uint32_t i = 0; i + 1 < DEPTH; i++)
		must(tables_add_node(made->writer, sample.node,
				     made_frame(made, stack.functions[i]), FRAME_CFI, &sample.node),
		     "node");
	sample.leaf = made_frame(made, stack.functions[DEPTH - 1]);
	return sample;
}

static void name_functions(struct made *made)
{
	char name[64];
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "bench::module%u::function<%u>(int)", i / 64, i);
		must(symbols_set(made->namer, made_frame(made, i), SYMBOL_NAMED, name, NULL, 4),
		     "name");
	}
}

static void write_recording(const char *path, uint64_t nr_samples, uint64_t nr_stacks)
{
	static struct sample batch[BATCH];
	struct tables_capacity capacity = tables_capacity_default;
	struct made made;
	uint64_t random = 1;
	capacity.nr[TABLE_NODES] = 1 << 22;
	made_open(&made, &capacity, NR_TASKS);
	name_functions(&made);
	struct sample *stacks = calloc(nr_stacks, sizeof(*stacks));
	struct recording_writer *writer =
		recording_writer_new(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
	must(!stacks || !writer, "memory");
	for (uint64_t i = 0; i < nr_stacks; i++)
		stacks[i] = make_stack(&made, i);
	tables_publish(made.writer);
	must(recording_begin_epoch(writer, &made.tables, &made.symbols), "epoch");
	for (uint64_t done = 0; done < nr_samples;) {
		size_t nr = 0;
		for (; nr < BATCH && done < nr_samples; nr++, done++) {
			batch[nr] = stacks[next_number(done, nr_stacks, &random)];
			batch[nr].time_ns = SECOND_NS + done * (PERIOD_NS / NR_TASKS);
		}
		must(recording_add_samples(writer, batch, nr), "samples");
		must(recording_flush(writer), "flush");
	}
	uint64_t bytes;
	must(recording_finish(writer, &bytes), "finish");
	free(stacks);
	made_close(&made);
}

/* ---- a perf.data file ---- */

/* Layouts: tools/perf/Documentation/perf.data-file-format.txt, perf_event_open(2). */
struct file_section {
	uint64_t offset, size;
};
struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct file_section attrs, data, event_types;
	uint64_t features[4];
};
struct file_attr {
	struct perf_event_attr attr;
	struct file_section ids;
};
struct mapped_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t at, bytes, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[PATH_MAX];
};
struct sample_record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns, period, nr_addresses, addresses[1 + DEPTH];
};

static uint64_t address_of(uint32_t function)
{
	return MAPPED_AT + CODE_AT + (uint64_t)function * FUNCTION_BYTES + 4;
}

/* This program's own code is what was sampled: it has names for perf to look up. */
static void write_mapping(FILE *file)
{
	struct mapped_record record = {
		.header = {.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER},
		.pid = 1,
		.tid = 1,
		.at = MAPPED_AT,
		.bytes = 1 << 20,
		.protection = 5,
		.flags = 2,
	};
	must(readlink("/proc/self/exe", record.path, sizeof(record.path) - 1) < 0, "readlink");
	const size_t size =
		(offsetof(struct mapped_record, path) + strlen(record.path) + 8) & ~UINT64_C(7);
	record.header.size = (uint16_t)size;
	must(fwrite(&record, size, 1, file) != 1, "write");
}

static void write_sample(FILE *file, uint64_t number, uint64_t time_ns)
{
	const struct stack stack = stack_of(number);
	struct sample_record record = {
		.header = {.type = PERF_RECORD_SAMPLE,
			   .misc = PERF_RECORD_MISC_USER,
			   .size = sizeof(record)},
		.ip = address_of(stack.functions[DEPTH - 1]),
		.pid = 1,
		.tid = (uint32_t)(1 + number % NR_TASKS),
		.time_ns = time_ns,
		.period = PERIOD_NS,
		.nr_addresses = 1 + DEPTH,
		.addresses = {(uint64_t)PERF_CONTEXT_USER},
	};
	for (uint32_t i = 0; i < DEPTH; i++)
		record.addresses[1 + i] = address_of(stack.functions[DEPTH - 1 - i]);
	must(fwrite(&record, sizeof(record), 1, file) != 1, "write");
}

static void write_perf_data(const char *path, uint64_t nr_samples, uint64_t nr_stacks)
{
	FILE *file = fopen(path, "w");
	uint64_t random = 1;
	must(!file, path);
	struct file_attr attr = {.attr = {
					 .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof(struct perf_event_attr),
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .sample_period = PERIOD_NS,
					 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
							PERF_SAMPLE_CALLCHAIN,
					 .mmap2 = 1,
					 .comm = 1,
				 }};
	struct file_header header = {
		.magic = "PERFILE2",
		.size = sizeof(header),
		.attr_size = sizeof(attr),
		.attrs = {sizeof(header), sizeof(attr)},
		.data = {sizeof(header) + sizeof(attr), 0},
	};
	must(fwrite(&header, sizeof(header), 1, file) != 1 ||
		     fwrite(&attr, sizeof(attr), 1, file) != 1,
	     "write");
	write_mapping(file);
	for (uint64_t i = 0; i < nr_samples; i++)
		write_sample(file, next_number(i, nr_stacks, &random),
			     SECOND_NS + i * (PERIOD_NS / NR_TASKS));
	header.data.size = (uint64_t)ftell(file) - header.data.offset;
	rewind(file);
	must(fwrite(&header, sizeof(header), 1, file) != 1 || fclose(file), "write");
}

int main(int argc, char **argv)
{
	must(argc != 5, "usage: made_profile RECORDING PERF_DATA|- SAMPLES STACKS");
	const uint64_t nr_samples = strtoull(argv[3], NULL, 0),
		       nr_stacks = strtoull(argv[4], NULL, 0);
	must(!nr_stacks, "no stacks");
	write_recording(argv[1], nr_samples, nr_stacks);
	if (strcmp(argv[2], "-") != 0)
		write_perf_data(argv[2], nr_samples, nr_stacks);
	return 0;
}

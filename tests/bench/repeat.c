/* SPDX-License-Identifier: MIT */
/*
 * Makes a large recording of a small one: its samples TIMES over, one round behind the other.
 *
 *     repeat IN OUT TIMES
 */
#include <ctop/base/vec.h>
#include <ctop/recorder/recording_writer.h>
#include <ctop/reader/recording_reader.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, SAMPLES_A_FLUSH = 20000 };

struct copy {
	struct tables tables;
	struct symbols symbols;
	bool begun;
	struct {
		struct sample *items;
		size_t nr, capacity;
	} samples;
};

static void must(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "repeat: %s: %s\n", what, strerror(-result));
	exit(1);
}

static int begin_epoch(void *context, struct tables **tables, struct symbols **symbols)
{
	struct copy *copy = context;
	if (copy->begun)
		return -EOPNOTSUPP; /* one epoch is all that this is for */
	copy->begun = true;
	must(tables_map(&copy->tables, -1, &tables_capacity_default, true), "tables");
	must(symbols_map(&copy->symbols, -1, &symbols_capacity_default, true), "symbols");
	*tables = &copy->tables;
	*symbols = &copy->symbols;
	return 0;
}

static int drain(void *context)
{
	struct copy *copy = context;
	uint64_t missed = 0;
	size_t got;
	do {
		must(vec_reserve(&copy->samples, copy->samples.nr + BATCH), "samples");
		got = tables_read_samples(&copy->tables, &copy->samples.items[copy->samples.nr],
					  BATCH, &missed);
		copy->samples.nr += got;
	} while (got);
	return missed ? -EOVERFLOW : 0;
}

static void add_round(struct recording_writer *writer, const struct copy *copy, uint64_t later_ns)
{
	struct sample batch[BATCH];
	size_t since_flush = 0;
	for (size_t at = 0; at < copy->samples.nr;) {
		size_t nr = copy->samples.nr - at < BATCH ? copy->samples.nr - at : BATCH;
		memcpy(batch, &copy->samples.items[at], nr * sizeof(*batch));
		for (size_t i = 0; i < nr; i++)
			batch[i].time_ns += later_ns;
		must(recording_add_samples(writer, batch, nr), "adding");
		at += nr;
		since_flush += nr;
		if (since_flush >= SAMPLES_A_FLUSH || at == copy->samples.nr) {
			must(recording_flush(writer), "writing");
			since_flush = 0;
		}
	}
}

int main(int argc, char **argv)
{
	static struct copy copy;
	struct recording_read read;
	struct error error = {0};
	if (argc != 4) {
		fprintf(stderr, "usage: repeat IN OUT TIMES\n");
		return 2;
	}
	int in = open(argv[1], O_RDONLY | O_CLOEXEC);
	must(in < 0 ? -errno : 0, argv[1]);
	const struct recording_sink sink = {&copy, begin_epoch, drain};
	must(recording_read(in, &sink, &read, &error), error.cause);
	must(drain(&copy), "draining");
	int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(out < 0 ? -errno : 0, argv[2]);
	struct recording_writer *writer = recording_writer_new(out);
	must(writer && copy.samples.nr ? 0 : -ENODATA, argv[1]);
	must(recording_begin_epoch(writer, &copy.tables, &copy.symbols), "writing");
	uint64_t round_ns = copy.samples.items[copy.samples.nr - 1].time_ns -
			    copy.samples.items[0].time_ns + 1000;
	unsigned long times = strtoul(argv[3], NULL, 10);
	for (unsigned long i = 0; i < times; i++)
		add_round(writer, &copy, i * round_ns);
	uint64_t bytes;
	must(recording_finish(writer, &bytes), "writing");
	printf("%zu samples, %llu bytes\n", copy.samples.nr * times, (unsigned long long)bytes);
	return 0;
}

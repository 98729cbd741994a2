/* SPDX-License-Identifier: MIT */
/* Samples with dumps are used where the file is mapped: while others cut it, write to it, or make it longer. */
#include "crafted.h"

#include <ctop/base/lost_pages.h>

enum {
	TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_STACK_USER,
	DUMP_BYTES = 12288,
	RECORD_BYTES = 8 + 4 * 8 + DUMP_BYTES,
	NR = 4
};

static const struct crafted_event event = {
	.attr = {.type = PERF_TYPE_SOFTWARE,
		 .size = sizeof(struct perf_event_attr),
		 .config = PERF_COUNT_SW_CPU_CLOCK,
		 .sample_type = TYPE,
		 .sample_stack_user = DUMP_BYTES,
		 .sample_id_all = 1},
};

static void put_dump(struct crafted *file, uint64_t time_ns)
{
	uint8_t dump[DUMP_BYTES];
	memset(dump, (int)time_ns, sizeof(dump));
	put_header(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, RECORD_BYTES - 8);
	put_u64(file, 0x401000);
	put_u64(file, time_ns);
	put_u64(file, DUMP_BYTES);
	put(file, dump, sizeof(dump));
	put_u64(file, DUMP_BYTES);
}

static void make(struct crafted *file)
{
	crafted_begin(file, &event, 1);
	for (uint64_t i = 0; i < NR; i++)
		put_dump(file, 10 + i);
	crafted_end(file);
}

/* Opened, with another descriptor to do harm by, and the first sample in hand: all were seen by then. */
static struct perfdata *begin(struct crafted *file, int *other, struct perfdata_record *record)
{
	int code;
	struct error error = {0};
	make(file);
	int fd = crafted_fd(file, file->size);
	*other = dup(fd);
	struct perfdata *perfdata = perfdata_open(fd, NULL, 0, &code, &error);
	CHECK(perfdata && *other >= 0);
	CHECK_EQ(perfdata_next(perfdata, record), 1);
	CHECK_EQ(record->time_ns, 10);
	CHECK_EQ(record->size, RECORD_BYTES);
	CHECK(record->mapped && perfdata_is_whole(perfdata));
	return perfdata;
}

static void end(struct crafted *file, int other, struct perfdata *perfdata)
{
	perfdata_close(perfdata);
	close(other);
	crafted_release(file);
}

static void each_is_there(void)
{
	struct crafted file;
	int other;
	struct perfdata_record at;
	struct perfdata *perfdata = begin(&file, &other, &at);
	for (uint64_t i = 0; i < NR; i++) {
		struct record record;
		CHECK(at.mapped);
		CHECK_EQ(record_parse(at.bytes, at.size, &perfdata_event(perfdata, 0)->format,
				      &record),
			 0);
		CHECK_EQ(record.sample.stack_bytes, DUMP_BYTES);
		CHECK_EQ(record.sample.stack[DUMP_BYTES - 1], 10 + i);
		CHECK(perfdata_is_whole(perfdata));
		CHECK_EQ(perfdata_next(perfdata, &at), i + 1 < NR);
	}
	CHECK_STR(perfdata_note(perfdata), "");
	end(&file, other, perfdata);
}

/* Cut to that many bytes behind its beginning while the first sample is in hand. */
static void check_cut(size_t left, bool is_whole, int nr_more)
{
	struct crafted file;
	int other, nr = 0;
	struct perfdata_record at;
	struct perfdata *perfdata = begin(&file, &other, &at);
	CHECK_EQ(ftruncate(other, (off_t)(file.data_at + left)), 0);
	for (size_t i = 0; i < at.size; i++) /* whatever it is, it can be read */
		nr += ((const volatile uint8_t *)at.bytes)[i] != 0;
	CHECK(nr >= 0);
	CHECK_EQ(perfdata_is_whole(perfdata), is_whole);
	for (nr = 0; perfdata_next(perfdata, &at) > 0; nr++)
		CHECK(perfdata_is_whole(perfdata));
	CHECK_EQ(nr, nr_more);
	CHECK(strstr(perfdata_note(perfdata), "was cut while it was read"));
	end(&file, other, perfdata);
}

static void cut_while_it_is_in_hand(void)
{
	check_cut(0, false, 0);
	check_cut(4096, false, 0);
	check_cut(RECORD_BYTES - 1, false, 0);
	check_cut(RECORD_BYTES - 8, false, 0); /* within a page: nothing but zeros tell */
	check_cut(RECORD_BYTES, true, 0);
	check_cut(2 * RECORD_BYTES - 8, true, 0);
	check_cut(2 * RECORD_BYTES, true, 1);
	check_cut(3 * RECORD_BYTES + 16, true, 2);
}

/* Cut before it is opened, around each record: what is whole is given, and nothing else. */
static void cut_at_every_record(void)
{
	struct crafted file;
	make(&file);
	for (size_t whole = 0; whole < NR; whole++) {
		static const size_t more[] = {
			0, 1, 8, 256, 4096, RECORD_BYTES - 8, RECORD_BYTES - 1};
		for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
			int code, nr = 0;
			struct error error = {0};
			struct perfdata_record at;
			struct perfdata *perfdata = perfdata_open(
				crafted_fd(&file, file.data_at + whole * RECORD_BYTES + more[i]),
				NULL, 0, &code, &error);
			CHECK(perfdata);
			while (perfdata_next(perfdata, &at) > 0)
				nr += at.mapped && perfdata_is_whole(perfdata);
			CHECK_EQ(nr, whole);
			CHECK(strstr(perfdata_note(perfdata), "is cut at byte"));
			perfdata_close(perfdata);
		}
	}
	crafted_release(&file);
}

/* Another record in the place of a sample that was seen: it is copied before anybody parses it. */
static void changed_to_another_record(void)
{
	static const struct perf_event_header others[] = {
		{PERF_RECORD_MMAP2, 0, RECORD_BYTES},
		{PERF_RECORD_SAMPLE, 0, 8},
		{PERF_RECORD_SAMPLE, 0, RECORD_BYTES + 8},
		{0, 0, 0},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct crafted file;
		int other;
		struct perfdata_record at;
		struct perfdata *perfdata = begin(&file, &other, &at);
		CHECK_EQ(pwrite(other, &others[i], sizeof(others[i]),
				(off_t)(file.data_at + RECORD_BYTES)),
			 sizeof(others[i]));
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK(!at.mapped);
		CHECK_EQ(at.size, RECORD_BYTES);
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK(at.mapped);
		end(&file, other, perfdata);
	}
}

static void grown_meanwhile(void)
{
	struct crafted file;
	int other, nr = 1;
	struct perfdata_record at;
	struct perfdata *perfdata = begin(&file, &other, &at);
	CHECK_EQ(ftruncate(other, (off_t)file.size + (1 << 20)), 0);
	while (perfdata_next(perfdata, &at) > 0)
		nr += at.mapped;
	CHECK_EQ(nr, NR);
	CHECK_STR(perfdata_note(perfdata), "");
	end(&file, other, perfdata);
}

int main(void)
{
	if (lost_pages_survive())
		return 1;
	RUN(each_is_there);
	RUN(cut_while_it_is_in_hand);
	RUN(cut_at_every_record);
	RUN(changed_to_another_record);
	RUN(grown_meanwhile);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What is refused, with which words; and what a cut or damaged file still gives. */
#include <errno.h>

#include <ctop/file_kind.h>

#include "crafted.h"

enum { TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TIME };

static const struct crafted_event event = {
	.attr = CRAFTED_CLOCK(TYPE),
	.ids = {7},
	.nr_ids = 1,
};

static void small_file(struct crafted *file)
{
	uint8_t bytes[512];
	crafted_begin(file, &event, 1);
	for (uint64_t i = 0; i < 3; i++)
		put_sample(file, TYPE, 0, i, 10 + i);
	put_round(file);
	crafted_section(file, 3, bytes, crafted_string(bytes, "host"));
	crafted_section(file, 6, bytes, crafted_string(bytes, crafted_machine()));
	crafted_end(file);
}

static void check_refused(const struct crafted *file, const char *cause)
{
	int code = 0;
	struct error error = {0};
	CHECK(!perfdata_open(crafted_fd(file, file->size), NULL, 0, &code, &error));
	CHECK(code < 0);
	if (!strstr(error.cause, cause))
		printf("# %s\n", error.cause);
	CHECK(strstr(error.cause, cause));
	CHECK(error.remedy[0]);
	CHECK(!strchr(error.cause, '\n') && !strchr(error.remedy, '\n'));
}

static void told_apart_by_content(void)
{
	CHECK(perfdata_is("PERFILE2", 8));
	CHECK(perfdata_is("2ELIFREP", 8));
	CHECK(perfdata_is("PERFFILE....", 12));
	CHECK(!perfdata_is("PERFILE2", 7));
	CHECK(!perfdata_is("PERFILE3", 8));
	CHECK(!perfdata_is("", 0));
}

static void refusals(void)
{
	static const struct {
		size_t at;
		const void *bytes;
		size_t size;
		const char *cause;
	} changes[] = {
		{0, "2ELIFREP", 8, "other byte order"},
		{0, "PERFFILE", 8, "until Linux 3.0"},
		{0, "whatever", 8, "not a perf.data"},
		{8, "\x10\0\0\0\0\0\0\0", 8, "no events"}, /* of a pipe, and no record says one */
		{8, "\x70\0\0\0\0\0\0\0", 8, "newer format"},
		{8, "\x60\0\0\0\0\0\0\0", 8, "too short"},
		{16, "\0\0\0\0\0\0\0\0", 8, "list of events"},
		{16, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "list of events"},
		{24, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "list of events"},
		{24, "\0\0\0\x7f\0\0\0\0", 8, "ends inside its list of events"},
		{32, "\0\0\0\0\0\0\0\0", 8, "no events"},
		{32, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "more events"},
		{40, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "before its records"},
		{48, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "would not fit"},
		{72 + 3, "\1", 1, "one of several files"}, /* bit 24 */
	};
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct crafted file;
		small_file(&file);
		memcpy(file.bytes + changes[i].at, changes[i].bytes, changes[i].size);
		check_refused(&file, changes[i].cause);
		crafted_release(&file);
	}
}

static void put_attr(struct crafted *file, uint32_t own_bytes, uint64_t id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = own_bytes,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
	};
	put_header(file, 64, 0, sizeof(attr) + sizeof(id));
	put(file, &attr, sizeof(attr));
	put_u64(file, id);
}

/* What perf writes into a pipe has its events and features as records. */
static void records_before_the_first(void)
{
	const uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
	const uint32_t own = sizeof(struct perf_event_attr), tracing = 5;
	const uint64_t far_feature = UINT64_MAX, name_of_3[] = {2, 3};
	struct crafted file = {.bytes = calloc(1, CRAFTED_MAX)};
	CHECK(file.bytes);
	put(&file, "PERFILE2", 8);
	put_u64(&file, 16);
	put_record(&file, 80, 0, &far_feature, sizeof(far_feature));
	put_record(&file, 80, 0, &far_feature, 3);
	put_attr(&file, 8, 1);		/* too short to be one */
	put_attr(&file, UINT32_MAX, 2); /* longer than its record */
	for (uint64_t i = 0; i < PERFDATA_MAX_EVENTS + 10; i++)
		put_attr(&file, own, 3 + i);
	put_header(&file, 78, 0, sizeof(name_of_3) + 8);
	put(&file, name_of_3, sizeof(name_of_3));
	put(&file, "a name\0", 8);
	put_record(&file, 66, 0, &tracing, sizeof(tracing));
	put_u64(&file, UINT64_MAX); /* what follows it, padded */
	put_sample(&file, type, 3, 0x1000, 5);
	put_attr(&file, own, 7777); /* too late */
	put_sample(&file, type, 7777, 0x1000, 6);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record record;
	CHECK_EQ(perfdata_nr_events(perfdata), PERFDATA_MAX_EVENTS);
	CHECK_STR(perfdata_event(perfdata, 0)->name, "a name");
	CHECK_EQ(perfdata_next(perfdata, &record), 1);
	CHECK_EQ(record.event, 0);
	CHECK_EQ(record.time_ns, 5);
	CHECK_EQ(perfdata_next(perfdata, &record), 1);
	CHECK_EQ(record.event, PERFDATA_MAX_EVENTS);
	CHECK_EQ(perfdata_next(perfdata, &record), 0);
	perfdata_close(perfdata);
	/* However it is cut. */
	for (size_t size = 16; size < file.size; size += 7) {
		int code;
		struct error error = {0};
		perfdata = perfdata_open(crafted_fd(&file, size), NULL, 0, &code, &error);
		while (perfdata && perfdata_next(perfdata, &record) > 0)
			;
		perfdata_close(perfdata);
	}
	crafted_release(&file);
}

/* The list of names is of all events, also where a file has it before them. */
static void names_before_the_events(void)
{
	const uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
	const uint32_t own = sizeof(struct perf_event_attr), nr = 2, nr_ids = 0;
	struct crafted file = {.bytes = calloc(1, CRAFTED_MAX)};
	CHECK(file.bytes);
	uint8_t desc[1024] = {12}; /* the feature's number, 8 bytes */
	size_t size = 8;
	memcpy(desc + size, &nr, sizeof(nr));
	memcpy(desc + size + 4, &own, sizeof(own));
	size += 8;
	for (uint32_t i = 0; i < nr; i++) {
		size += own;
		memcpy(desc + size, &nr_ids, sizeof(nr_ids));
		size += 4;
		size += crafted_string(desc + size, i ? "the second" : "the first");
	}
	put(&file, "PERFILE2", 8);
	put_u64(&file, 16);
	put_record(&file, 80, 0, desc, size);
	put_attr(&file, own, 3);
	put_attr(&file, own, 4);
	put_sample(&file, type, 4, 0x1000, 5);
	struct perfdata *perfdata = crafted_open(&file);
	CHECK_EQ(perfdata_nr_events(perfdata), 2);
	CHECK_STR(perfdata_event(perfdata, 0)->name, "the first");
	CHECK_STR(perfdata_event(perfdata, 1)->name, "the second");
	CHECK_STR(perfdata_note(perfdata), "");
	perfdata_close(perfdata);
	crafted_release(&file);
}

static void another_machine(void)
{
	struct crafted file;
	uint8_t bytes[512];
	crafted_begin(&file, &event, 1);
	put_round(&file);
	crafted_section(&file, 6, bytes, crafted_string(bytes, "riscv64"));
	crafted_end(&file);
	check_refused(&file, "recorded on riscv64");
	crafted_release(&file);
}

/* Where this runs, under emulation, too. */
static void this_machine(void)
{
	struct crafted file;
	uint8_t bytes[512];
	crafted_begin(&file, &event, 1);
	put_round(&file);
	crafted_section(&file, 6, bytes, crafted_string(bytes, crafted_machine()));
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	CHECK_STR(perfdata_facts(perfdata)->arch, crafted_machine());
	perfdata_close(perfdata);
	crafted_release(&file);
}

static void events_that_cannot_be_told_apart(void)
{
	struct crafted file;
	struct crafted_event events[2] = {event, event};
	events[1].attr.sample_type |= PERF_SAMPLE_CPU;
	crafted_begin(&file, events, 2);
	crafted_end(&file);
	check_refused(&file, "cannot be told apart");
	crafted_release(&file);
	events[1].attr.sample_type = TYPE;
	events[1].attr.sample_id_all = 0;
	crafted_begin(&file, events, 2);
	crafted_end(&file);
	check_refused(&file, "cannot be told apart");
	crafted_release(&file);
}

/* Reads all there is; -1 when the file was refused. */
static int nr_records(int fd, char note[PERFDATA_NOTE_BYTES])
{
	int code, nr = 0, result;
	struct error error = {0};
	struct perfdata *perfdata = perfdata_open(fd, NULL, 0, &code, &error);
	if (!perfdata) {
		CHECK(code < 0 && error.cause[0]);
		return -1;
	}
	struct perfdata_record at;
	while ((result = perfdata_next(perfdata, &at)) > 0) {
		CHECK_EQ(at.number, nr);
		CHECK(at.size >= 8);
		nr++;
	}
	CHECK_EQ(result, 0);
	snprintf(note, PERFDATA_NOTE_BYTES, "%s", perfdata_note(perfdata));
	perfdata_close(perfdata);
	return nr;
}

/* Cut behind every byte: never more than was there, never less, and said. */
static void cut_at_every_byte(void)
{
	struct crafted file;
	char note[PERFDATA_NOTE_BYTES];
	small_file(&file);
	const size_t sample_bytes = 8 + 16;
	size_t data_end = file.data_at + 3 * sample_bytes + 8;
	for (size_t size = 0; size <= file.size; size++) {
		int nr = nr_records(crafted_fd(&file, size), note);
		if (size < file.data_at) {
			CHECK_EQ(nr, -1);
			continue;
		}
		size_t whole = (size - file.data_at) / sample_bytes;
		CHECK_EQ(nr, whole < 3 ? whole : 3);
		CHECK_EQ(strstr(note, "is cut at byte") != NULL, size < data_end);
		CHECK_EQ(note[0] != '\0', size < file.size);
	}
	crafted_release(&file);
}

/* Each byte of the file made the largest: whatever comes of it, it ends. */
static void every_byte_damaged(void)
{
	struct crafted file;
	char note[PERFDATA_NOTE_BYTES];
	small_file(&file);
	for (size_t at = 0; at < file.size; at++) {
		uint8_t was = file.bytes[at];
		static const uint8_t others[] = {0x00, 0x01, 0x07, 0x47, 0x51, 0x7f, 0x80, 0xff};
		for (size_t i = 0; i < sizeof(others); i++) {
			file.bytes[at] = others[i];
			CHECK(nr_records(crafted_fd(&file, file.size), note) <= 16);
		}
		file.bytes[at] = was;
	}
	crafted_release(&file);
}

static void a_record_of_no_length(void)
{
	struct crafted file;
	char note[PERFDATA_NOTE_BYTES];
	small_file(&file);
	file.bytes[file.data_at + 24 + 6] = 0; /* of the second */
	CHECK_EQ(nr_records(crafted_fd(&file, file.size), note), 1);
	CHECK(strstr(note, "is damaged at byte"));
	crafted_release(&file);
}

/* perf record was killed: the header has no length of the data yet. */
static void unfinished(void)
{
	struct crafted file;
	char note[PERFDATA_NOTE_BYTES];
	crafted_begin(&file, &event, 1);
	put_sample(&file, TYPE, 0, 1, 10);
	put_sample(&file, TYPE, 0, 1, 11);
	CHECK_EQ(nr_records(crafted_fd(&file, file.size), note), 2);
	CHECK(strstr(note, "was not completed"));
	CHECK_EQ(nr_records(crafted_fd(&file, file.size - 4), note), 1);
	CHECK(strstr(note, "ended before it was done"));
	crafted_release(&file);
}

static void a_file_that_shrinks(void)
{
	struct crafted file;
	int code;
	struct error error = {0};
	struct perfdata_record at;
	crafted_begin(&file, &event, 1);
	for (uint64_t i = 0; i < 3; i++)
		put_sample(&file, TYPE, 0, i, 10 + i);
	crafted_end(&file);
	int fd = crafted_fd(&file, file.size), other = dup(fd);
	struct perfdata *perfdata = perfdata_open(fd, NULL, 0, &code, &error);
	CHECK(perfdata);
	CHECK_EQ(ftruncate(other, (off_t)file.data_at + 30), 0);
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.time_ns, 10);
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	CHECK(strstr(perfdata_note(perfdata), "was cut while it was read"));
	perfdata_close(perfdata);
	close(other);
	crafted_release(&file);
}

/* Sections that lie about their sizes cost what they say, nothing else. */
static void damaged_sections(void)
{
	static const unsigned bits[] = {2, 3, 7, 11, 12};
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		for (size_t size = 0; size < 60; size++) {
			struct crafted file;
			char note[PERFDATA_NOTE_BYTES];
			uint8_t bytes[64];
			memset(bytes, 0xff, sizeof(bytes));
			crafted_begin(&file, &event, 1);
			put_sample(&file, TYPE, 0, 1, 10);
			crafted_section(&file, bits[i], bytes, size);
			crafted_end(&file);
			CHECK_EQ(nr_records(crafted_fd(&file, file.size), note), 1);
			bool fine = (bits[i] == 2 && !size) || (bits[i] == 7 && size >= 4);
			CHECK_EQ(strstr(note, "1 damaged section") != NULL, !fine);
			crafted_release(&file);
		}
	}
}

int main(void)
{
	RUN(told_apart_by_content);
	RUN(refusals);
	RUN(records_before_the_first);
	RUN(names_before_the_events);
	RUN(another_machine);
	RUN(this_machine);
	RUN(events_that_cannot_be_told_apart);
	RUN(cut_at_every_byte);
	RUN(every_byte_damaged);
	RUN(a_record_of_no_length);
	RUN(unfinished);
	RUN(a_file_that_shrinks);
	RUN(damaged_sections);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What files have, in each layout that perf gives them. */
#include "crafted.h"

enum { PLAIN = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME };

static struct crafted_event event_of(uint64_t sample_type, uint64_t id)
{
	return (struct crafted_event){
		.attr = {.type = PERF_TYPE_SOFTWARE,
			 .size = sizeof(struct perf_event_attr),
			 .config = PERF_COUNT_SW_CPU_CLOCK,
			 .sample_period = 1000,
			 .sample_type = sample_type,
			 .sample_id_all = 1},
		.ids = {id},
		.nr_ids = id ? 1 : 0,
	};
}

static void one_event_without_ids(void)
{
	struct crafted file;
	const struct crafted_event event = event_of(PLAIN, 0);
	crafted_begin(&file, &event, 1);
	put_sample(&file, PLAIN, 0, 0x1234, 50);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record at;
	struct record record;
	CHECK_EQ(perfdata_nr_events(perfdata), 1);
	CHECK_STR(perfdata_event(perfdata, 0)->name, "cpu-clock");
	CHECK_EQ(perfdata_event(perfdata, 0)->period, 1000);
	CHECK_EQ(perfdata_event(perfdata, 0)->unit, WEIGHT_NS);
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.event, 0);
	CHECK_EQ(at.time_ns, 50);
	CHECK_EQ(at.number, 0);
	CHECK_EQ(record_parse(at.bytes, at.size, &perfdata_event(perfdata, 0)->format, &record), 0);
	CHECK_EQ(record.sample.ip, 0x1234);
	CHECK_EQ(record.pid, 10);
	CHECK_EQ(record.tid, 11);
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	CHECK_STR(perfdata_note(perfdata), "");
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* Their layouts differ: the identifier stands first. */
static void events_by_identifier(void)
{
	struct crafted file;
	const struct crafted_event events[] = {
		event_of(PLAIN | PERF_SAMPLE_IDENTIFIER, 7),
		event_of(PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER, 8),
	};
	crafted_begin(&file, events, 2);
	put_sample(&file, events[1].attr.sample_type, 8, 0, 60);
	put_sample(&file, events[0].attr.sample_type, 7, 1, 70);
	put_sample(&file, events[0].attr.sample_type, 9, 1, 80);
	/* A trailer of the second event's: time, identifier. */
	put_header(&file, PERF_RECORD_LOST, 0, 32);
	put_u64(&file, 8);
	put_u64(&file, 3);
	put_u64(&file, 90);
	put_u64(&file, 8);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record at;
	static const struct {
		uint32_t event;
		uint64_t time_ns;
	} wanted[] = {{1, 60}, {0, 70}, {PERFDATA_MAX_EVENTS, 80}, {1, 90}};
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ(at.event, wanted[i].event);
		CHECK_EQ(at.time_ns, wanted[i].time_ns);
		CHECK_EQ(at.number, i);
	}
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* The same layout for all, the id somewhere inside. */
static void events_by_id(void)
{
	struct crafted file;
	const struct crafted_event events[] = {event_of(PLAIN | PERF_SAMPLE_ID, 7),
					       event_of(PLAIN | PERF_SAMPLE_ID, 8)};
	crafted_begin(&file, events, 2);
	put_sample(&file, PLAIN | PERF_SAMPLE_ID, 8, 1, 5);
	put_sample(&file, PLAIN | PERF_SAMPLE_ID, 7, 1, 6);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record at;
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.event, 1);
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.event, 0);
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* Without sample_id_all other records have neither time nor id: they come where they stand. */
static void without_sample_id_all(void)
{
	struct crafted file;
	struct crafted_event event = event_of(PLAIN, 0);
	event.attr.sample_id_all = 0;
	crafted_begin(&file, &event, 1);
	put_sample(&file, PLAIN, 0, 1, 100);
	put_header(&file, PERF_RECORD_COMM, 0, 16);
	put_u32(&file, 10);
	put_u32(&file, 10);
	put(&file, "name\0\0\0", 8);
	put_round(&file);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record at;
	struct record record;
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.time_ns, 0);
	CHECK_EQ(record_parse(at.bytes, at.size, &perfdata_event(perfdata, 0)->format, &record), 0);
	CHECK_EQ(record.type, PERF_RECORD_COMM);
	CHECK_STR(record.comm.name, "name");
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.time_ns, 100);
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* Attributes shorter and longer than those of today. */
static void attributes_of_other_sizes(void)
{
	for (unsigned size = PERF_ATTR_SIZE_VER0; size <= 256; size += 8) {
		struct crafted file;
		const struct crafted_event event = event_of(PLAIN, 0);
		uint8_t attr[256] = {0};
		crafted_begin(&file, &event, 1);
		memcpy(attr, &event.attr, PERF_ATTR_SIZE_VER0);
		patch_u64(&file, 16, size + 16);
		patch_u64(&file, 32, size + 16);
		file.size = CRAFTED_HEADER;
		put(&file, attr, size);
		put_u64(&file, 0);
		put_u64(&file, 0);
		file.data_at = file.size;
		patch_u64(&file, 40, file.data_at);
		put_sample(&file, PLAIN, 0, 1, 5);
		crafted_end(&file);
		struct perfdata *perfdata = crafted_open(&file);
		struct perfdata_record at;
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ(at.time_ns, 5);
		perfdata_close(perfdata);
		crafted_release(&file);
	}
}

/* Records that are perf's own, and one that is followed by bytes outside its size. */
static void perfs_own_records_are_passed_over(void)
{
	struct crafted file;
	const struct crafted_event event = event_of(PLAIN, 0);
	static const uint8_t zeros[64];
	crafted_begin(&file, &event, 1);
	for (uint32_t type = 64; type < 100; type++)
		if (type != 71 && type != 81 && type != 83)
			put_record(&file, type, 0, zeros, 24);
	put_header(&file, 71, 0, 40);
	put_u64(&file, 16); /* bytes of trace that follow */
	put(&file, zeros, 32);
	memset(file.bytes + file.size, 0xff, 16);
	file.size += 16;
	put_sample(&file, PLAIN, 0, 1, 5);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record at;
	CHECK_EQ(perfdata_next(perfdata, &at), 1);
	CHECK_EQ(at.time_ns, 5);
	CHECK_EQ(at.number, 0);
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	CHECK_STR(perfdata_note(perfdata), "");
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* Data that begins at an odd place: records are handed out aligned all the same. */
static void odd_places(void)
{
	struct crafted file;
	const struct crafted_event event = event_of(PLAIN, 0);
	crafted_begin(&file, &event, 1);
	put(&file, "xyz", 3);
	file.data_at += 3;
	patch_u64(&file, 40, file.data_at);
	put_sample(&file, PLAIN, 0, 0x77, 5);
	put_sample(&file, PLAIN, 0, 0x78, 6);
	crafted_end(&file);
	struct perfdata *perfdata = crafted_open(&file);
	struct perfdata_record at;
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t ip;
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ((uintptr_t)at.bytes % 8, 0);
		memcpy(&ip, (const uint8_t *)at.bytes + 8, sizeof(ip));
		CHECK_EQ(ip, 0x77 + i);
	}
	perfdata_close(perfdata);
	crafted_release(&file);
}

/* ---- sections ---- */

static size_t build_id_record(uint8_t *to, uint16_t misc, uint8_t first, uint8_t size,
			      const char *name)
{
	const struct perf_event_header header = {
		0, misc, (uint16_t)(8 + 4 + 24 + ((strlen(name) + 1 + 7) & ~7u))};
	memset(to, 0, header.size);
	memcpy(to, &header, sizeof(header));
	memset(to + 12, first, 20);
	to[32] = size;
	memcpy(to + 36, name, strlen(name));
	return header.size;
}

static void what_sections_say(void)
{
	struct crafted file;
	const struct crafted_event event = event_of(PLAIN, 0);
	uint8_t bytes[512];
	crafted_begin(&file, &event, 1);
	put_round(&file);
	size_t size = build_id_record(bytes, PERF_RECORD_MISC_KERNEL, 1, 0, "[kernel.kallsyms]");
	size += build_id_record(bytes + size, PERF_RECORD_MISC_USER, 2, 0, "/lib/a");
	size += build_id_record(bytes + size, PERF_RECORD_MISC_USER | 1 << 15, 3, 16, "/lib/b");
	size += build_id_record(bytes + size, PERF_RECORD_MISC_USER, 4, 0, "/lib/twice");
	size += build_id_record(bytes + size, PERF_RECORD_MISC_USER, 5, 0, "/lib/twice");
	size += build_id_record(bytes + size, PERF_RECORD_MISC_GUEST_KERNEL, 6, 0, "[guest]");
	crafted_section(&file, 2, bytes, size);
	crafted_section(&file, 3, bytes, crafted_string(bytes, "host"));
	crafted_section(&file, 4, bytes, crafted_string(bytes, "6.1.0"));
	crafted_section(&file, 5, bytes, crafted_string(bytes, "6.1.2"));
	crafted_section(&file, 6, bytes, crafted_string(bytes, crafted_machine()));
	crafted_section(&file, 7, "\4\0\0\0\5\0\0\0", 8);
	uint32_t nr = 2;
	memcpy(bytes, &nr, 4);
	size = 4 + crafted_string(bytes + 4, "perf");
	size += crafted_string(bytes + size, "record");
	crafted_section(&file, 11, bytes, size);
	const uint32_t desc[] = {1, sizeof(event.attr), 0};
	memcpy(bytes, desc, 8);
	memcpy(bytes + 8, &event.attr, sizeof(event.attr));
	size = 8 + sizeof(event.attr);
	memcpy(bytes + size, &desc[2], 4);
	size += 4;
	size += crafted_string(bytes + size, "cpu-clock:u");
	crafted_section(&file, 12, bytes, size);
	crafted_end(&file);

	struct perfdata *perfdata = crafted_open(&file);
	const struct perfdata_facts *facts = perfdata_facts(perfdata);
	uint8_t build_id[20];
	CHECK_STR(facts->hostname, "host");
	CHECK_STR(facts->release, "6.1.0");
	CHECK_STR(facts->version, "6.1.2");
	CHECK_STR(facts->arch, crafted_machine());
	CHECK_STR(facts->command_line, "perf record");
	CHECK_EQ(facts->nr_cpus, 4);
	CHECK_STR(perfdata_event(perfdata, 0)->name, "cpu-clock:u");
	CHECK_EQ(perfdata_kernel_build_id(perfdata, build_id), 20);
	CHECK_EQ(build_id[0], 1);
	CHECK_EQ(perfdata_build_id(perfdata, "/lib/a", build_id), 20);
	CHECK_EQ(build_id[19], 2);
	CHECK_EQ(perfdata_build_id(perfdata, "/lib/b", build_id), 16);
	CHECK_EQ(perfdata_build_id(perfdata, "/lib/twice", build_id), 0);
	CHECK_EQ(perfdata_build_id(perfdata, "/lib/c", build_id), 0);
	CHECK_EQ(perfdata_build_id(perfdata, "[kernel.kallsyms]", build_id), 0);
	CHECK_STR(perfdata_note(perfdata), "");
	perfdata_close(perfdata);
	crafted_release(&file);
}

int main(void)
{
	RUN(one_event_without_ids);
	RUN(events_by_identifier);
	RUN(events_by_id);
	RUN(without_sample_id_all);
	RUN(attributes_of_other_sizes);
	RUN(perfs_own_records_are_passed_over);
	RUN(odd_places);
	RUN(what_sections_say);
	return test_done();
}

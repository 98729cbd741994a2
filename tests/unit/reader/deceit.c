/* SPDX-License-Identifier: MIT */
/* Recordings of other versions, and those whose checksums are right and whose contents are not. */
#include <ctop/file_kind.h>

#include "changed.h"

static uint8_t payload[FILE_MAX];

/* ---- versions ---- */

static void an_unknown_major_version_is_refused(void)
{
	struct recording_read outcome;
	make_file(1, 10, 10);
	for (unsigned major = 0; major < 0x300; major += major < 4 ? 1 : 0x7f) {
		file[8] = (uint8_t)major;
		file[9] = (uint8_t)(major >> 8);
		/* Of rows as they were in version 1 these are damaged ones. */
		bool known = major >= 1 && major <= 3;
		CHECK_EQ(read_bytes(file, file_size, &sink, &outcome), known ? 0 : -EINVAL);
		sink_clear(&sink);
	}
	forget_file();
}

static void a_newer_minor_version_is_read(void)
{
	struct recording_read outcome;
	make_file(1, 10, 10);
	memcpy(changed, file, file_size);
	set_word(changed + 8, 3 | 77u << 16);
	CHECK_EQ(read_changed(file_size, &outcome).same, nr_written);
	forget_file();
}

static void rubbish_is_no_recording(void)
{
	struct recording_read outcome;
	memset(changed, 'x', 4096);
	CHECK_EQ(read_bytes(changed, 4096, &sink, &outcome), -EINVAL);
	CHECK_EQ(read_bytes(changed, 0, &sink, &outcome), -EINVAL);
	CHECK(!recording_is(changed, 4096));
	make_file(1, 10, 11);
	CHECK(recording_is(file, 8));
	CHECK(!recording_is(file, 7));
	forget_file();
}

static void unknown_chunks_are_skipped(void)
{
	uint8_t unknown[CHUNK_HEAD + 300];
	make_file(2, 20, 12);
	for (size_t i = 0; i < nr_chunks; i++) {
		struct recording_read outcome;
		/* Also one that is of no epoch, or of another. */
		put_chunk(unknown, "NEW!", chunks[i].recording, (uint32_t)i % 3, 0, file, 300);
		size_t size = with(chunks[i].at, unknown, sizeof(unknown));
		renumber(changed, size);
		struct compared compared = read_changed(size, &outcome);
		CHECK(outcome.whole);
		check_sound(&outcome);
		CHECK_EQ(compared.same, nr_written);
	}
	forget_file();
}

static void an_unknown_packing_is_damage(void)
{
	make_file(1, 20, 13);
	for (size_t i = 0; i < nr_chunks; i++) {
		struct recording_read outcome;
		memcpy(changed, file, file_size);
		set_word(changed + chunks[i].at + 16, chunks[i].flags | 2);
		seal(changed + chunks[i].at);
		read_changed(file_size, &outcome);
		CHECK_EQ(outcome.damaged_places, 1);
		CHECK_EQ(outcome.lost_chunks, 1);
	}
	forget_file();
}

/* ---- contents that are wrong, although their checksums are right ---- */

static void check_survives(size_t size)
{
	struct recording_read outcome;
	int result = read_bytes(changed, size, &sink, &outcome);
	/* Too many epochs for the sink is the one error that contents can bring about. */
	CHECK(result == 0 || result == -E2BIG);
	sink_clear(&sink);
}

static void wrong_contents_are_survived(void)
{
	struct numbers numbers = {77};
	make_file(2, 30, 14);
	for (unsigned turn = 0; turn < 4000; turn++) {
		const struct raw_chunk *chunk = &chunks[below(&numbers, (uint32_t)nr_chunks)];
		size_t end = chunk->at + chunk->size, raw = chunk->raw;
		unpack_payload(file, chunk, payload, sizeof(payload));
		for (uint32_t n = 1 + below(&numbers, 4); n; n--)
			payload[below(&numbers, (uint32_t)raw)] = (uint8_t)next(&numbers);
		if (!below(&numbers, 4))
			raw = below(&numbers, (uint32_t)raw);
		memcpy(changed, file, chunk->at);
		size_t size =
			chunk->at + put_chunk(changed + chunk->at, chunk->type, chunk->recording,
					      chunk->epoch, chunk->number, payload, raw);
		memcpy(changed + size, file + end, file_size - end);
		check_survives(size + file_size - end);
	}
	forget_file();
}

static size_t put_file_head(void)
{
	static const uint8_t head[FILE_HEAD] = "\x8e"
					       "ctop\r\n\x1a\1";
	memcpy(changed, head, sizeof(head));
	return sizeof(head);
}

static void rubbish_with_right_checksums_is_survived(void)
{
	static const char *const types[] = {"STRS", "EVNT", "MODS", "TASK", "FRAM", "NODE",
					    "NAME", "SAMP", "INFO", "END.", "ABCD"};
	struct numbers numbers = {78};
	for (unsigned turn = 0; turn < 2000; turn++) {
		size_t size = put_file_head();
		uint32_t nr = 1 + below(&numbers, 20), epoch = 0;
		for (uint32_t number = 1; number <= nr; number++) {
			size_t bytes = below(&numbers, 200);
			/* Small numbers, mostly: they get furthest. */
			for (size_t i = 0; i < bytes; i++)
				payload[i] = (uint8_t)(next(&numbers) >> 56 >> below(&numbers, 8));
			payload[0] = (uint8_t)below(&numbers, 3);
			epoch += !below(&numbers, 10);
			size += put_chunk(changed + size,
					  types[below(&numbers, sizeof(types) / sizeof(*types))], 1,
					  epoch, number, payload, bytes);
		}
		check_survives(size);
	}
}

/* One chunk of numbers, each a varint. */
static size_t put_numbers(uint8_t *to, const char *type, const uint64_t *values, size_t nr)
{
	size_t size = 0;
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = values[i];
		for (; value >= 0x80; value >>= 7)
			payload[size++] = (uint8_t)(value | 0x80);
		payload[size++] = (uint8_t)value;
	}
	return put_chunk(to, type, 1, 1, 1, payload, size);
}

static void numbers_at_the_limits_are_survived(void)
{
	static const uint64_t limits[] = {0,	      1u << 14,	  1u << 26,   UINT32_MAX,
					  1ull << 32, 1ull << 62, 1ull << 63, UINT64_MAX};
	static const char *const types[] = {"STRS", "EVNT", "MODS", "TASK", "FRAM",
					    "NODE", "NAME", "SAMP", "INFO", "END."};
	size_t head = put_file_head();
	for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++) {
		for (size_t at = 0; at < 14; at++) {
			for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
				uint64_t values[14] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
				values[at] = limits[i];
				check_survives(head + put_numbers(changed + head, types[type],
								  values, 14));
			}
		}
	}
}

static void lengths_that_lie_are_damage(void)
{
	struct recording_read outcome;
	static const struct {
		uint32_t stored, raw, flags;
	} lies[] = {
		{10, 11, 0},	   /* not packed, and yet of two sizes */
		{10, 64 << 20, 1}, /* packed, and no zstd at all */
		{10, (64 << 20) + 1, 1},
		{UINT32_MAX, 10, 0},
		{(64 << 20) + 1, (64 << 20) + 1, 0},
		{64 << 20, 64 << 20, 0}, /* allowed, but not there */
	};
	make_file(1, 10, 15);
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		uint8_t liar[CHUNK_HEAD + 10] = {0};
		put_chunk(liar, "SAMP", chunks[0].recording, 1, 1, liar + CHUNK_HEAD, 10);
		set_word(liar + 8, lies[i].stored);
		set_word(liar + 12, lies[i].raw);
		set_word(liar + 16, lies[i].flags);
		if (lies[i].stored == 10)
			seal(liar);
		size_t size = with(FILE_HEAD, liar, sizeof(liar));
		for (size_t at = FILE_HEAD + sizeof(liar); at < size;
		     at += CHUNK_HEAD + word(changed + at + 8)) {
			set_word(changed + at + 28, word(changed + at + 28) + 1);
			seal(changed + at);
		}
		struct compared compared = read_changed(size, &outcome);
		CHECK_EQ(outcome.damaged_places, 1);
		CHECK_EQ(outcome.skipped_bytes, sizeof(liar));
		CHECK_EQ(outcome.lost_chunks, 1);
		CHECK(outcome.whole);
		CHECK_EQ(compared.same, nr_written);
	}
	forget_file();
}

/* zstd that unpacks to more, or to less, than the head says. */
static void packed_payloads_of_another_size_are_damage(void)
{
	struct recording_read outcome;
	uint8_t *const head = other;
	make_file(1, 10, 16);
	memset(payload, 1, 100000);
	size_t packed = ZSTD_compress(head + CHUNK_HEAD, FILE_MAX - CHUNK_HEAD, payload, 100000, 1);
	CHECK(!ZSTD_isError(packed));
	for (uint32_t raw = 0; raw <= 200000; raw += 50000) {
		if (raw == 100000)
			continue; /* that would be a sound chunk, of nonsense */
		put_chunk(head, "SAMP", chunks[0].recording, 2, (uint32_t)nr_chunks,
			  head + CHUNK_HEAD, packed);
		set_word(head + 12, raw);
		set_word(head + 16, 1);
		seal(head);
		/* In the place of the end chunk. */
		size_t end = chunks[nr_chunks - 1].at;
		with(end, head, CHUNK_HEAD + packed);
		struct compared compared = read_changed(end + CHUNK_HEAD + packed, &outcome);
		CHECK_EQ(outcome.damaged_places, 1);
		CHECK_EQ(compared.same, nr_written);
	}
	forget_file();
}

/* Heads that each promise a megabyte: looking into all of them would take hours. */
static void many_false_heads_are_given_up(void)
{
	struct recording_read outcome;
	size_t size = put_file_head();
	while (size + CHUNK_HEAD < sizeof(changed)) {
		put_chunk(changed + size, "SAMP", 1, 1, 1, NULL, 0);
		set_word(changed + size + 8, 1 << 20);
		set_word(changed + size + 12, 1 << 20);
		size += CHUNK_HEAD;
	}
	CHECK_EQ(read_bytes(changed, size, &sink, &outcome), 0);
	CHECK_EQ(outcome.damaged_places, 1);
	CHECK_EQ(outcome.skipped_bytes, size - FILE_HEAD);
	CHECK_EQ(outcome.samples, 0);
	sink_clear(&sink);
}

int main(void)
{
	RUN(an_unknown_major_version_is_refused);
	RUN(a_newer_minor_version_is_read);
	RUN(rubbish_is_no_recording);
	RUN(unknown_chunks_are_skipped);
	RUN(an_unknown_packing_is_damage);
	RUN(wrong_contents_are_survived);
	RUN(rubbish_with_right_checksums_is_survived);
	RUN(numbers_at_the_limits_are_survived);
	RUN(lengths_that_lie_are_damage);
	RUN(packed_payloads_of_another_size_are_damage);
	RUN(many_false_heads_are_given_up);
	return test_done();
}

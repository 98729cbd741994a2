/* SPDX-License-Identifier: MIT */
/* Records compressed by perf record -z: one stream over many records, which end where they like. */
#include <zstd.h>

#include "crafted.h"

enum { TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TIME, COMPRESSED = 81, COMPRESSED2 = 83 };

static const struct crafted_event event = {.attr = CRAFTED_CLOCK(TYPE)};

/* Some samples as they would be in a file, times 1 to nr. */
static void plain_records(struct crafted *plain, size_t nr)
{
	*plain = (struct crafted){.bytes = calloc(1, CRAFTED_MAX)};
	CHECK(plain->bytes);
	for (uint64_t i = 0; i < nr; i++)
		put_sample(plain, TYPE, 0, i * i, 1 + i);
}

static void put_packed(struct crafted *file, uint32_t type, const void *bytes, size_t size)
{
	if (type == COMPRESSED) {
		put_record(file, type, 0, bytes, size);
		return;
	}
	size_t padding = -size & 7;
	static const uint8_t zeros[8];
	put_header(file, type, 0, 8 + size + padding);
	put_u64(file, size);
	put(file, bytes, size);
	put(file, zeros, padding);
}

/* Packs the plain bytes in pieces of `piece`, a record for each. */
static void put_all_packed(struct crafted *file, uint32_t type, const struct crafted *plain,
			   size_t piece)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	CHECK(context);
	for (size_t at = 0; at < plain->size; at += piece) {
		static uint8_t packed[65000];
		size_t size = plain->size - at < piece ? plain->size - at : piece;
		ZSTD_inBuffer in = {plain->bytes + at, size, 0};
		ZSTD_outBuffer out = {packed, sizeof(packed), 0};
		CHECK_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush), 0);
		put_packed(file, type, packed, out.pos);
	}
	ZSTD_freeCCtx(context);
}

static size_t read_back(const struct crafted *file, const char **note, struct perfdata **kept)
{
	struct perfdata *perfdata = crafted_open(file);
	struct perfdata_record at;
	size_t nr = 0;
	int result;
	while ((result = perfdata_next(perfdata, &at)) > 0) {
		CHECK_EQ(at.time_ns, ++nr);
		uint64_t ip;
		memcpy(&ip, (const uint8_t *)at.bytes + 8, sizeof(ip));
		CHECK_EQ(ip, (nr - 1) * (nr - 1));
		CHECK_EQ((uintptr_t)at.bytes % 8, 0);
	}
	CHECK_EQ(result, 0);
	*note = perfdata_note(perfdata);
	*kept = perfdata;
	return nr;
}

static void pieces_of_every_size(void)
{
	static const uint32_t types[] = {COMPRESSED, COMPRESSED2};
	struct crafted plain;
	plain_records(&plain, 40);
	for (size_t t = 0; t < 2; t++) {
		for (size_t piece = 1; piece < 200; piece++) {
			struct crafted file;
			const char *note;
			struct perfdata *perfdata;
			crafted_begin(&file, &event, 1);
			put_all_packed(&file, types[t], &plain, piece);
			crafted_end(&file);
			CHECK_EQ(read_back(&file, &note, &perfdata), 40);
			CHECK_STR(note, "");
			perfdata_close(perfdata);
			crafted_release(&file);
		}
	}
	crafted_release(&plain);
}

/* More than a chunk, in one record: what does not fit comes later. */
static void far_more_than_is_packed(void)
{
	struct crafted plain, file;
	const char *note;
	struct perfdata *perfdata;
	enum { NR = 100000 }; /* 2.4 MB */
	plain_records(&plain, NR);
	for (uint64_t i = 0; i < NR; i++) /* compresses well: equal but for the times */
		patch_u64(&plain, i * 24 + 8, 0);
	crafted_begin(&file, &event, 1);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_inBuffer in = {plain.bytes, plain.size, 0};
	static uint8_t packed[CRAFTED_MAX];
	ZSTD_outBuffer out = {packed, sizeof(packed), 0};
	CHECK_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush), 0);
	ZSTD_freeCCtx(context);
	for (size_t at = 0; at < out.pos; at += 60000)
		put_packed(&file, COMPRESSED, packed + at,
			   out.pos - at < 60000 ? out.pos - at : 60000);
	put_round(&file);
	crafted_end(&file);
	perfdata = crafted_open(&file);
	struct perfdata_record at;
	for (uint64_t i = 0; i < NR; i++) {
		CHECK_EQ(perfdata_next(perfdata, &at), 1);
		CHECK_EQ(at.time_ns, i + 1);
	}
	CHECK_EQ(perfdata_next(perfdata, &at), 0);
	note = perfdata_note(perfdata);
	CHECK_STR(note, "");
	perfdata_close(perfdata);
	crafted_release(&file);
	crafted_release(&plain);
}

static void torn_at_the_end(void)
{
	struct crafted plain, file;
	const char *note;
	struct perfdata *perfdata;
	plain_records(&plain, 10);
	plain.size -= 5;
	crafted_begin(&file, &event, 1);
	put_all_packed(&file, COMPRESSED, &plain, 100);
	crafted_end(&file);
	CHECK_EQ(read_back(&file, &note, &perfdata), 9);
	CHECK(strstr(note, "is cut at byte"));
	perfdata_close(perfdata);
	crafted_release(&file);
	crafted_release(&plain);
}

/* Each byte of what is packed changed: some records, then a word on it; never anything else. */
static void damaged(void)
{
	struct crafted plain, file;
	plain_records(&plain, 20);
	crafted_begin(&file, &event, 1);
	put_all_packed(&file, COMPRESSED2, &plain, 90);
	crafted_end(&file);
	for (size_t at = file.data_at; at < file.size; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			file.bytes[at] ^= (uint8_t)(1u << bit);
			struct perfdata *perfdata = crafted_open(&file);
			struct perfdata_record record;
			size_t nr = 0;
			while (perfdata_next(perfdata, &record) > 0)
				nr++;
			CHECK(nr < 1 << 20); /* a byte may say how often something is repeated */
			perfdata_close(perfdata);
			file.bytes[at] ^= (uint8_t)(1u << bit);
		}
	}
	crafted_release(&file);
	crafted_release(&plain);
}

static void nonsense_in_a_packed_record(void)
{
	struct crafted file;
	const char *note;
	struct perfdata *perfdata;
	crafted_begin(&file, &event, 1);
	put_record(&file, COMPRESSED, 0, "this is not zstd", 16);
	crafted_end(&file);
	CHECK_EQ(read_back(&file, &note, &perfdata), 0);
	CHECK(strstr(note, "is damaged at byte"));
	perfdata_close(perfdata);
	crafted_release(&file);
	/* More than the record has. */
	crafted_begin(&file, &event, 1);
	put_header(&file, COMPRESSED2, 0, 16);
	put_u64(&file, 1000);
	put_u64(&file, 0);
	crafted_end(&file);
	CHECK_EQ(read_back(&file, &note, &perfdata), 0);
	CHECK(strstr(note, "is damaged at byte"));
	perfdata_close(perfdata);
	crafted_release(&file);
}

int main(void)
{
	RUN(pieces_of_every_size);
	RUN(far_more_than_is_packed);
	RUN(torn_at_the_end);
	RUN(damaged);
	RUN(nonsense_in_a_packed_record);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/*
 * Recordings that were cut, changed, mixed up or made to deceive. Whatever happened to one: what is
 * whole comes back, what is not says so, and nothing is shown under another's name.
 */
#include "chunks.h"
#include "profiles.h"

enum { NR_EPOCHS = 2 };

static struct epoch written[NR_EPOCHS];
static struct sink sink;
static uint8_t file[FILE_MAX], changed[2 * FILE_MAX + CHUNK_HEAD], other[FILE_MAX],
	payload[FILE_MAX];
static struct raw_chunk chunks[CHUNKS_MAX];
static size_t file_size, nr_chunks;
static uint64_t nr_written;

/* Samples of each round of every file that is made, and of one chunk then. */
static uint32_t round_samples;

static void make_file(unsigned rounds, uint32_t nr, uint64_t seed)
{
	int fd = memory_file();
	record_epochs(fd, written, NR_EPOCHS, rounds, nr, seed);
	ssize_t size = pread(fd, file, sizeof(file), 0);
	CHECK(size > 0 && size < FILE_MAX);
	file_size = (size_t)size;
	nr_chunks = take_apart(file, file_size, chunks);
	nr_written = count_samples(written, NR_EPOCHS);
	round_samples = nr;
	close(fd);
}

static void forget_file(void)
{
	for (size_t e = 0; e < NR_EPOCHS; e++)
		epoch_release(&written[e]);
}

/* A file of the same shape, of other numbers, into `other`. */
static size_t make_other(unsigned rounds, uint32_t nr, uint64_t seed)
{
	make_file(rounds, nr, seed);
	memcpy(other, file, file_size);
	size_t size = file_size;
	forget_file();
	return size;
}

static bool is_type(const struct raw_chunk *chunk, const char *type)
{
	return strcmp(chunk->type, type) == 0;
}

/* Samples in chunks that the bytes [from, to) of the file do not touch. */
static uint64_t samples_outside(size_t from, size_t to)
{
	uint64_t nr = 0;
	for (size_t i = 0; i < nr_chunks; i++) {
		const struct raw_chunk *chunk = &chunks[i];
		if (is_type(chunk, "SAMP") && (chunk->at + chunk->size <= from || chunk->at >= to))
			nr += round_samples;
	}
	return nr;
}

static uint64_t samples_before(size_t at)
{
	return samples_outside(at, SIZE_MAX);
}

/* Reads what changed[] holds. Nothing in it may be taken for something else. */
static struct compared read_changed(size_t size, struct recording_read *outcome)
{
	CHECK_EQ(read_bytes(changed, size, &sink, outcome), 0);
	struct compared compared = compare(&sink, written, NR_EPOCHS);
	CHECK_EQ(compared.same + compared.maimed, outcome->samples);
	CHECK_EQ(compared.maimed, outcome->maimed_samples);
	/* Either there, or known to be lost, or behind a cut. */
	if (outcome->whole)
		CHECK_EQ(outcome->samples + outcome->lost_samples, nr_written);
	sink_clear(&sink);
	return compared;
}

static void check_sound(const struct recording_read *outcome)
{
	CHECK_EQ(outcome->lost_chunks, 0);
	CHECK_EQ(outcome->lost_samples, 0);
	CHECK_EQ(outcome->maimed_samples, 0);
	CHECK_EQ(outcome->damaged_places, 0);
	CHECK_EQ(outcome->skipped_bytes, 0);
}

/* The file without the bytes [from, to); its size. */
static size_t without(size_t from, size_t to)
{
	memcpy(changed, file, from);
	memcpy(changed + from, file + to, file_size - to);
	return file_size - (to - from);
}

/* The file with more bytes in it; its size. */
static size_t with(size_t at, const void *bytes, size_t size)
{
	memcpy(changed, file, at);
	memcpy(changed + at, bytes, size);
	memcpy(changed + at + size, file + at, file_size - at);
	return file_size + size;
}

static bool is_boundary(size_t at)
{
	for (size_t i = 0; i < nr_chunks; i++)
		if (chunks[i].at == at)
			return true;
	return at == file_size;
}

/* ---- nothing ---- */

static void a_sound_file_shows_no_damage(void)
{
	struct recording_read outcome;
	make_file(3, 40, 100);
	memcpy(changed, file, file_size);
	struct compared compared = read_changed(file_size, &outcome);
	check_sound(&outcome);
	CHECK(outcome.whole);
	CHECK_EQ(outcome.chunks, nr_chunks);
	CHECK_EQ(compared.same, nr_written);
	CHECK_EQ(compared.unnamed, 0);
	forget_file();
}

/* ---- cuts and flips ---- */

static void check_cut(size_t cut)
{
	struct recording_read outcome;
	memcpy(changed, file, cut);
	if (cut < FILE_HEAD) {
		CHECK_EQ(read_bytes(changed, cut, &sink, &outcome), -EINVAL);
		CHECK_EQ(sink.nr, 0);
		return;
	}
	read_changed(cut, &outcome);
	CHECK_EQ(outcome.whole, cut == file_size);
	CHECK_EQ(outcome.damaged_places, !is_boundary(cut));
	CHECK_EQ(outcome.lost_chunks, 0);
	/* Rows come before the samples that need them. */
	CHECK_EQ(outcome.maimed_samples, 0);
	CHECK_EQ(outcome.lost_samples, 0);
	CHECK_EQ(outcome.samples, samples_before(cut));
}

static void a_cut_loses_only_what_is_behind_it(void)
{
	make_file(2, 12, 1);
	for (size_t cut = 0; cut <= file_size; cut++)
		check_cut(cut);
	forget_file();
	struct numbers numbers = {99};
	make_file(5, 100, 1);
	for (size_t i = 0; i < nr_chunks; i++)
		check_cut(chunks[i].at);
	for (unsigned turn = 0; turn < 300; turn++)
		check_cut(below(&numbers, (uint32_t)file_size));
	forget_file();
}

static void a_flipped_bit_costs_one_chunk(void)
{
	make_file(2, 12, 2);
	memcpy(changed, file, file_size);
	size_t i = 0;
	for (size_t at = 0; at < file_size; at++) {
		struct recording_read outcome;
		while (i + 1 < nr_chunks && at >= chunks[i + 1].at)
			i++;
		changed[at] ^= (uint8_t)(at % 9 == 8 ? 0xff : 1 << at % 9);
		if (at < 10) { /* the magic, the major version */
			CHECK_EQ(read_bytes(changed, file_size, &sink, &outcome), -EINVAL);
			CHECK_EQ(sink.nr, 0);
		} else {
			read_changed(file_size, &outcome);
			bool in_end = i + 1 == nr_chunks, in_head = at < FILE_HEAD;
			CHECK_EQ(outcome.whole, !in_end);
			CHECK_EQ(outcome.damaged_places, !in_head);
			CHECK_EQ(outcome.lost_chunks, !in_head && !in_end);
			CHECK_EQ(outcome.skipped_bytes, in_head ? 0 : chunks[i].size);
			CHECK_EQ(outcome.samples,
				 in_head ? nr_written : samples_outside(at, at + 1));
		}
		changed[at] = file[at];
	}
	forget_file();
}

/* ---- chunks that are not there, or elsewhere ---- */

static void a_lost_chunk_is_counted_and_shows_where_it_is_missing(void)
{
	unsigned nr_dependent = 0, nr_names = 0;
	make_file(3, 40, 3);
	for (size_t i = 0; i < nr_chunks; i++) {
		const struct raw_chunk *chunk = &chunks[i];
		struct recording_read outcome;
		struct compared compared =
			read_changed(without(chunk->at, chunk->at + chunk->size), &outcome);
		bool is_end = is_type(chunk, "END.");
		CHECK_EQ(outcome.damaged_places, 0);
		CHECK_EQ(outcome.whole, !is_end);
		CHECK_EQ(outcome.lost_chunks, !is_end);
		CHECK_EQ(outcome.lost_samples, is_type(chunk, "SAMP") ? 40 : 0);
		CHECK_EQ(outcome.samples + outcome.lost_samples, nr_written);
		if (is_type(chunk, "TASK") || is_type(chunk, "MODS") || is_type(chunk, "FRAM") ||
		    is_type(chunk, "NODE") || is_type(chunk, "STRS")) {
			/* Strings hold the paths of modules, without which frames are not told apart. */
			CHECK(compared.maimed > 0);
			nr_dependent++;
		} else {
			CHECK_EQ(compared.maimed, 0);
		}
		if (is_type(chunk, "NAME")) {
			CHECK(compared.unnamed > 0);
			nr_names++;
		}
	}
	CHECK_EQ(nr_dependent, 5 * 3 * NR_EPOCHS);
	CHECK(nr_names >= 3 * NR_EPOCHS);
	forget_file();
}

static void any_two_lost_chunks_are_survived(void)
{
	make_file(2, 10, 4);
	for (size_t i = 0; i < nr_chunks; i++) {
		for (size_t j = i + 1; j < nr_chunks; j++) {
			struct recording_read outcome;
			size_t size = without(chunks[j].at, chunks[j].at + chunks[j].size);
			memmove(changed + chunks[i].at, changed + chunks[i].at + chunks[i].size,
				size - chunks[i].at - chunks[i].size);
			read_changed(size - chunks[i].size, &outcome);
			/* A chunk that is missing at the very end is not missed: the file ends there. */
			CHECK_EQ(outcome.lost_chunks, j + 1 < nr_chunks	  ? 2
						      : i + 2 < nr_chunks ? 1
									  : 0);
			CHECK_EQ(outcome.damaged_places, 0);
		}
	}
	forget_file();
}

/* All of an epoch but one chunk is gone: the rest must not be read as the epoch's before. */
static void a_lost_begin_of_an_epoch_mixes_nothing_up(void)
{
	size_t second = 0;
	make_file(3, 40, 17);
	while (chunks[second].epoch < 2)
		second++;
	for (size_t to = second; to < nr_chunks; to++) {
		struct recording_read outcome;
		read_changed(without(chunks[second].at, chunks[to].at), &outcome);
		CHECK_EQ(outcome.lost_chunks, to - second);
		CHECK(outcome.whole);
		CHECK_EQ(outcome.samples, samples_outside(chunks[second].at, chunks[to].at));
	}
	forget_file();
}

static void a_chunk_that_comes_twice_counts_once(void)
{
	make_file(2, 20, 5);
	for (size_t i = 0; i < nr_chunks; i++) {
		for (size_t j = i; j < nr_chunks; j++) {
			struct recording_read outcome;
			size_t size = with(chunks[j].at + chunks[j].size, file + chunks[i].at,
					   chunks[i].size);
			struct compared compared = read_changed(size, &outcome);
			CHECK(outcome.whole);
			CHECK_EQ(outcome.damaged_places, 1);
			CHECK_EQ(outcome.skipped_bytes, chunks[i].size);
			CHECK_EQ(outcome.lost_chunks, 0);
			CHECK_EQ(compared.same, nr_written);
			CHECK_EQ(compared.unnamed, 0);
		}
	}
	forget_file();
}

static void of_two_chunks_in_the_wrong_order_one_is_lost(void)
{
	make_file(2, 20, 6);
	for (size_t i = 0; i + 2 < nr_chunks; i++) {
		struct recording_read outcome;
		const struct raw_chunk *a = &chunks[i], *b = &chunks[i + 1];
		memcpy(changed, file, file_size);
		memcpy(changed + a->at, file + b->at, b->size);
		memcpy(changed + a->at + b->size, file + a->at, a->size);
		read_changed(file_size, &outcome);
		CHECK(outcome.whole);
		CHECK_EQ(outcome.lost_chunks, 1);
		CHECK_EQ(outcome.damaged_places, 1);
		CHECK_EQ(outcome.skipped_bytes, a->size);
	}
	forget_file();
}

/* ---- bytes that are missing, too many, or others ---- */

static void rubbish_between_chunks_is_passed_over(void)
{
	/* Rubbish that looks like the begin of a chunk, too. */
	static const char rubbish[] =
		"rubbish ct\xc8\x1c ct\xc8\x1cSAMP\1\0\0\0\1\0\0\0\0\0\0\0 ct";
	make_file(2, 20, 7);
	for (size_t i = 0; i <= nr_chunks; i++) {
		struct recording_read outcome;
		size_t at = i < nr_chunks ? chunks[i].at : file_size;
		struct compared compared =
			read_changed(with(at, rubbish, sizeof(rubbish)), &outcome);
		CHECK_EQ(outcome.damaged_places, 1);
		CHECK_EQ(outcome.skipped_bytes, sizeof(rubbish));
		CHECK_EQ(outcome.lost_chunks, 0);
		CHECK(outcome.whole);
		CHECK_EQ(compared.same, nr_written);
	}
	forget_file();
}

static void missing_bytes_cost_no_more_than_their_chunks(void)
{
	make_file(4, 20, 8);
	for (size_t at = FILE_HEAD; at + 40 < file_size; at += 7) {
		struct recording_read outcome;
		read_changed(without(at, at + 40), &outcome);
		CHECK(outcome.damaged_places == 1 || is_boundary(at));
		CHECK_EQ(outcome.samples, samples_outside(at, at + 40));
	}
	forget_file();
}

/* What a file system leaves that had told the length but not written the bytes. */
static void zeroed_ranges_cost_no_more_than_their_chunks(void)
{
	static const size_t sizes[] = {1, 40, 512, 4096, SIZE_MAX};
	make_file(4, 60, 18);
	CHECK(file_size > 3 * 4096);
	for (size_t at = FILE_HEAD; at < file_size; at += 101) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct recording_read outcome;
			size_t end = sizes[i] < file_size - at ? at + sizes[i] : file_size;
			memcpy(changed, file, file_size);
			memset(changed + at, 0, end - at);
			if (memcmp(changed, file, file_size) == 0)
				continue;
			read_changed(file_size, &outcome);
			CHECK_EQ(outcome.damaged_places, 1);
			CHECK_EQ(outcome.whole, end <= chunks[nr_chunks - 1].at);
			CHECK_EQ(outcome.samples, samples_outside(at, end));
		}
	}
	forget_file();
}

/* What stood in the same place of the disk before; the first chunk shares its place with the file's head. */
static void pieces_of_another_recording_are_not_taken(void)
{
	size_t other_size = make_other(4, 60, 20);
	make_file(4, 60, 19);
	for (size_t at = chunks[1].at; at < file_size && at < other_size; at += 101) {
		for (size_t size = 512; size <= 16384; size *= 2) {
			struct recording_read outcome;
			size_t end = at + size < other_size ? at + size : other_size;
			if (end > file_size)
				end = file_size;
			memcpy(changed, file, file_size);
			memcpy(changed + at, other + at, end - at);
			read_changed(file_size, &outcome);
			CHECK(outcome.damaged_places >= 1);
			CHECK_EQ(outcome.samples, samples_outside(at, end));
		}
	}
	forget_file();
}

static void what_follows_the_end_is_not_read(void)
{
	struct recording_read outcome;
	size_t other_size = make_other(1, 10, 21);
	make_file(1, 10, 9);
	struct compared compared = read_changed(with(file_size, other, other_size), &outcome);
	CHECK(outcome.whole);
	CHECK_EQ(outcome.damaged_places, 1);
	CHECK_EQ(outcome.skipped_bytes, other_size);
	CHECK_EQ(outcome.lost_chunks, 0);
	CHECK_EQ(compared.same, nr_written);
	forget_file();
}

static void a_recording_behind_one_that_was_cut_is_not_taken_for_its_rest(void)
{
	size_t other_size = make_other(3, 10, 22);
	make_file(2, 10, 23);
	for (size_t cut = FILE_HEAD + CHUNK_HEAD; cut < file_size; cut += 11) {
		struct recording_read outcome;
		if (cut < chunks[1].at)
			continue; /* not one chunk is there to tell whose file it is */
		memcpy(changed, file, cut);
		memcpy(changed + cut, other, other_size);
		read_changed(cut + other_size, &outcome);
		CHECK(!outcome.whole);
		CHECK_EQ(outcome.damaged_places, 1);
		CHECK_EQ(outcome.samples, samples_before(cut));
		CHECK_EQ(outcome.maimed_samples, 0);
	}
	forget_file();
}

/* ---- versions ---- */

static void another_major_version_is_refused(void)
{
	struct recording_read outcome;
	make_file(1, 10, 10);
	for (unsigned major = 0; major < 0x300; major += major < 4 ? 1 : 0x7f) {
		file[8] = (uint8_t)major;
		file[9] = (uint8_t)(major >> 8);
		CHECK_EQ(read_bytes(file, file_size, &sink, &outcome), major == 1 ? 0 : -EINVAL);
		sink_clear(&sink);
	}
	forget_file();
}

static void a_newer_minor_version_is_read(void)
{
	struct recording_read outcome;
	make_file(1, 10, 10);
	memcpy(changed, file, file_size);
	set_word(changed + 8, 1 | 77u << 16);
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
	RUN(a_sound_file_shows_no_damage);
	RUN(a_cut_loses_only_what_is_behind_it);
	RUN(a_flipped_bit_costs_one_chunk);
	RUN(a_lost_chunk_is_counted_and_shows_where_it_is_missing);
	RUN(any_two_lost_chunks_are_survived);
	RUN(a_lost_begin_of_an_epoch_mixes_nothing_up);
	RUN(a_chunk_that_comes_twice_counts_once);
	RUN(of_two_chunks_in_the_wrong_order_one_is_lost);
	RUN(rubbish_between_chunks_is_passed_over);
	RUN(missing_bytes_cost_no_more_than_their_chunks);
	RUN(zeroed_ranges_cost_no_more_than_their_chunks);
	RUN(pieces_of_another_recording_are_not_taken);
	RUN(what_follows_the_end_is_not_read);
	RUN(a_recording_behind_one_that_was_cut_is_not_taken_for_its_rest);
	RUN(another_major_version_is_refused);
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

/* SPDX-License-Identifier: MIT */
/*
 * Recordings that were cut, changed or mixed up. Whatever happened to one: what is
 * whole comes back, what is not says so, and nothing is shown under another's name.
 */
#include "changed.h"

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
	CHECK_EQ(outcome.incomplete_samples, 0);
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
			/* Strings hold the paths of modules, without which frames are not distinguished. */
			CHECK(compared.incomplete > 0);
			nr_dependent++;
		} else {
			CHECK_EQ(compared.incomplete, 0);
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

/* Where the byte before those left out is their last one, too, the same file comes of leaving out those one further ahead. */
static uint64_t samples_without(size_t at, size_t size)
{
	uint64_t most = samples_outside(at, at + size);
	for (; at > FILE_HEAD && file[at - 1] == file[at + size - 1]; at--) {
		const uint64_t samples = samples_outside(at - 1, at + size - 1);
		most = samples > most ? samples : most;
	}
	return most;
}

static void missing_bytes_cost_no_more_than_their_chunks(void)
{
	make_file(4, 20, 8);
	for (size_t at = FILE_HEAD; at + 40 < file_size; at += 7) {
		struct recording_read outcome;
		read_changed(without(at, at + 40), &outcome);
		CHECK(outcome.damaged_places == 1 || is_boundary(at));
		CHECK_EQ(outcome.samples, samples_without(at, 40));
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
		CHECK_EQ(outcome.incomplete_samples, 0);
	}
	forget_file();
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
	return test_done();
}

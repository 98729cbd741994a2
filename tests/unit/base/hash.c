/* SPDX-License-Identifier: MIT */
/*
 * Hashes that attackers cannot compute. The attacks are those on hashes without a key: FNV-1a, which uthash has, and
 * splitmix64's mixer, word by word. What they cost is counted in places walked, never in time.
 */
#include <ctop/base/hash.h>

#include <sys/wait.h>
#include <unistd.h>
#include <uthash.h>

#include <ctop/base/index.h>

#include "test.h"

enum { NR_NAMES = 40000, NAME_SIZE = 16 };

/* ---- the functions themselves ---- */

static void siphash_gives_the_known_answers(void)
{
	/* The key and the inputs of the authors' vectors: 0, 1, 2, ...; the answers for 1-3 rounds are OpenSSL's. */
	static const struct {
		size_t size;
		uint64_t answer; /* the bytes of the tag, first one first */
	} known[] = {
		{0, UINT64_C(0xdcc40f055801acab)},  {1, UINT64_C(0x93ca577df39bf4c9)},
		{2, UINT64_C(0x4dd4c74d029bcb82)},  {3, UINT64_C(0xfbf7dde7b80af88b)},
		{4, UINT64_C(0x2883d388605775cf)},  {5, UINT64_C(0x673b53492fd5f9de)},
		{6, UINT64_C(0xa7229fc5502b0dc5)},  {7, UINT64_C(0x4011b19b987d92d3)},
		{8, UINT64_C(0x8e9a298d11959036)},  {9, UINT64_C(0xe43d066cb38ea425)},
		{15, UINT64_C(0x5699512a6dd820d3)}, {16, UINT64_C(0x668b907d1add4fcc)},
		{17, UINT64_C(0x0cd8db639068f29c)}, {31, UINT64_C(0xbcd1218c1fdd7023)},
		{63, UINT64_C(0xa8b3bbb76290199d)},
	};
	unsigned char bytes[64];
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	struct siphash_key key;
	memcpy(&key, bytes, sizeof(key));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		CHECK(siphash_1_3(&key, bytes, known[i].size) ==
		      __builtin_bswap64(known[i].answer));
	/* CPython's hash(bytes) is the same function; with PYTHONHASHSEED=0 its key is 0. */
	const struct siphash_key zero = {{0}};
	CHECK(siphash_1_3(&zero, "ctop", 4) == UINT64_C(0x11fd9acf96c62756));
	CHECK(siphash_1_3(&zero, "abcdefghijklmno", 15) == UINT64_C(0x1fd27a29b0e9dc7a));
}

static void bytes_hash_by_content_and_length(void)
{
	static const char zeros[32];
	char moved[64];
	for (size_t size = 0; size < sizeof(zeros); size++) {
		for (size_t other = 0; other < size; other++)
			CHECK(hash_bytes(zeros, size) != hash_bytes(zeros, other));
		memcpy(moved + 3, zeros, size); /* unaligned */
		CHECK(hash_bytes(moved + 3, size) == hash_bytes(zeros, size));
	}
	CHECK(hash_bytes("ab", 2) != hash_bytes("ba", 2));
}

static void ids_hash_by_value_and_place(void)
{
	for (uint64_t i = 0; i < 1000; i++) {
		CHECK(hash_u64(i) == hash_u64(i));
		CHECK(hash_u64(i) != hash_u64(i + 1));
		CHECK(hash_u64(i) != hash_u64(i << 32 | UINT64_C(1) << 63));
		CHECK(hash_two(i, i + 1) != hash_two(i + 1, i));
		CHECK(hash_two(i, 7) != hash_two(i + 1, 7));
	}
}

enum { CANNOT_EXECUTE = 127 };

/* What another run of this program makes of the same keys, through fork and exec: fork alone keeps the key. */
static void each_process_has_a_key_of_its_own(void)
{
	int fds[2];
	CHECK_EQ(pipe(fds), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execl("/proc/self/exe", "hash", "tell", (char *)NULL);
		_exit(CANNOT_EXECUTE);
	}
	close(fds[1]);
	uint64_t told[3] = {0};
	ssize_t got = read(fds[0], told, sizeof(told));
	close(fds[0]);
	int status = -1;
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_EXECUTE)
		SKIP("emulated, a program cannot execute itself");
	CHECK_EQ(status, 0);
	CHECK_EQ(got, sizeof(told));
	CHECK(told[0] != hash_u64(1));
	CHECK(told[1] != hash_two(1, 2));
	CHECK(told[2] != hash_bytes("a", 1));
}

static int tell(void)
{
	const uint64_t hashes[] = {hash_u64(1), hash_two(1, 2), hash_bytes("a", 1)};
	return write(STDOUT_FILENO, hashes, sizeof(hashes)) == (ssize_t)sizeof(hashes) ? 0 : 1;
}

/* ---- attacks ---- */

/* Slots that looking each row up walks over, altogether: a row's distance from where its hash would have it. */
static uint64_t slots_walked(const struct index *index)
{
	uint64_t walked = 0;
	for (uint32_t slot = 0; slot <= index->mask; slot++)
		if (index->slots[slot].row_plus_1)
			walked += (slot - index->slots[slot].hash) & index->mask;
	return walked;
}

static void add(struct index *index, uint64_t hash, uint32_t row)
{
	CHECK_EQ(index_reserve(index), 0);
	index_add(index, hash, row);
}

static uint64_t walked_for(uint64_t (*hash)(uint32_t row), uint32_t nr_rows)
{
	struct index index = {0};
	for (uint32_t row = 0; row < nr_rows; row++)
		add(&index, hash(row), row);
	uint64_t walked = slots_walked(&index);
	index_release(&index);
	return walked;
}

/* 65,536 slots hold 40,000 rows: chance has them 0.8 slots off; four times that has never been chance. */
static const uint64_t MOST_WALKED = UINT64_C(4) * NR_NAMES;

static uint64_t splitmix64(uint64_t value)
{
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* The other way round: multiplied by the inverses, shifts undone. */
static uint64_t splitmix64_undone(uint64_t value)
{
	value = (value ^ value >> 31 ^ value >> 62) * UINT64_C(0x319642b2d24d8ec3);
	value = (value ^ value >> 27 ^ value >> 54) * UINT64_C(0x96de1b173f119089);
	return value ^ value >> 30 ^ value >> 60;
}

static uint64_t mixed_words(const void *bytes)
{
	uint64_t words[2];
	memcpy(words, bytes, sizeof(words));
	uint64_t hash = splitmix64(NAME_SIZE + UINT64_C(0x9e3779b97f4a7c15));
	return splitmix64(splitmix64(hash ^ words[0]) ^ words[1]);
}

/* A name of 16 bytes, any first half: the second one makes all of them one hash of the mixer. */
static void mixer_name(uint32_t row, char name[NAME_SIZE])
{
	char first[9];
	snprintf(first, sizeof(first), "f%07u", row);
	uint64_t words[2];
	memcpy(words, first, sizeof(*words));
	uint64_t hash = splitmix64(NAME_SIZE + UINT64_C(0x9e3779b97f4a7c15));
	words[1] = splitmix64(hash ^ words[0]) ^ splitmix64_undone(0);
	memcpy(name, words, sizeof(words));
}

static uint64_t mixed_name(uint32_t row)
{
	char name[NAME_SIZE];
	mixer_name(row, name);
	return mixed_words(name);
}

static uint64_t keyed_name(uint32_t row)
{
	char name[NAME_SIZE];
	mixer_name(row, name);
	return hash_bytes(name, sizeof(name));
}

static uint64_t mixed_id(uint32_t row)
{
	return splitmix64(splitmix64_undone((uint64_t)row << 32));
}

static uint64_t keyed_id(uint32_t row)
{
	return hash_u64(splitmix64_undone((uint64_t)row << 32));
}

/* Pairs that the sum of two products, or the mixer of their difference, would have together. */
static uint64_t keyed_pair(uint32_t row)
{
	return hash_two((uint64_t)row * 31, -(uint64_t)row);
}

static uint64_t row_in_a_row(uint32_t row)
{
	return hash_u64(row);
}

static uint64_t page_in_a_row(uint32_t row)
{
	return hash_u64(UINT64_C(0x7f0000000000) + ((uint64_t)row << 12));
}

static uint64_t high_bits_alone(uint32_t row)
{
	return hash_u64((uint64_t)row << 48 | (uint64_t)row << 32);
}

static void chosen_names_walk_no_further_than_others(void)
{
	CHECK(mixed_name(0) == mixed_name(1)); /* the attack is one */
	CHECK(walked_for(mixed_name, 1000) > 1000 * 1000 / 4);
	CHECK(walked_for(keyed_name, NR_NAMES) < MOST_WALKED);
}

static void chosen_ids_walk_no_further_than_others(void)
{
	CHECK(walked_for(mixed_id, 1000) > 1000 * 1000 / 4);
	CHECK(walked_for(keyed_id, NR_NAMES) < MOST_WALKED);
	CHECK(walked_for(keyed_pair, NR_NAMES) < MOST_WALKED);
}

static void ids_in_a_row_walk_no_further_than_others(void)
{
	CHECK(walked_for(row_in_a_row, NR_NAMES) < MOST_WALKED);
	CHECK(walked_for(page_in_a_row, NR_NAMES) < MOST_WALKED);
	CHECK(walked_for(high_bits_alone, NR_NAMES) < MOST_WALKED);
}

/* ---- uthash ---- */

static unsigned fnv_1a(const char *bytes, size_t size)
{
	unsigned hash = 2166136261u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
	return hash;
}

/*
 * Names whose FNV-1a ends in sixteen zeros. The low bits of a hash depend on those of the one before only, so that three
 * last letters are found for every state of sixteen bits once, and then any beginning gets the letters of its state.
 */
struct letters {
	char last[3];
	bool known;
};

static void find_letters(struct letters *of_state)
{
	static const char from[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	uint32_t undo = 1; /* the inverse of the prime, by Newton's steps */
	for (int i = 0; i < 5; i++)
		undo *= 2 - 16777619u * undo;
	for (const char *a = from; *a; a++)
		for (const char *b = from; *b; b++)
			for (const char *c = from; *c; c++) {
				uint32_t state = 0;
				state = (state * undo) ^ (unsigned char)*c;
				state = (state * undo) ^ (unsigned char)*b;
				state = (state * undo) ^ (unsigned char)*a;
				of_state[state & 0xffff] =
					(struct letters){{*a, *b, *c}, .known = true};
			}
}

struct named {
	char name[NAME_SIZE];
	UT_hash_handle hh;
};

static void chosen_names_share_no_bucket_of_uthash(void)
{
	struct letters *of_state = calloc(65536, sizeof(*of_state));
	struct named *items = calloc(NR_NAMES, sizeof(*items));
	CHECK(of_state && items);
	find_letters(of_state);
	struct named *table = NULL;
	unsigned nr = 0;
	for (unsigned i = 0; nr < NR_NAMES; i++) {
		char *name = items[nr].name;
		int length = snprintf(name, NAME_SIZE - 3, "f%u", i);
		const struct letters *letters = &of_state[fnv_1a(name, (size_t)length) & 0xffff];
		if (!letters->known)
			continue;
		memcpy(name + length, letters->last, sizeof(letters->last));
		CHECK_EQ(fnv_1a(name, (size_t)length + 3) & 0xffff, 0);
		struct named *item = &items[nr++];
		HASH_ADD_STR(table, name, item);
	}
	/* All would be in one; uthash doubles at ten a bucket, and chance puts hardly more than twenty into one. */
	unsigned most = 0;
	for (unsigned i = 0; i < table->hh.tbl->num_buckets; i++)
		if (table->hh.tbl->buckets[i].count > most)
			most = table->hh.tbl->buckets[i].count;
	CHECK_EQ(HASH_COUNT(table), NR_NAMES);
	CHECK(most < 50);
	HASH_CLEAR(hh, table);
	free(items);
	free(of_state);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "tell") == 0)
		return tell();
	RUN(siphash_gives_the_known_answers);
	RUN(bytes_hash_by_content_and_length);
	RUN(ids_hash_by_value_and_place);
	RUN(each_process_has_a_key_of_its_own);
	RUN(chosen_names_walk_no_further_than_others);
	RUN(chosen_ids_walk_no_further_than_others);
	RUN(ids_in_a_row_walk_no_further_than_others);
	RUN(chosen_names_share_no_bucket_of_uthash);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include <ctop/base/hash.h>

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

__extension__ typedef unsigned __int128 wide;

static struct {
	struct siphash_key bytes;
	wide multipliers[2];
	wide sum;
} keys;

/* ---- SipHash ---- */

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static inline void sip_round(struct state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32) + s->v3;
	s->v2 += s->v1;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static inline void absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

/* Little-endian, as the specification has it and both our machines are. */
static inline uint64_t word_at(const unsigned char *at, size_t size)
{
	uint64_t word = 0;
	memcpy(&word, at, size);
	return word;
}

uint64_t siphash_1_3(const struct siphash_key *key, const void *bytes, size_t size)
{
	struct state s = {
		key->words[0] ^ UINT64_C(0x736f6d6570736575),
		key->words[1] ^ UINT64_C(0x646f72616e646f6d),
		key->words[0] ^ UINT64_C(0x6c7967656e657261),
		key->words[1] ^ UINT64_C(0x7465646279746573),
	};
	const unsigned char *at = bytes;
	size_t left = size;
	for (; left >= 8; left -= 8, at += 8)
		absorb(&s, word_at(at, 8));
	absorb(&s, (uint64_t)size << 56 | (left ? word_at(at, left) : 0));
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* ---- under our key ---- */

/* Also in a sandbox whose filter knows no getrandom(): the kernel gave each program 16 random bytes at its start. */
__attribute__((constructor)) static void draw_keys(void)
{
	if (getrandom(&keys, sizeof(keys), GRND_NONBLOCK) == (ssize_t)sizeof(keys))
		return;
	struct siphash_key seed = {{0}};
	const void *given =
		(const void *)getauxval(AT_RANDOM); /* NOLINT(performance-no-int-to-ptr) */
	if (given)
		memcpy(&seed, given, sizeof(seed));
	uint64_t words[sizeof(keys) / sizeof(uint64_t)];
	for (uint64_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = siphash_1_3(&seed, &i, sizeof(i));
	memcpy(&keys, words, sizeof(keys));
}

/*
 * The upper half of the sum is the universal hash. What follows maps its values one to one: the universality stays,
 * and ids in a row do not lie in a row any more, which linear probing wants.
 */
static inline uint64_t spread(wide sum)
{
	uint64_t hash = (uint64_t)(sum >> 64);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

uint64_t hash_u64(uint64_t value)
{
	return spread(value * keys.multipliers[0] + keys.sum);
}

uint64_t hash_two(uint64_t a, uint64_t b)
{
	return spread(a * keys.multipliers[0] + b * keys.multipliers[1] + keys.sum);
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	return siphash_1_3(&keys.bytes, bytes, size);
}

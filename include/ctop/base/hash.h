/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_HASH_H
#define CTOP_BASE_HASH_H

/*
 * Hashes under a key that nobody outside this process knows. Names, ids and
 * addresses are untrusted: with a hash that can be computed, 40,000
 * of them fill one slot of a table, and each look-up walks all of them.
 *
 * The key is drawn by getrandom() before main() runs, hence also before a child's
 * filter. It is the one object with static storage that changes, once: a key that
 * travelled through every caller would be forgotten by one of them.
 *
 * A hash is of this process and this run: none is written to a file or sent to
 * another process, and no order that a user sees depends on one.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * For one or two ids of fixed size: a multilinear hash with 128-bit multipliers
 * (Dietzfelbinger 1996; Lemire, Kaser 2014). Whatever the ids, any two different
 * ones meet in one of n slots with probability 1/n over the keys, so that nobody
 * who doesn't know the key makes probes longer than chance does.
 */
uint64_t hash_u64(uint64_t value);
uint64_t hash_two(uint64_t a, uint64_t b);

/* For bytes, by content and size: SipHash-1-3. */
uint64_t hash_bytes(const void *bytes, size_t size);

/* SipHash-1-3 under a given key (Aumasson, Bernstein 2012). */
struct siphash_key {
	uint64_t words[2];
};
uint64_t siphash_1_3(const struct siphash_key *key, const void *bytes, size_t size);

/*
 * uthash's tables: the Makefile names this as HASH_FUNCTION, so that whoever
 * includes <uthash.h> without this header fails to link.
 */
#define HASH_KEYED(key, size, hash) ((hash) = (unsigned)hash_bytes((key), (size)))

#endif

/* SPDX-License-Identifier: MIT */
#include <ctop/time/wait_chains.h>

#include <ctop/base/hash.h>

/* 0: it has none. */
static uint64_t hash_of(const struct record_sample *sample)
{
	return sample->nr_chain
		       ? hash_bytes(sample->chain, sample->nr_chain * sizeof(*sample->chain))
		       : 0;
}

bool wait_chains_find(const struct wait_chains *chains, const struct record_sample *sample,
		      enum wait_kind *kind)
{
	const uint64_t hash = hash_of(sample);
	const struct wait_chain *chain = &chains->items[hash % WAIT_CHAINS];
	*kind = chain->kind;
	return hash && chain->hash == hash;
}

void wait_chains_learn(struct wait_chains *chains, const struct record_sample *sample,
		       enum wait_kind kind)
{
	const uint64_t hash = hash_of(sample);
	chains->items[hash % WAIT_CHAINS] = (struct wait_chain){hash, kind};
}

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

static size_t place_of(int32_t pid, uint64_t pc)
{
	return hash_two(pc, (uint64_t)(uint32_t)pid) % WAIT_PLACES;
}

bool wait_chains_find_place(const struct wait_chains *chains, int32_t pid, uint64_t pc,
			    enum wait_kind *kind)
{
	const struct wait_place_kind *place = &chains->places[place_of(pid, pc)];
	*kind = place->kind;
	return pid && place->pid == pid && place->pc == pc && !place->is_several;
}

void wait_chains_learn_place(struct wait_chains *chains, int32_t pid, uint64_t pc,
			     enum wait_kind kind)
{
	struct wait_place_kind *place = &chains->places[place_of(pid, pc)];
	if (place->pid != pid || place->pc != pc)
		*place = (struct wait_place_kind){pid, pc, kind, false};
	else if (place->kind != kind)
		place->is_several = true;
}

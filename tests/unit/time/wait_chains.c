/* SPDX-License-Identifier: MIT */
/* What threads wait for, by the kernel's callchain. */
#include <ctop/time/wait_chains.h>

#include <stdlib.h>

#include "test.h"

static uint64_t addresses[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff82000000, 7};

/* The first so many of them. */
static struct record_sample chain(uint64_t nr)
{
	return (struct record_sample){.chain = nr ? addresses : NULL, .nr_chain = nr};
}

static void each_by_its_chain(void)
{
	static struct wait_chains chains;
	struct record_sample none = chain(0), first = chain(2), second = chain(3);
	enum wait_kind kind;
	CHECK(!wait_chains_find(&chains, &none, &kind));
	CHECK(!wait_chains_find(&chains, &first, &kind));
	wait_chains_learn(&chains, &first, WAIT_LOCK);
	CHECK(!wait_chains_find(&chains, &second, &kind));
	CHECK(!wait_chains_find(&chains, &none, &kind));
	CHECK(wait_chains_find(&chains, &first, &kind));
	CHECK_EQ(kind, WAIT_LOCK);
	wait_chains_learn(&chains, &none, WAIT_LOCK);
	CHECK(!wait_chains_find(&chains, &none, &kind));
}

/* More than there is room for: each is itself, or forgotten. */
static void many(void)
{
	struct wait_chains *chains = calloc(1, sizeof(*chains));
	struct record_sample sample = chain(4);
	enum wait_kind kind;
	unsigned nr_known = 0;
	for (uint64_t i = 0; i < 10 * WAIT_CHAINS; i++) {
		addresses[3] = i;
		wait_chains_learn(chains, &sample, (enum wait_kind)(i % NR_WAIT_KINDS));
	}
	for (uint64_t i = 0; i < 10 * WAIT_CHAINS; i++) {
		addresses[3] = i;
		if (!wait_chains_find(chains, &sample, &kind))
			continue;
		nr_known++;
		CHECK_EQ(kind, i % NR_WAIT_KINDS);
	}
	CHECK(nr_known > WAIT_CHAINS / 2 && nr_known <= WAIT_CHAINS);
	free(chains);
}

/* What looks saw there, as long as they agree. */
static void each_by_its_place(void)
{
	struct wait_chains *chains = calloc(1, sizeof(*chains));
	enum wait_kind kind;
	CHECK(!wait_chains_find_place(chains, 7, 0x1000, &kind));
	CHECK(!wait_chains_find_place(chains, 0, 0, &kind));
	wait_chains_learn_place(chains, 7, 0x1000, WAIT_SLEEP);
	wait_chains_learn_place(chains, 7, 0x1000, WAIT_SLEEP);
	CHECK(wait_chains_find_place(chains, 7, 0x1000, &kind));
	CHECK_EQ(kind, WAIT_SLEEP);
	CHECK(!wait_chains_find_place(chains, 8, 0x1000, &kind));
	CHECK(!wait_chains_find_place(chains, 7, 0x1002, &kind));
	wait_chains_learn_place(chains, 7, 0x1000, WAIT_POLL);
	CHECK(!wait_chains_find_place(chains, 7, 0x1000, &kind));
	wait_chains_learn_place(chains, 7, 0x1000, WAIT_POLL);
	CHECK(!wait_chains_find_place(chains, 7, 0x1000, &kind));
	free(chains);
}

int main(void)
{
	RUN(each_by_its_place);
	RUN(each_by_its_chain);
	RUN(many);
	return test_done();
}

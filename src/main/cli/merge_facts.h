/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CLI_MERGE_FACTS_H
#define CTOP_CLI_MERGE_FACTS_H

/* The facts of a recording that was merged: what its sources have in common, and what adds up. */

#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>

enum { MERGE_SHARED_FACTS = 19, MERGE_SUMMED_FACTS = 17 };

/* All zero: of no source. */
struct merge_facts {
	char *shared[MERGE_SHARED_FACTS]; /* by key: the sources' value; NULL: they differ */
	uint64_t summed[MERGE_SUMMED_FACTS];
	bool lacks[MERGE_SUMMED_FACTS]; /* some source does not know it */
	size_t nr;
	uint64_t nr_samples;
	uint64_t start_ns, end_ns; /* of all, by the wall's clock; 0: not of all sources known */
	bool lacks_times;
	uint64_t duration_ns; /* summed */
};

/* A source that was read to its end. 0 or -ENOMEM. */
int merge_facts_add(struct merge_facts *facts, const struct history *history, uint64_t nr_samples);
int merge_facts_write(const struct merge_facts *facts, const struct metadata_sink *sink);
void merge_facts_release(struct merge_facts *facts);

#endif

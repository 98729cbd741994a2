/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_SESSION_SETUP_H
#define CTOP_SESSION_SESSION_SETUP_H

/* What a session tells the sampler and its children: at the start in the order that protocol.h asks for. */

#include <stdint.h>
#include <sys/types.h>

#include <ctop/files/source.h>
#include <ctop/options/options.h>
#include <ctop/perf/sampler.h>
#include <ctop/session/region.h>
#include <ctop/session/target.h>
#include <ctop/session/worker.h>

enum { DEFAULT_FREQUENCY_HZ = 999 };

/* Fills the sampler's options from the user's; lists stay borrowed from both. waits: threads' waiting is wanted, too. */
void setup_sampling(struct sampler_options *sampling, const struct options *options, bool waits,
		    const struct target *target);
/* Everything up to START. skip_cpu is -1 unless a predecessor died on a record. 0 or -errno. */
int setup_collector(struct worker *worker, const struct sampler *sampler,
		    const struct sampler_options *sampling, const struct target *target,
		    const struct message_own *own, const struct region *region, int waits_fd,
		    bool without_tables, int32_t skip_cpu, uint64_t skip_position);
/* Which processes are ctop's own: again whenever there is another one. */
int setup_own(struct worker *worker, const struct message_own *own);
/* Attaches threads that slipped through (sampler_attach_late()), and tells of them. 0 or -errno. */
int setup_late_threads(struct worker *worker, struct sampler *sampler);
/* The same for a part of a perf.data file. */
int setup_file_collector(struct worker *worker, const struct source *source,
			 const struct region *region, bool without_tables,
			 const struct message_part *part);
int setup_reader(struct worker *worker, int source_fd);
int setup_set(struct worker *worker, const struct message_set *set);
int setup_pause(struct worker *worker);
int setup_stop(struct worker *worker);
/* Symbolizer: lines are wanted, too. */
int setup_lines(struct worker *worker);
/* And the code of hot functions is to be kept. */
int setup_keep_code(struct worker *worker);

#endif

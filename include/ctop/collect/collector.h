/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_COLLECTOR_H
#define CTOP_COLLECT_COLLECTOR_H

/*
 * The collector: drains and merges the kernel's rings, follows address spaces,
 * unwinds each sample where it lies, and appends to the tables. A jailed child; plain
 * functions on descriptors, so that tests run it in-process.
 */

struct channel;

/*
 * Serves the channel until main closes it or says STOP. Takes the channel over.
 * Returns 0, or -errno when it could not go on (main has been told why, if it still listens).
 */
int collector_run(struct channel *channel);

#endif

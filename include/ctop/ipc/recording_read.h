/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_RECORDING_READ_H
#define CTOP_IPC_RECORDING_READ_H

/*
 * What was read of a recording, and what was not: of a sound one only chunks, samples and whole. Who reads counts,
 * and the channel between reader and main carries it as it is.
 */

#include <stdint.h>

struct recording_read {
	uint64_t chunks;
	uint64_t samples;
	uint64_t lost_samples; /* that are known to have been written, and were not found */
	uint64_t
		incomplete_samples; /* read, but they refer to what was lost, which shows as [lost] */
	uint64_t lost_chunks;	    /* damaged, missing, or their contents made no sense */
	uint64_t damaged_places;
	uint64_t skipped_bytes;
	uint32_t whole; /* 1: the end chunk was there; else 0 */
};

#endif

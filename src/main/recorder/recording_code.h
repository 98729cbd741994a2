/* SPDX-License-Identifier: MIT */
#ifndef CTOP_RECORDER_RECORDING_CODE_H
#define CTOP_RECORDER_RECORDING_CODE_H

/*
 * The code of functions, on its way into a recording: each function of a module once, however many epochs have it, and no more than
 * KEPT_CODE_MAX bytes in all. What has a name is of that function alone, and is written again where it was other code then: who reads
 * it is to know. Pieces are what a child says; what makes no sense is left out.
 */

#include <ctop/base/index.h>
#include <ctop/recording/varint.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

/* All zero: nothing is written yet. */
struct recording_code {
	uint32_t nr_taken; /* of the epoch's pieces */
	uint32_t bytes;	   /* of all that were written */
	struct {
		struct written_code *items;
		size_t nr, capacity;
	} written;
	struct index index;
};

void recording_code_release(struct recording_code *code);
void recording_code_begin_epoch(struct recording_code *code);
/* Adds rows of what is new, of what has a name to made; times are so much later. The modules that reader has are in the file. 0 or -ENOMEM. */
int recording_code_put(struct recording_code *code, const struct tables_reader *reader,
		       const struct symbols *symbols, uint64_t shift_ns, struct buffer *rows,
		       struct buffer *made);

#endif

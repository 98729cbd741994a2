/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_ANNOTATION_H
#define CTOP_ANNOTATE_ANNOTATION_H

/*
 * A function's instructions with the samples that fell on each. Every sample of the function's code is counted once: at the instruction
 * that has its address, or, where none that is listed has it, apart from all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/files/listing.h>
#include <ctop/query/selection.h>

struct annotated {
	uint64_t samples, weight;
	struct function_id inlined; /* that was put in there; index 0: none, or not known */
	uint32_t nr_jumps;	    /* from within the function that lead here */
};

struct annotation {
	const struct listing *listing;		  /* borrowed */
	struct annotated *rows;			  /* as many as the listing has */
	uint64_t samples, weight;		  /* of all that begins at the function's start */
	uint64_t outside_samples, outside_weight; /* of these: at no instruction listed */
};

/* code: from its first row at `start` of `module` on. 0 or -ENOMEM; release in any case. */
int annotation_make(struct annotation *annotation, const struct listing *listing,
		    const struct selection_code *code, uint32_t module, uint64_t start);
void annotation_release(struct annotation *annotation);
/* The listed instruction that has an elf address; UINT32_MAX: none has. */
uint32_t listing_row_at(const struct listing *listing, uint64_t elf_address);

enum heat { HEAT_NONE, HEAT_SOME, HEAT_HOT };
/* How much of the function's weight a row has: a tenth is hot, a hundredth some. */
enum heat annotation_heat(const struct annotation *annotation, uint32_t row);

/* The start of a function of which most samples are: its first row. NULL: there is none. */
const struct selection_address *selection_code_hottest(const struct selection_code *code);

#endif

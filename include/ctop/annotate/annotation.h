/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_ANNOTATION_H
#define CTOP_ANNOTATE_ANNOTATION_H

/*
 * A function's instructions with the samples that fell on each, and the source lines that they come from with those of all of their
 * instructions. Every sample of the function's code is counted once: at the instruction that has its address, or, where none that is
 * listed has it, apart from all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/files/listing.h>
#include <ctop/query/event_columns.h>
#include <ctop/query/selection.h>

struct annotated {
	uint64_t samples, weight;
	uint32_t
		site; /* where the listing knows of no call there: for history_inlined_at(); 0: nor does the profile */
	struct function_id
		inlined; /* what was put in there, of those that have samples; index 0: none of these */
	uint32_t nr_jumps; /* from within the function that lead here */
	uint32_t line;	   /* 1 + row of lines; 0: not known */
};

/* Instructions of one line may stand in several places: blocks. */
struct annotated_line {
	uint32_t at; /* instruction: the first of the block that has most of it */
	uint32_t nr_blocks;
	uint64_t samples, weight;
};

struct annotation {
	const struct listing *listing;		  /* borrowed */
	struct annotated *rows;			  /* as many as the listing has */
	uint64_t samples, weight;		  /* of all that begins at the function's start */
	uint64_t outside_samples, outside_weight; /* of these: at no instruction listed */
	struct annotated_line *lines;		  /* in the order of their first instructions */
	uint32_t nr_lines;
	struct function_id *
		named; /* by row of the listing's names: the function that is called so; index 0: it has no samples */
	struct event_columns
		events; /* its rows: instructions, then lines. A whole: of the function */
};

/*
 * Where no debug information is at hand, as for code that a recording has kept: lines of instructions that were in stacks, and names of functions
 * that are called and were in some, as the profile has them. What lies between two instructions of a line, and is short, is taken for the line's,
 * too. `function` begins at `start` of `module`. Does nothing to a listing that has lines. 0 or -ENOMEM.
 */
int listing_take_from_profile(struct listing *listing, struct history *history, uint32_t module,
			      uint64_t start, struct function_id function);
/* When sampling began, by CLOCK_REALTIME: sources that were written later may be others. INT64_MAX: not known. */
int64_t profile_began_ns(const struct history *history);
/* code: from its first row at `start` of `module` on. 0 or -ENOMEM; release in any case. */
int annotation_make(struct annotation *annotation, const struct listing *listing,
		    const struct history *history, const struct selection_code *code,
		    uint32_t module, uint64_t start);
/* The columns of all events, where there are several; `function` as for selection_code(). 0 or -ENOMEM. */
int annotation_add_events(struct annotation *annotation, struct selection *selection,
			  const struct history *history, struct function_id function,
			  uint32_t module, uint64_t start);
void annotation_release(struct annotation *annotation);
/* Whether the instruction is the first of a block of a line that is known. */
bool listing_begins_block(const struct listing *listing, uint32_t row);
/* The line whose numbers are to stand in front of an instruction, each in one place: NULL there is none with samples. */
const struct annotated_line *annotation_line_at(const struct annotation *annotation, uint32_t row);
/* The listed instruction that has an elf address; UINT32_MAX: none has. */
uint32_t listing_row_at(const struct listing *listing, uint64_t elf_address);

/*
 * What was inlined at an instruction, the outermost first, and where: as the module's debug information has it, which knows that of each, else
 * what the profile knows of those that have samples. Strings are borrowed. Returns how many; 0: nothing was, or it is not known.
 */
struct annotated_call {
	const char *function; /* that is called */
	const char *file;     /* of the call: without directories, or with. line 0: not known */
	uint32_t line;
};
size_t annotation_chain(const struct annotation *annotation, const struct history *history,
			uint32_t row, struct annotated_call calls[HISTORY_INLINED_MAX]);
bool annotation_is_inlined(const struct annotation *annotation, uint32_t row);
/* Whether at two instructions the same was inlined by the same calls. */
bool annotation_is_inlined_alike(const struct annotation *annotation, const struct history *history,
				 uint32_t a, uint32_t b);
/* The name of the innermost. Borrowed; NULL: there is none. */
const char *annotation_inlined_name(const struct annotation *annotation,
				    const struct history *history, uint32_t row);
/*
 * "mix work.c:15 > shuffle work.c:8": how the innermost function came to an instruction, and where each was put in; nothing where none
 * is known. Of more than so many functions those in the middle are left out.
 */
void annotation_add_chain(const struct annotation *annotation, const struct history *history,
			  uint32_t row, size_t most, struct text *out);

enum heat { HEAT_NONE, HEAT_SOME, HEAT_HOT };
/* How much of the function's weight a row has: a tenth is hot, a hundredth some. */
enum heat annotation_heat(const struct annotation *annotation, uint32_t row);

/* The start of a function of which most samples are: its first row. NULL: there is none. */
const struct selection_address *selection_code_hottest(const struct selection_code *code);

#endif

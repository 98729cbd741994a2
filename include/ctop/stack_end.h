/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STACK_END_H
#define CTOP_STACK_END_H

/*
 * How a stack ended, and how each frame of it was found: closed lists, the same
 * words in every view, file and statistic. Numbers are part of the recording's
 * format: never renumber, only add before the NR_. Names are in src/shared/base/stack_end.c.
 */

#include <stdint.h>

enum stack_end {
	STACK_COMPLETE,	 /* reached the outermost frame, by one of the proofs in unwind.h */
	STACK_JOINED,	 /* completed with the tail of another stack of the same thread */
	STACK_SWITCHED,	 /* ends at a stack switch whose other side is not in the dump */
	STACK_TRUNCATED, /* the dump or the depth limit ended it */
	STACK_BROKEN,	 /* CFI or memory made no sense, or there was no table; see the reason */
	STACK_KERNEL_ONLY, /* no user part: kernel thread, in the middle of execve, or user registers were not there */
	NR_STACK_ENDS
};

/* The reason beside a stack that is not complete; STACK_REASON_NONE otherwise. */
enum stack_reason {
	STACK_REASON_NONE,
	STACK_REASON_DUMP_END,	    /* the next value lay beyond the dumped bytes */
	STACK_REASON_DEPTH_LIMIT,   /* more than UNWIND_MAX_FRAMES */
	STACK_REASON_NO_TABLE,	    /* the module's tables are not available */
	STACK_REASON_NO_MAPPING,    /* the pc is in no executable mapping */
	STACK_REASON_NO_RULE,	    /* no CFI covers the pc, and no fallback applied */
	STACK_REASON_BAD_CFI,	    /* malformed rule or expression */
	STACK_REASON_NOT_ADVANCING, /* the CFA did not move up */
	STACK_REASON_BAD_ADDRESS,   /* a value pointed outside the dump and read-only data */
	STACK_REASON_ABI32,	    /* a 32-bit task: refused, not guessed */
	STACK_REASON_UNREADABLE,    /* a child died on the module's file: it is not read again */
	STACK_REASON_NO_REGISTER, /* the rule needs one that is not known, as of threads that wait */
	NR_STACK_REASONS
};

/* How a frame was found from the one it called. */
enum frame_method {
	FRAME_LEAF,	  /* the sampled instruction itself */
	FRAME_CFI,	  /* register or memory rule from CFI */
	FRAME_EXPRESSION, /* CFI with a DWARF expression */
	FRAME_PLT,	  /* the expression of PLT stubs */
	FRAME_SIGNAL,	  /* interrupted by a signal: registers came from the signal frame */
	FRAME_RETURN,	  /* leaf without CFI: return address at the stack pointer */
	FRAME_FP,	  /* frame pointer */
	FRAME_JOINED,
	FRAME_KERNEL, /* the kernel's own callchain */
	FRAME_CODE, /* rule read from the function's instructions, where no table has one; a call to it proves it */
	FRAME_LIKELY, /* the same, but the call may have led elsewhere */
	FRAME_SWITCHED, /* none: what is not known of where a goroutine has left its stack; its callers are known */
	FRAME_CREATED, /* none: whoever created the task that it is the root of, and [go] between the two */
	NR_FRAME_METHODS
};

/* "complete", "no_table", "cfi", ...: static strings; "unknown" when out of range. */
const char *stack_end_name(uint32_t end);
const char *stack_reason_name(uint32_t reason);
const char *frame_method_name(uint32_t method);

#endif

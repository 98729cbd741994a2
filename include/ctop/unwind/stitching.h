/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_STITCHING_H
#define CTOP_UNWIND_STITCHING_H

/*
 * Tails for stacks that the dump cut: a thread's complete stacks are remembered, frame by frame, and a cut one whose
 * outermost frame is one of these gets what lay below it then. That its address and stack pointer are the same proves
 * little (a function called in turn by two others); so are the registers that its callees must give back to it,
 * which hold what this very call of it works on. Where two tails fit, none is taken.
 *
 * Nothing is remembered of threads that have no cut stacks. Of the others the last few stacks are only copied until one
 * is cut. Memory is bounded, 40 MiB for all, a sixteenth of it for each share of the threads; what is full starts again. What is
 * forgotten of a share's threads depends on no other's. Frames carry the caller's module pointers: stitching_forget_all() before
 * these become invalid.
 */

#include <stdint.h>

#include <ctop/unwind/unwind.h>

enum { STITCHING_SHARES = 16 };
/* Which of them a thread is in. */
uint32_t stitching_share(int32_t tid);

struct stitching;
struct stitching *stitching_new(void); /* NULL: out of memory */
void stitching_free(struct stitching *stitching);

/* Whether the thread had cut stacks: then every stack of it wants unwind_input.evidence. */
bool stitching_watch(const struct stitching *stitching, int32_t tid);
/* The thread begins, ends, or executes another program. */
void stitching_forget(struct stitching *stitching, int32_t tid);
void stitching_forget_all(struct stitching *stitching);

/*
 * A stack of the thread, in an address space of that generation (another one than the last: all is forgotten).
 * A cut one is completed where it can be: its frames (room for UNWIND_MAX_FRAMES) and result are changed. 0 or -ENOMEM.
 */
int stitching_take(struct stitching *stitching, int32_t tid, uint64_t generation,
		   struct unwind_frame *frames, const struct unwind_evidence *evidence,
		   struct unwind_result *result);

#endif

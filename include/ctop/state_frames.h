/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STATE_FRAMES_H
#define CTOP_STATE_FRAMES_H

/* Where the frame that says what a thread waits for stands in its stack: a closed list, as --state-frames has it. */

enum state_frames { STATE_FRAMES_LEAF, STATE_FRAMES_ROOT, STATE_FRAMES_NONE, NR_STATE_FRAMES };

#define STATE_FRAMES_WORDS "leaf root none"

#endif

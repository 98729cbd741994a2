/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_FRAMES_H
#define CTOP_FORMAT_FRAMES_H

/*
 * What the unwinder did, for those who have to find out why a stack is as it is: format/script.h's text, with how the
 * stack ended behind the event, and how each frame was found behind its address
 *
 *     comm   pid/tid   [cpu] seconds.micros:     period event: truncated (dump_end)
 *     	         address method     symbol+0xoffset (module+0xaddress)
 *     	         ...
 *
 * in the words of stack_end.h. Both addresses are those of the ELF file: the first as it stood in a register or on
 * the stack, the one behind the module as it was looked up: of a caller that is 1 less. Code without a file
 * has addresses of its process.
 */

#include <ctop/format/script.h>

/* Writes samples as script_write() does. */
int frames_write(struct history *history, struct selection *selection,
		 const struct script_sink *sink);

#endif

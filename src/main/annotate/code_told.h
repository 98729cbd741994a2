/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_CODE_TOLD_H
#define CTOP_ANNOTATE_CODE_TOLD_H

/* Where code comes from that is none of a file's, in words. */

#include <stddef.h>

#include <ctop/annotate/code_finder.h>

/* What the recording has kept, used as the file cannot be: error, as of code_explain(). */
void code_tell_kept(const struct code_request *request, int error, char *out, size_t out_bytes);
/* A process's memory, at that time; 0: its dump. */
void code_tell_made(const struct code_request *request, uint64_t read_ns, char *out,
		    size_t out_bytes);

#endif

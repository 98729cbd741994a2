/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_FOLDED_NAME_H
#define CTOP_FORMAT_FOLDED_NAME_H

/* A function's name as a frame of a folded stack: without arguments, ';' and control bytes. */

#include <stdbool.h>

#include <ctop/base/text.h>

/* named: it is a symbol's; else it is taken as it is, but for what may not stand in a frame. */
void folded_add_name(struct text *text, const char *name, bool named);
/* So many bytes of a name as they are: ';' parts frames and a line end ends the stack, so neither may stand in it. */
void folded_add_place(struct text *text, const char *name, size_t size);

#endif

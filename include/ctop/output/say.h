/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OUTPUT_SAY_H
#define CTOP_OUTPUT_SAY_H

/*
 * What ctop says on standard error, and what it shows on a terminal. A terminal that does not speak UTF-8 takes the bytes
 * 0x80-0x9f for C1 controls, 0x9b begins a sequence as ESC [ does, and well-formed characters have such bytes: there,
 * all that is not ASCII becomes '?', as in the interface. Files and pipes get the text as it is.
 */

#include <stdbool.h>

#include <ctop/base/text.h>

/* "ctop: ", one line of which no byte is trusted, and its end. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Text that is safe already, lines and all. */
void say_text(const struct text *text);

/* A terminal whose user's locale is not UTF-8. */
bool is_eight_bit_terminal(int fd);

#endif

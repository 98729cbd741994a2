/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TERMINAL_KEYS_H
#define CTOP_TERMINAL_KEYS_H

#include <stdbool.h>
#include <wchar.h>

/* Curses' key, or a character, as enum key or a character; 0: one that means nothing here. */
int terminal_key_code(bool is_function_key, wint_t code);

#endif

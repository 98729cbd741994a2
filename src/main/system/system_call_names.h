/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_SYSTEM_CALL_NAMES_H
#define CTOP_SYSTEM_SYSTEM_CALL_NAMES_H

/* Names of this machine's system calls by number, as the kernel's headers have them: made by the build. NULL: there is none. */

#include <stddef.h>

extern const char *const system_call_names[];
extern const size_t nr_system_call_names;

#endif

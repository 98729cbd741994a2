/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DIAGNOSE_IDLE_H
#define CTOP_DIAGNOSE_IDLE_H

#include <stdint.h>

#include <ctop/base/text.h>

/*
 * Adds what the threads of a process are doing while no samples come: "No samples: 4 threads sleep (3 in
 * futex_do_wait)". Nothing when the process cannot be read.
 */
void idle_describe(int32_t pid, struct text *out);

#endif

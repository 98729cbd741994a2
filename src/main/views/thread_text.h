/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_THREAD_TEXT_H
#define CTOP_VIEWS_THREAD_TEXT_H

/* What a thread does, in a word or two. */

#include <ctop/base/text.h>
#include <ctop/screen/host.h>

/*
 * "runs", "futex 12.3s", "blocked: fsync ~3m" (about), in so many columns: where it waits is cut before since when. Safe text.
 */
void thread_text_add(const struct ui_thread_now *now, size_t cols, struct text *out);
/* The same as a sentence's part: "sleeps for about 12 minutes in futex, futex_do_wait in the kernel". */
void thread_text_explain(const struct ui_thread_now *now, struct text *out);
/* "cpu 3.1%, run-queue 0.2%, waiting 96.7%" */
void thread_text_add_times(const struct ui_times *times, struct text *out);

#endif

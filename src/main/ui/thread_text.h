/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_THREAD_TEXT_H
#define CTOP_UI_THREAD_TEXT_H

/* What a thread does, in a word or two. */

#include <ctop/base/text.h>
#include <ctop/ui/ui.h>

/* "runs", "futex ~12m", "blocked: fsync ~3s". Safe text. */
void thread_text_add(const struct ui_thread_now *now, struct text *out);
/* The same as a sentence's part: "sleeps for about 12 minutes in futex, futex_do_wait in the kernel". */
void thread_text_explain(const struct ui_thread_now *now, struct text *out);

#endif

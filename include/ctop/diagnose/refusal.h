/* SPDX-License-Identifier: MIT */
#ifndef CTOP_DIAGNOSE_REFUSAL_H
#define CTOP_DIAGNOSE_REFUSAL_H

/* What to do when the kernel lets this user not sample: the numbered fixes of struct refusal. */

#include <ctop/base/error.h>
#include <ctop/options/options.h>
#include <ctop/output/refusal_text.h>

/* error: a session that could not be opened, whose error.refusal is set. */
void refusal_describe(const struct options *options, const struct error *error,
		      struct refusal *refusal);

/* A word as a shell takes it for itself: quoted only where it has to be. False: it does not fit, *quoted is as before. */
bool refusal_add_word(char *quoted, size_t size, const char *word);

#endif

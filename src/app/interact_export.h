/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_INTERACT_EXPORT_H
#define CTOP_APP_INTERACT_EXPORT_H

#include <ctop/base/text.h>
#include <ctop/profile/history.h>
#include <ctop/profile/slice.h>

/* A name in the working directory that no file has yet: "ctop.folded", or with a number. */
void interact_suggest_name(char *name, size_t size);
/*
 * Writes what the slice shows as folded stacks into a new file; never over one that is there. Adds a line on what
 * became of it, safe to show.
 */
void interact_export(struct history *history, struct slice *slice, const char *path,
		     struct text *message);

#endif

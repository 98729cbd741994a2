/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_INTERACT_EXPORT_H
#define CTOP_APP_INTERACT_EXPORT_H

#include <ctop/base/text.h>
#include <ctop/profile/history.h>

/*
 * Writes the profile since its start as folded stacks into a new file of the working directory, "ctop.folded" or with a
 * number. Adds a line on what became of it, safe to show.
 */
void interact_export(struct history *history, struct text *message);

#endif

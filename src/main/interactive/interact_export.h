/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_INTERACT_EXPORT_H
#define CTOP_INTERACTIVE_INTERACT_EXPORT_H

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>
#include <ctop/query/selection.h>

/*
 * A name in the working directory that no file has yet: "ctop.folded", or with a number. Where *name holds one already,
 * the next one has the ending of the next format (format/formats.h).
 */
void interact_suggest_name(char *name, size_t size);
/*
 * Writes what the selection shows into a new file, never over one that is there: in the format that its name ends in, else the
 * first one. options: the profile's; excerpt: what of it it is. Adds a line on what became of it, safe to show.
 */
void interact_export(struct history *history, struct selection *selection,
		     const struct options *options, const char *excerpt, const char *path,
		     struct text *message);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_MODULES_H
#define CTOP_REPORT_REPORT_MODULES_H

#include <ctop/base/text.h>
#include <ctop/options/options.h>
#include <ctop/query/selection.h>

/*
 * Adds a row for each module: its shares, where its names come from, its build-id and path, and below it, where names are missing, why,
 * and the command that would help. 0 or -ENOMEM.
 */
int report_modules_add(struct history *history, const struct selection *selection,
		       const struct options *options, uint64_t whole, struct text *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_CHROME_STATES_H
#define CTOP_FORMAT_CHROME_STATES_H

#include <ctop/base/text.h>
#include <ctop/format/formats.h>

/*
 * Adds a row of events for each thread that the history's timeline has records of: what it did most, from tile to tile, and what happened to it. Nothing of a
 * history that keeps none. 0 or -errno.
 */
int chrome_add_states(const struct export_request *request, struct text *out);

#endif

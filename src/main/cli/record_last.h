/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CLI_RECORD_LAST_H
#define CTOP_CLI_RECORD_LAST_H

/* ctop record --last: a flight recorder. */

#include <ctop/base/error.h>
#include <ctop/options/options.h>

int command_record_last(const struct options *options, struct error *error);

#endif

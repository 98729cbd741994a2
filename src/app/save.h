/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_SAVE_H
#define CTOP_APP_SAVE_H

/* Text that a command made, to where the user wants it. */

#include <ctop/base/error.h>
#include <ctop/base/text.h>

/*
 * Writes text to path; NULL and "-" are standard output. A regular file is written beside itself and
 * renamed, so that a failure leaves the old one as it was; a device or a pipe is written as it is.
 * `option` names the option that the path came from, for the remedy. 0 or -errno with cause and remedy.
 */
int save_text(const char *path, const char *option, const struct text *text, struct error *error);

#endif

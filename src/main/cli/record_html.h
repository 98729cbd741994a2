/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CLI_RECORD_HTML_H
#define CTOP_CLI_RECORD_HTML_H

/* `ctop record --html FILE`: the recording as a page, as soon as it is whole. */

#include <ctop/base/error.h>
#include <ctop/options/options.h>

/* Before anything is recorded: whether the recording can be read back. 0 or -EINVAL with cause and remedy. */
int record_html_check(const struct options *options, struct error *error);
/* 0, or -errno with cause and remedy: the recording stays. */
int record_html_write(const struct options *options, struct error *error);

#endif

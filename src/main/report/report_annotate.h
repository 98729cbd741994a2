/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_ANNOTATE_H
#define CTOP_REPORT_REPORT_ANNOTATE_H

#include <ctop/annotate/annotation.h>
#include <ctop/annotate/code_finder.h>
#include <ctop/annotate/sources.h>
#include <ctop/base/text.h>
#include <ctop/options/options.h>

/* Text of so many bytes is enough: behind it source lines are left out, and other functions. */
enum { REPORT_ANNOTATE_BYTES_MAX = 128 << 20 };

/* Adds a function's instructions and the source lines that they come from, each with its samples. whole: weight of all samples. */
void report_annotate_add(const struct history *history, uint32_t module,
			 const struct annotation *annotation, const struct code *code,
			 struct source_file *const *files, uint64_t whole,
			 const struct options *options, struct text *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_MODULE_REMEDY_H
#define CTOP_REPORT_MODULE_REMEDY_H

#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/history/history.h>

/*
 * Adds the one command that would give a module's functions their names, for the machine that was profiled; nothing where
 * nothing is missing, or no command is known. It is for a shell, as it is: what it takes from the profile is a build-id in
 * hexadecimal, a pid, or a path of plain characters. Looks at all stacks where it is about generated code.
 */
void module_remedy_add(struct history *history, uint32_t module, struct text *out);

#endif

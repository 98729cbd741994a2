/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_MODULE_FILES_H
#define CTOP_COLLECT_MODULE_FILES_H

/* Modules' files, which main opens. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/module_identity.h>

struct collector;
struct module;
struct output;
struct stack_gap;

/* False for a gap: main has to be asked for the file, or to see the module's row before the file is read. */
bool module_file_is_known(const struct output *output, struct module *module,
			  const struct stack_gap *gap);
/* Makes it known. 0; -ENOBUFS: main cannot be asked now; -ENOSPC, -ENOMEM or what else ended the asking. */
int module_file_ask(struct collector *collector, const struct stack_gap *gap);
/* The module's file came (fd is taken over), with what main says of it, or did not (-1). */
void module_file_take(struct collector *collector, struct module *module, int fd,
		      const struct module_identity *identity);

#endif

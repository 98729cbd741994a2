/* SPDX-License-Identifier: MIT */
/*
 * Modules' files, which main opens. A stack that meets a file which nobody has asked for
 * stops there, and begins again when main was asked: whoever unwinds looks up, and sends nothing.
 */
#include "module_files.h"

#include <errno.h>
#include <string.h>

#include <ctop/base/fault.h>
#include <ctop/cfi/cfi.h>
#include <ctop/unwind/unwind.h>

#include "internal.h"

/* Who hears when its tables are read; NULL: it has none. */
static struct module *module_read(struct module *module)
{
	return !module->cfi ? NULL : module->lender ? module->lender : module;
}

bool module_file_is_known(const struct output *output, struct module *module,
			  const struct stack_gap *gap)
{
	if (!module || (module->state == MODULE_UNASKED && !gap->cannot_ask))
		return false;
	const struct module *read = module_read(module);
	return !read || output_has_module(output, read);
}

static int ask(struct collector *collector, struct module *module)
{
	struct module_id id, kernel;
	int result = output_add_module(&collector->output, module, &id);
	/* Which vdso it is a file may say by its kernel alone. */
	if (!result && collector->source.file && module->row.kind == MODULE_VDSO)
		result = output_add_module(&collector->output, collector->unwinding.modules.kernel,
					   &kernel);
	if (result)
		return result;
	/* Main reads the row to know what to open: it must be there before the message. */
	output_publish(collector);
	struct message message = {
		.kind = MESSAGE_NEED_MODULE,
		.module = {.epoch = collector->output.epoch, .module = id.index},
	};
	result = protocol_send(collector->channel, &message, -1);
	if (result)
		return result;
	module->state = MODULE_ASKED;
	module->asked_epoch = collector->output.epoch;
	module->asked_id = id;
	return 0;
}

/* Main must find the row, if we do not survive the reading. */
static int publish_row(struct collector *collector, struct module *module)
{
	struct module_id id;
	if (!module || output_has_module(&collector->output, module))
		return 0;
	int result = output_add_module(&collector->output, module, &id);
	if (!result)
		output_publish(collector);
	return result;
}

int module_file_ask(struct collector *collector, const struct stack_gap *gap)
{
	const struct mapping *map = process_mapping_at(gap->process, gap->address);
	struct module *module = map->module;
	if (!module) {
		module = modules_of_map(&collector->unwinding.modules, gap->process, map);
		if (!module || process_set_module(gap->process, gap->address, module))
			return -ENOMEM;
	}
	if (module->state == MODULE_UNASKED && collector->config.without_tables) {
		module->state = MODULE_FAILED;
		module->unreadable = STACK_REASON_NO_TABLE;
	}
	if (module->state == MODULE_UNASKED)
		return ask(collector, module);
	return publish_row(collector, module_read(module));
}

static void watch_reading(void *context, bool reading)
{
	const struct module *module = context;
	const struct collector *collector = module->collector;
	if (!reading) {
		status_read_none(collector->status);
		return;
	}
	status_read(collector->status, module->epoch, module->id.index);
	fault_at("tables", module->path, collector->channel);
}

void module_file_take(struct collector *collector, struct module *module, int fd,
		      const struct module_identity *identity)
{
	/* Of a perf.data file: what is here now has an owner and an inode of its own. So has our copy of the vdso. */
	const struct module_identity nothing = {0};
	bool is_mapped_file = !collector->source.file && module->row.kind == MODULE_FILE;
	status_read(collector->status, module->asked_epoch, module->asked_id.index);
	if (fd >= 0)
		fault_at("file", module->path, collector->channel);
	modules_set_file(&collector->unwinding.modules, module, fd,
			 is_mapped_file ? identity : &nothing);
	status_read_none(collector->status);
	module->collector = collector;
	if (module->cfi && !module->lender)
		cfi_set_watch(module->cfi, watch_reading, module);
}

/* SPDX-License-Identifier: MIT */
/*
 * Modules' rows in the tables, and their files, which main opens. A stack that meets a file which nobody has asked for
 * stops there, and begins again when main was asked: whoever unwinds looks up, and sends nothing.
 */
#include "module_files.h"

#include <errno.h>
#include <string.h>

#include <ctop/base/fault.h>
#include <ctop/unwind/unwind.h>

#include "internal.h"

/* ---- rows ---- */

static bool has_row(const struct collector *collector, const struct module *module)
{
	return module->epoch == collector->output.epoch;
}

/* module is NULL for an address outside every mapping: that is row 0, none. */
static int module_id(struct collector *collector, struct module *module, struct module_id *id)
{
	if (!module) {
		*id = (struct module_id){0};
		return 0;
	}
	if (!has_row(collector, module)) {
		struct module_row row = module->row;
		row.by_offset = collector->config.without_tables &&
				(row.kind == MODULE_FILE || row.kind == MODULE_VDSO);
		int result = tables_add_string(collector->output.writer, module->path,
					       strlen(module->path), &row.path);
		if (!result)
			result = tables_add_module(collector->output.writer, &row, &module->id);
		if (result)
			return result;
		module->epoch = collector->output.epoch;
	}
	*id = module->id;
	return 0;
}

int module_frame_id(struct collector *collector, struct module *module, uint64_t address,
		    struct frame_id *id)
{
	struct module_id in;
	int result = module_id(collector, module, &in);
	return result ? result : tables_add_frame(collector->output.writer, in, address, id);
}

/* ---- files ---- */

/* Who is told of the reading of its tables; NULL: it has none. */
static struct module *module_read(struct module *module)
{
	return !module->cfi ? NULL : module->lender ? module->lender : module;
}

bool module_file_is_known(const struct collector *collector, struct module *module,
			  const struct stack_gap *gap)
{
	if (!module || (module->state == MODULE_UNASKED && !gap->cannot_ask))
		return false;
	const struct module *read = module_read(module);
	return !read || has_row(collector, read);
}

static int ask(struct collector *collector, struct module *module)
{
	struct module_id id, kernel;
	int result = module_id(collector, module, &id);
	/* Which vdso it is a file may say by its kernel alone. */
	if (!result && collector->source.file && module->row.kind == MODULE_VDSO)
		result = module_id(collector, collector->unwinding.modules.kernel, &kernel);
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
	if (!module || has_row(collector, module))
		return 0;
	int result = module_id(collector, module, &id);
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

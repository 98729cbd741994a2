/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "rows.h"

/* Takes over one frame's name, or that it will have none. 1: done; 0: not yet; -ENOMEM. */
static int take_name(struct history *history, uint32_t id)
{
	struct symbol_row row = symbols_row(history->symbols, (struct frame_id){id});
	if (row.state != SYMBOL_NAMED && row.state != SYMBOL_BOUNDED)
		return 0;
	const char *name = history_intern(history, symbols_string(history->symbols, row.name));
	const char *module = history_intern(history, symbols_string(history->symbols, row.module));
	if (!name || !module)
		return -ENOMEM;
	struct named_frame *frame = &history->frames.items[history->of[TABLE_FRAMES].items[id] - 1];
	frame->bounded = row.state == SYMBOL_BOUNDED && row.offset <= frame->address &&
			 row.offset != UINT32_MAX;
	frame->name = name[0] && row.state == SYMBOL_NAMED ? name : NULL;
	frame->module_name = module[0] ? module : NULL;
	frame->offset = row.offset;
	history->frames_changed = history->frames_changed || frame->name;
	history->nr_renamed += frame->function != 0;
	frame->function = 0;
	return 1;
}

int history_update_names(struct history *history)
{
	if (!history->has_epoch)
		return 0;
	/* Facts of the end come after the last sample, or without any. */
	tables_reader_refresh(&history->reader);
	int facts = history_read_metadata(history);
	if (facts || !history->symbols)
		return facts;
	/* Read before the rows: what changes from now on moves it again. */
	uint64_t version = symbols_version(history->symbols);
	size_t first = version == history->symbols_version ? history->nr_unnamed_looked_at : 0;
	size_t kept = first;
	for (size_t i = first; i < history->unnamed.nr; i++) {
		uint32_t id = history->unnamed.items[i];
		int result = take_name(history, id);
		if (result < 0)
			return result;
		if (!result)
			history->unnamed.items[kept++] = id;
	}
	history->unnamed.nr = history->nr_unnamed_looked_at = kept;
	history->symbols_version = version;
	return 0;
}

/* ---- functions ---- */

static uint32_t find_or_add(struct history *history, const struct function *function)
{
	uint64_t hash = hash_function(function->name, function->module);
	struct index_probe probe = index_find(&history->functions_index, hash);
	uint32_t row;
	while (index_next(&history->functions_index, &probe, &row)) {
		const struct function *known = &history->functions.items[row];
		if (known->name == function->name && known->module == function->module &&
		    known->named == function->named && known->bounded == function->bounded &&
		    known->kernel == function->kernel)
			return row;
	}
	if (index_reserve(&history->functions_index) ||
	    vec_reserve(&history->functions, history->functions.nr + 1))
		return UINT32_MAX;
	row = (uint32_t)history->functions.nr;
	index_add(&history->functions_index, hash, row);
	history->functions.items[history->functions.nr++] = *function;
	return row;
}

/*
 * A frame without a name is called after its module: by where its function begins, if that is known; all others of the
 * module are one.
 */
static const char *name_after(struct history *history, const char *module,
			      const struct named_frame *frame)
{
	char name[512];
	if (!module[0])
		return history_intern(history, "[unknown]");
	const char *slash = strrchr(module, '/');
	const char *base = slash && slash[1] ? slash + 1 : module;
	if (frame->bounded)
		snprintf(name, sizeof(name), "%.480s+0x%" PRIx64, base,
			 frame->address - frame->offset);
	else
		snprintf(name, sizeof(name), base[0] == '[' ? "%.500s" : "[%.500s]", base);
	return history_intern(history, name);
}

uint32_t history_function_of(struct history *history, uint32_t id)
{
	struct named_frame *frame = &history->frames.items[id];
	if (frame->function)
		return frame->function;
	const struct history_module *module = &history->modules.items[frame->module];
	struct function function = {
		.name = frame->name,
		.module = frame->module_name ? frame->module_name : module->label,
		.kernel = module->kind == MODULE_KERNEL,
		.named = frame->name != NULL,
		.bounded = frame->bounded,
	};
	if (!function.name)
		function.name = name_after(history, function.module, frame);
	uint32_t found = function.name ? find_or_add(history, &function) : UINT32_MAX;
	if (found != UINT32_MAX)
		frame->function = found;
	return found;
}

const char *history_function_name(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr ? history->functions.items[id.index].name : "";
}

const char *history_function_module(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr ? history->functions.items[id.index].module : "";
}

bool history_function_kernel(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr && history->functions.items[id.index].kernel;
}

bool history_function_named(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr && history->functions.items[id.index].named;
}

bool history_function_bounded(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr && history->functions.items[id.index].bounded;
}

int history_compare_functions(const struct history *history, struct function_id a,
			      struct function_id b)
{
	int order = strcmp(history_function_name(history, a), history_function_name(history, b));
	if (!order)
		order = strcmp(history_function_module(history, a),
			       history_function_module(history, b));
	return order ? order : (a.index > b.index) - (a.index < b.index);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/vec.h>

#include "internal.h"

uint32_t history_function_row(struct history *history, const struct function *function)
{
	uint64_t hash = hash_function(function->name, function->module);
	struct index_probe probe = index_find(&history->functions_index, hash);
	uint32_t row;
	while (index_next(&history->functions_index, &probe, &row)) {
		const struct function *known = &history->functions.items[row];
		if (known->name == function->name && known->module == function->module &&
		    known->named == function->named && known->bounded == function->bounded &&
		    known->kernel == function->kernel && known->inlined == function->inlined &&
		    known->place_bytes == function->place_bytes)
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
	const char *base = base_name(module);
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
	uint32_t found = function.name ? history_function_row(history, &function) : UINT32_MAX;
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

const char *history_function_path(const struct history *history, struct function_id id)
{
	const char *label = history_function_module(history, id);
	for (size_t i = 0; i < history->modules.nr; i++)
		if (history->modules.items[i].label == label)
			return history->modules.items[i].path;
	return label;
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

bool history_function_inlined(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr && history->functions.items[id.index].inlined;
}

size_t history_function_place_bytes(const struct history *history, struct function_id id)
{
	return id.index < history->functions.nr ? history->functions.items[id.index].place_bytes
						: 0;
}

const char *history_function_marked_name(const struct history *history, struct function_id id)
{
	const char *marked =
		id.index < history->functions.nr ? history->functions.items[id.index].marked : NULL;
	return marked ? marked : history_function_name(history, id);
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

/* A thread of Go's without work is in one of these, whatever it is that goroutines wait for. */
static bool is_go_thread(const char *function)
{
	return !strcmp(function, "runtime.findRunnable") || !strcmp(function, "runtime.mstart1") ||
	       !strcmp(function, "runtime.sysmon");
}

bool history_has_go(const struct history *history)
{
	for (size_t i = 0; i < history->frames.nr; i++)
		if (history->frames.items[i].name && is_go_thread(history->frames.items[i].name))
			return true;
	return false;
}

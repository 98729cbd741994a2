/* SPDX-License-Identifier: MIT */
/*
 * Modules of the history: by path and by what they are. Where a path has had several files, each is shown with something
 * that tells it apart: its build-id's beginning, else its inode, else a number.
 */
#include <ctop/history/history.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/base/vec.h>

#include "internal.h"

/* So many files of one path are looked at one by one; what is more is shown as the last of them. */
enum { SAME_PATH_MAX = 256 };

/* Any mark is shorter. */
enum { MARK_BYTES = 48 };

/* Generated code is its process's own, and goes by one name for all of them. */
static bool is_of_process(const struct history *history, const struct history_module *a,
			  const struct history_module *b)
{
	return a->pid == b->pid && history_same_process(history, a->started_ns, b->started_ns);
}

static bool has_path_of(const struct history *history, const struct history_module *a,
			const struct history_module *b)
{
	return a->path == b->path && a->kind == b->kind && is_of_process(history, a, b);
}

uint32_t history_find_module(struct history *history, const struct history_module *module)
{
	struct index_probe probe = index_find(&history->modules_index, hash_module(module));
	uint32_t row, last = UINT32_MAX;
	size_t nr = 0;
	while (index_next(&history->modules_index, &probe, &row)) {
		struct history_module *known = &history->modules.items[row];
		if (!has_path_of(history, known, module))
			continue;
		if (module_identity_same(&known->identity, &module->identity)) {
			module_identity_learn(&known->identity, &module->identity);
			return row;
		}
		last = row;
		nr++;
	}
	return nr < SAME_PATH_MAX ? UINT32_MAX : last;
}

/* ---- what is shown ---- */

enum mark { MARK_BUILD_ID, MARK_INODE, NR_MARKS };

/* The first eight digits tell builds apart, and can be typed. False: it has none. */
static bool write_mark(const struct module_identity *identity, bool is_generated, enum mark mark,
		       char text[MARK_BYTES])
{
	const uint8_t *id = identity->build_id;
	if (mark == MARK_INODE)
		snprintf(text, MARK_BYTES, " (%s %" PRIu64 ")", is_generated ? "program" : "inode",
			 identity->inode);
	else
		snprintf(text, MARK_BYTES, " (%02x%02x%02x%02x)", id[0], id[1], id[2], id[3]);
	return mark == MARK_INODE
		       ? identity->inode != 0
		       : identity->build_id_size >= 4 && identity->build_id_size <= BUILD_ID_MAX;
}

static const char *labelled(struct history *history, const char *path, const char *mark)
{
	char label[HISTORY_STRING_MAX + MARK_BYTES];
	snprintf(label, sizeof(label), "%.*s%s", HISTORY_STRING_MAX - MARK_BYTES, path, mark);
	return history_intern(history, label);
}

static bool is_label(const struct history *history, const char *label)
{
	for (size_t i = 0; i < history->modules.nr; i++)
		if (history->modules.items[i].label == label)
			return true;
	return false;
}

/* A label that no module has yet; NULL: out of memory. */
static const char *label_apart(struct history *history, const struct history_module *module)
{
	char text[MARK_BYTES];
	const char *label;
	for (enum mark mark = 0; mark < NR_MARKS; mark++) {
		if (!write_mark(&module->identity, module->kind == MODULE_ANON, mark, text))
			continue;
		label = labelled(history, module->path, text);
		if (!label || !is_label(history, label))
			return label;
	}
	size_t number = 1;
	do {
		snprintf(text, sizeof(text), " #%zu", ++number);
		label = labelled(history, module->path, text);
	} while (label && is_label(history, label));
	return label;
}

/* What stands for all of the module: grouping.c. */
static bool is_module_itself(const struct function *function, const char *label)
{
	return function->place_bytes && function->name == label;
}

/* The functions of a module that was alone with its path until now. */
static int rename_functions(struct history *history, const char *from, const char *to)
{
	struct index fresh = {0};
	for (uint32_t row = 1; row < history->functions.nr; row++) {
		const struct function *function = &history->functions.items[row];
		const char *module = function->module == from ? to : function->module,
			   *name = is_module_itself(function, from) ? to : function->name;
		if (index_reserve(&fresh)) {
			index_release(&fresh);
			return -ENOMEM;
		}
		index_add(&fresh, hash_function(name, module), row);
	}
	for (uint32_t row = 1; row < history->functions.nr; row++) {
		struct function *function = &history->functions.items[row];
		if (function->module == from)
			function->module = to;
		if (!is_module_itself(function, from))
			continue;
		function->name = to;
		function->place_bytes = (uint32_t)strlen(to);
	}
	index_release(&history->functions_index);
	history->functions_index = fresh;
	return 0;
}

static int tell_apart(struct history *history, struct history_module *first)
{
	const char *label = label_apart(history, first);
	if (!label)
		return -ENOMEM;
	int result = rename_functions(history, first->label, label);
	if (!result)
		first->label = label;
	return result;
}

/* The module that has the path for its label, if there is one. */
static struct history_module *find_plain(struct history *history,
					 const struct history_module *module)
{
	struct index_probe probe = index_find(&history->modules_index, hash_module(module));
	uint32_t row;
	while (index_next(&history->modules_index, &probe, &row)) {
		struct history_module *known = &history->modules.items[row];
		if (has_path_of(history, known, module) && known->label == known->path)
			return known;
	}
	return NULL;
}

static bool has_path(const struct history *history, const struct history_module *module)
{
	struct index_probe probe = index_find(&history->modules_index, hash_module(module));
	uint32_t row;
	while (index_next(&history->modules_index, &probe, &row))
		if (has_path_of(history, &history->modules.items[row], module))
			return true;
	return false;
}

int history_add_module(struct history *history, const struct history_module *module, uint32_t *row)
{
	if (index_reserve(&history->modules_index) ||
	    vec_reserve(&history->modules, history->modules.nr + 1))
		return -ENOMEM;
	struct history_module added = *module;
	added.label = module->path;
	if (has_path(history, module)) {
		struct history_module *plain = find_plain(history, module);
		if (plain && tell_apart(history, plain))
			return -ENOMEM;
		added.label = label_apart(history, module);
		if (!added.label)
			return -ENOMEM;
	}
	*row = (uint32_t)history->modules.nr;
	index_add(&history->modules_index, hash_module(module), *row);
	history->modules.items[history->modules.nr++] = added;
	return 0;
}

struct history_module_facts history_module(const struct history *history, uint32_t module)
{
	const struct history_module *row =
		&history->modules.items[module < history->modules.nr ? module : 0];
	const bool is_none = row == history->modules.items;
	return (struct history_module_facts){
		.path = row->path,
		.label = is_none ? "[unknown]" : row->label,
		.kind = (enum module_kind)row->kind,
		.pid = row->pid,
		.started_ns = row->started_ns,
		.identity = row->identity,
		.names = row->names,
	};
}

void history_take_module_names(struct history *history, uint32_t id, uint32_t row)
{
	if (!history->symbols)
		return;
	const struct module_names names = symbols_module(history->symbols, (struct module_id){id});
	/* Of an earlier epoch more may be known. */
	if (names.from != NAMES_FROM_UNKNOWN)
		history->modules.items[row].names = names;
}

void history_update_module_names(struct history *history)
{
	const translation *map = &history->of[TABLE_MODULES];
	for (uint32_t id = 1; id < map->nr; id++)
		if (map->items[id] && map->items[id] != BAD_ROW)
			history_take_module_names(history, id, map->items[id] - 1);
}

/* ---- names of modules, as filters have them ---- */

static bool is_path(const char *path, const char *wanted)
{
	const char *base = strrchr(path, '/');
	return strcmp(path, wanted) == 0 || (base && strcmp(base + 1, wanted) == 0);
}

/* A path means all its files. One of them may be meant before there is another, and its label has not changed yet. */
bool history_is_module(const struct history_module *module, const char *wanted)
{
	if (module->kind == MODULE_NONE && !module->path[0])
		return strcmp(wanted, "[unknown]") == 0;
	if (is_path(module->path, wanted) || is_path(module->label, wanted))
		return true;
	for (enum mark mark = 0; mark < NR_MARKS; mark++) {
		char text[MARK_BYTES];
		size_t size = strlen(wanted);
		if (!write_mark(&module->identity, module->kind == MODULE_ANON, mark, text) ||
		    size <= strlen(text) || strcmp(wanted + size - strlen(text), text) != 0)
			continue;
		size -= strlen(text);
		const char *base = strrchr(module->path, '/');
		base = base ? base + 1 : module->path;
		if ((strlen(module->path) == size && !strncmp(module->path, wanted, size)) ||
		    (strlen(base) == size && !strncmp(base, wanted, size)))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/history/timeline.h>

#include "internal.h"

struct history_info {
	char *key, *value;
	UT_hash_handle hh;
};

/* All arrays of a history, translations and seconds excepted. */
#define EACH_ROWS(DO)                                                                              \
	DO(strings)                                                                                \
	DO(modules)                                                                                \
	DO(tasks)                                                                                  \
	DO(processes)                                                                              \
	DO(frames)                                                                                 \
	DO(nodes)                                                                                  \
	DO(stacks)                                                                                 \
	DO(squares)                                                                                \
	DO(functions)                                                                              \
	DO(groups)                                                                                 \
	DO(sites)                                                                                  \
	DO(events)                                                                                 \
	DO(samples)                                                                                \
	DO(unnamed)                                                                                \
	DO(unlined)                                                                                \
	DO(pieces)                                                                                 \
	DO(untaken)
#define EACH_INDEX(DO)                                                                             \
	DO(strings_index)                                                                          \
	DO(modules_index)                                                                          \
	DO(tasks_index)                                                                            \
	DO(frames_index)                                                                           \
	DO(nodes_index)                                                                            \
	DO(stacks_index)                                                                           \
	DO(functions_index)                                                                        \
	DO(groups_index)                                                                           \
	DO(sites_index)                                                                            \
	DO(pieces_index)                                                                           \
	DO(processes_index)

/* ---- life ---- */

/* Row 0 of every table: none. And the rows that fold what there is no room for. */
static int add_none_rows(struct history *history)
{
	const char *none = history_intern(history, ""),
		   *folded = history_intern(history, "[folded]");
	if (!none || !folded || vec_reserve(&history->modules, 2) ||
	    vec_reserve(&history->tasks, 2) || vec_reserve(&history->frames, 2) ||
	    vec_reserve(&history->nodes, 1) || vec_reserve(&history->functions, 1) ||
	    vec_reserve(&history->sites, 1))
		return -ENOMEM;
	history->modules.items[history->modules.nr++] =
		(struct history_module){.path = none, .label = none};
	history->modules.items[history->modules.nr++] =
		(struct history_module){.path = folded, .label = folded};
	history->tasks.items[history->tasks.nr++] = (struct history_task){.comm = none};
	history->tasks.items[history->tasks.nr++] = (struct history_task){.comm = folded};
	history->frames.items[history->frames.nr++] = (struct named_frame){.offset = UINT32_MAX};
	history->frames.items[history->frames.nr++] =
		(struct named_frame){.offset = UINT32_MAX, .name = folded};
	history->nodes.items[history->nodes.nr++] = (struct history_node){0};
	history->functions.items[history->functions.nr++] =
		(struct function){.name = none, .module = none};
	history->sites.items[history->sites.nr++] = (struct history_site){.file = none};
	return 0;
}

struct history *history_new(void)
{
	struct history *history = calloc(1, sizeof(*history));
	if (!history)
		return NULL;
	if (add_none_rows(history) == 0)
		return history;
	history_free(history);
	return NULL;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	struct history_info *info, *next;
	HASH_ITER (hh, history->metadata, info, next) {
		HASH_DEL(history->metadata, info);
		free(info->key);
		free(info->value);
		free(info);
	}
	for (size_t i = 0; i < history->strings.nr; i++)
		free(history->strings.items[i]);
	for (size_t i = 0; i < history->pieces.nr; i++)
		free(history->pieces.items[i].bytes);
	free(history->samples.given.items);
	slices_release(&history->samples.slices);
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++)
		free(history->of[kind].items);
	history_free_seconds(history);
	timeline_free(history->timeline);
	free(history->moments.ring.items);
#define FREE(rows) free(history->rows.items);
	EACH_ROWS(FREE)
#undef FREE
#define RELEASE(index) index_release(&history->index);
	EACH_INDEX(RELEASE)
#undef RELEASE
	free(history);
}

void history_leave_out_lines(struct history *history)
{
	history->without_lines = true;
}

void history_set_state_frames(struct history *history, enum state_frames state_frames)
{
	history->state_frames = state_frames;
}

void history_set_limit(struct history *history, uint64_t bytes)
{
	history->limit_bytes = bytes;
}

uint64_t history_rows_bytes(const struct history *history)
{
	uint64_t bytes = sizeof(*history) + history->string_bytes + history->selection_bytes +
			 history->code_bytes;
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++)
		bytes += vec_bytes(&history->of[kind]);
#define ADD_ROWS(rows) bytes += vec_bytes(&history->rows);
	EACH_ROWS(ADD_ROWS)
#undef ADD_ROWS
#define ADD_INDEX(index) bytes += index_bytes(&history->index);
	EACH_INDEX(ADD_INDEX)
#undef ADD_INDEX
	return bytes;
}

uint64_t history_bytes(const struct history *history)
{
	return history_rows_bytes(history) + history_seconds_bytes(history) +
	       vec_bytes(&history->moments.ring) +
	       (history->timeline ? timeline_bytes(history->timeline) : 0) +
	       slices_bytes(&history->samples.slices);
}

/* ---- strings and facts ---- */

/* A string of a region may change while it is looked at: what is copied to history->string, holds. */
static void copy_string(struct history *history, const char *string)
{
	size_t size = strnlen(string, HISTORY_STRING_MAX);
	memcpy(history->string, string, size);
	history->string[size] = '\0';
}

static const char *find_copy(const struct history *history, uint64_t hash)
{
	struct index_probe probe = index_find(&history->strings_index, hash);
	uint32_t row;
	while (index_next(&history->strings_index, &probe, &row))
		if (strcmp(history->strings.items[row], history->string) == 0)
			return history->strings.items[row];
	return NULL;
}

const char *history_find_string(struct history *history, const char *string)
{
	copy_string(history, string);
	return find_copy(history, hash_bytes(history->string, strlen(history->string)));
}

const char *history_intern(struct history *history, const char *string)
{
	copy_string(history, string);
	size_t size = strlen(history->string);
	uint64_t hash = hash_bytes(history->string, size);
	const char *known = find_copy(history, hash);
	if (known)
		return known;
	if (index_reserve(&history->strings_index) ||
	    vec_reserve(&history->strings, history->strings.nr + 1))
		return NULL;
	char *kept = strdup(history->string);
	if (!kept)
		return NULL;
	index_add(&history->strings_index, hash, (uint32_t)history->strings.nr);
	history->strings.items[history->strings.nr++] = kept;
	history->string_bytes += size + 1;
	return kept;
}

int history_set_info(struct history *history, const char *key, const char *value)
{
	struct history_info *info;
	HASH_FIND_STR(history->metadata, key, info);
	char *copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	if (info) {
		free(info->value);
		info->value = copy;
		return 0;
	}
	info = calloc(1, sizeof(*info));
	if (!info || !(info->key = strdup(key))) {
		free(info);
		free(copy);
		return -ENOMEM;
	}
	info->value = copy;
	HASH_ADD_KEYPTR(hh, history->metadata, info->key, strlen(info->key), info);
	return 0;
}

const char *history_info(const struct history *history, const char *key)
{
	struct history_info *info;
	HASH_FIND_STR(history->metadata, key, info);
	return info ? info->value : NULL;
}

int history_each_info(const struct history *history,
		      int (*each)(void *context, const char *key, const char *value), void *context)
{
	const struct history_info *info, *next;
	int result = 0;
	HASH_ITER (hh, history->metadata, info, next) {
		result = each(context, info->key, info->value);
		if (result)
			break;
	}
	return result;
}

int history_read_metadata(struct history *history)
{
	const struct tables_reader *reader = &history->reader;
	for (; history->nr_metadata_read < reader->nr[TABLE_METADATA];
	     history->nr_metadata_read++) {
		struct info_row row;
		if (history->nr_metadata_read == 0)
			continue; /* none */
		tables_info(reader, history->nr_metadata_read, &row);
		const char *key = history_intern(history, tables_string(reader, row.key));
		const char *value = history_intern(history, tables_string(reader, row.value));
		if (!key || !value || history_set_info(history, key, value))
			return -ENOMEM;
	}
	return 0;
}

/* ---- events ---- */

size_t history_nr_events(const struct history *history)
{
	return history->events.nr;
}

const char *history_event_name(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].name : "";
}

const char *history_event_asked(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].asked : "";
}

uint64_t history_event_period(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].period : 0;
}

uint64_t history_event_frequency_hz(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].frequency_hz : 0;
}

enum weight_unit history_event_unit(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].unit : WEIGHT_EVENTS;
}

uint64_t history_event_weight(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].weight : 0;
}

uint64_t history_event_weight_shown(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].weight_shown : 0;
}

uint64_t history_event_samples(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].samples : 0;
}

uint64_t history_origin_ns(const struct history *history)
{
	return history->origin_ns;
}

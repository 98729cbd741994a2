/* SPDX-License-Identifier: MIT */
/* What comes later than frames: their names, after these their lines, and code that was kept. */
#include <ctop/history/history.h>

#include <errno.h>

#include "internal.h"

/* Takes over one frame's name, or that it will have none. 1: done; 0: not yet; -ENOMEM. */
static int take_name(struct history *history, uint32_t id)
{
	struct symbol_row row = symbols_row(history->symbols, (struct frame_id){id});
	if (row.state != SYMBOL_NAMED && row.state != SYMBOL_BOUNDED)
		return 0;
	/* Strings of a region that lies may overlap: no more is taken than would fit there side by side. */
	if (history->name_bytes_taken > symbols_string_bytes(&history->symbols->capacity))
		row.name = row.module = (struct string_id){0};
	const uint64_t string_bytes = history->string_bytes;
	const char *name = history_intern(history, symbols_string(history->symbols, row.name));
	const char *module = history_intern(history, symbols_string(history->symbols, row.module));
	if (!name || !module)
		return -ENOMEM;
	history->name_bytes_taken += history->string_bytes - string_bytes;
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

/* Those of the frames for which there was nothing yet stay, and those behind the *most that are taken. 0 or -ENOMEM. */
static int look_at(struct history *history, struct awaiting_frames *frames, bool is_same_version,
		   size_t *most, int (*take)(struct history *history, uint32_t id))
{
	const size_t first = is_same_version ? frames->nr_looked_at : 0;
	size_t kept = first, i = first;
	for (; i < frames->nr && *most; i++) {
		uint32_t id = frames->items[i];
		int result = take(history, id);
		if (result < 0)
			return result;
		if (!result)
			frames->items[kept++] = id;
		else
			(*most)--;
	}
	frames->nr_looked_at = kept;
	while (i < frames->nr)
		frames->items[kept++] = frames->items[i++];
	frames->nr = kept;
	return 0;
}

int history_update_some_names(struct history *history, size_t most)
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
	bool is_same = version == history->symbols_version;
	if (!is_same)
		history_update_module_names(history);
	int result = look_at(history, &history->unnamed, is_same, &most, take_name);
	if (!result)
		result = look_at(history, &history->unlined, is_same, &most, history_take_lines);
	if (!result && !most)
		return 1;
	if (!result)
		result = history_take_code(history);
	if (!result)
		history->symbols_version = version;
	return result;
}

int history_update_names(struct history *history)
{
	return history_update_some_names(history, SIZE_MAX);
}

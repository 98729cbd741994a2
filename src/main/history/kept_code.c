/* SPDX-License-Identifier: MIT */
/* The code of functions that a recording has kept, by the history's modules: at most as much as one recording may have. */
#include <ctop/history/history.h>
#include <ctop/store/kept_code.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

static const char *name_of(const struct history_piece *piece)
{
	return (const char *)piece->bytes + piece->size;
}

/* One without a name is of whatever begins there. */
static struct history_piece *find(const struct history *history, uint32_t module, uint64_t start,
				  const char *name)
{
	struct index_probe probe = index_find(&history->pieces_index, hash_two(start, module));
	uint32_t row;
	while (index_next(&history->pieces_index, &probe, &row)) {
		struct history_piece *piece = &history->pieces.items[row];
		if (piece->module == module && piece->start == start &&
		    (!piece->name_bytes || !strcmp(name_of(piece), name)))
			return piece;
	}
	return NULL;
}

static bool is_same(const struct history_piece *a, const struct history_piece *b)
{
	return a->size == b->size && a->bias == b->bias && a->machine == b->machine &&
	       a->is_cut == b->is_cut && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Takes piece->bytes over. */
static int add(struct history *history, struct history_piece *piece)
{
	struct history_piece *known = find(history, piece->module, piece->start, name_of(piece));
	const uint32_t size = piece->size + piece->name_bytes;
	if (known)
		known->is_doubtful |= !is_same(known, piece);
	if (known || size > KEPT_CODE_MAX - history->code_bytes) {
		free(piece->bytes);
		return 0;
	}
	if (index_reserve(&history->pieces_index) ||
	    vec_reserve(&history->pieces, history->pieces.nr + 1)) {
		free(piece->bytes);
		return -ENOMEM;
	}
	index_add(&history->pieces_index, hash_two(piece->start, piece->module),
		  (uint32_t)history->pieces.nr);
	history->pieces.items[history->pieces.nr++] = *piece;
	history->code_bytes += size;
	return 0;
}

/* Elsewhere functions take each other's place: of code without a name nobody knows whose it was. */
static bool is_for_good(const struct history_module *module)
{
	return module->kind == MODULE_FILE || module->kind == MODULE_VDSO;
}

/* 1: taken, or there is nothing to take; 0: its module is not known yet; -ENOMEM. */
static int take(struct history *history, uint32_t number)
{
	const translation *modules = &history->of[TABLE_MODULES];
	struct kept_code code;
	const uint8_t *bytes;
	if (!symbols_code(history->symbols, number, &code, &bytes) || !code.module.index)
		return 1;
	const uint32_t place =
		code.module.index < modules->nr ? modules->items[code.module.index] : 0;
	if (!place)
		return 0;
	if (place == UINT32_MAX || place <= NR_FIXED ||
	    (!code.name_bytes && !is_for_good(&history->modules.items[place - 1])))
		return 1;
	struct history_piece piece = {
		.start = code.start,
		.bias = code.bias,
		.read_ns = code.read_ns,
		.module = place - 1,
		.size = code.size,
		.name_bytes = code.name_bytes,
		.machine = code.machine,
		.is_cut = code.is_cut,
		.bytes = malloc((size_t)code.size + code.name_bytes + 1),
	};
	if (!piece.bytes)
		return -ENOMEM;
	memcpy(piece.bytes, bytes, code.size);
	memcpy(piece.bytes + code.size, code.name, code.name_bytes);
	piece.bytes[code.size + code.name_bytes] = '\0';
	const int result = add(history, &piece);
	return result ? result : 1;
}

int history_take_code(struct history *history)
{
	struct awaiting_frames *untaken = &history->untaken;
	const uint32_t nr = symbols_nr_code(history->symbols);
	size_t kept = 0;
	if (vec_reserve(untaken, untaken->nr + (nr - history->nr_code_seen)))
		return -ENOMEM;
	while (history->nr_code_seen < nr)
		untaken->items[untaken->nr++] = history->nr_code_seen++;
	for (size_t i = 0; i < untaken->nr; i++) {
		const int result = take(history, untaken->items[i]);
		if (result < 0)
			return result;
		if (!result)
			untaken->items[kept++] = untaken->items[i];
	}
	untaken->nr = kept;
	return 0;
}

void history_begin_code(struct history *history)
{
	history->untaken.nr = 0;
	history->nr_code_seen = 0;
}

void history_move_code(struct history *history, const uint32_t *modules)
{
	size_t kept = 0;
	index_clear(&history->pieces_index);
	history->code_bytes = 0;
	for (size_t i = 0; i < history->pieces.nr; i++) {
		struct history_piece piece = history->pieces.items[i];
		piece.module = modules[piece.module];
		if (!piece.module) {
			free(piece.bytes);
			continue;
		}
		index_add(&history->pieces_index, hash_two(piece.start, piece.module),
			  (uint32_t)kept);
		history->pieces.items[kept++] = piece;
		history->code_bytes += piece.size + piece.name_bytes;
	}
	history->pieces.nr = kept;
}

static struct history_code told(const struct history_piece *piece)
{
	return (struct history_code){
		.bytes = piece->bytes,
		.size = piece->size,
		.name = name_of(piece),
		.bias = piece->bias,
		.read_ns = piece->read_ns,
		.machine = piece->machine,
		.is_cut = piece->is_cut,
	};
}

bool history_code(const struct history *history, uint32_t module, uint64_t start, const char *name,
		  struct history_code *code)
{
	const struct history_piece *piece = find(history, module, start, name ? name : "");
	if (!piece || piece->is_doubtful)
		return false;
	*code = told(piece);
	return true;
}

int history_each_code(const struct history *history, uint32_t module,
		      int (*each)(void *context, uint64_t start, const struct history_code *code),
		      void *context)
{
	int result = 0;
	for (size_t i = 0; !result && i < history->pieces.nr; i++) {
		const struct history_piece *piece = &history->pieces.items[i];
		const struct history_code code = told(piece);
		if (piece->module == module && !piece->is_doubtful)
			result = each(context, piece->start, &code);
	}
	return result;
}

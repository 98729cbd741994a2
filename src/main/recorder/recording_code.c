/* SPDX-License-Identifier: MIT */
#include "recording_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/store/kept_code.h>

/* Which function of which module. No padding. */
struct written_code {
	struct module_identity identity;
	uint64_t kind;
	uint64_t path_hash;
	uint64_t process; /* of generated code: when it started, and its pid */
	uint64_t start;
	uint64_t name_hash, bytes_hash; /* of what has a name; else 0 */
};

void recording_code_release(struct recording_code *code)
{
	free(code->written.items);
	index_release(&code->index);
	*code = (struct recording_code){0};
}

void recording_code_begin_epoch(struct recording_code *code)
{
	code->nr_taken = 0;
}

static struct written_code key_of(const struct tables_reader *reader, const struct module_row *row,
				  const struct kept_code *piece, const uint8_t *bytes)
{
	const char *path = tables_string(reader, row->path);
	return (struct written_code){
		.identity = row->identity,
		.kind = row->kind,
		.path_hash = hash_bytes(path, strlen(path)),
		.process = row->kind == MODULE_ANON ? hash_two(row->started_ns, (uint32_t)row->pid)
						    : 0,
		.start = piece->start,
		.name_hash = piece->name_bytes ? hash_bytes(piece->name, piece->name_bytes) : 0,
		.bytes_hash = piece->name_bytes ? hash_bytes(bytes, piece->size) : 0,
	};
}

static bool is_written(const struct recording_code *code, const struct written_code *key,
		       uint64_t hash)
{
	struct index_probe probe = index_find(&code->index, hash);
	uint32_t row;
	while (index_next(&code->index, &probe, &row))
		if (memcmp(&code->written.items[row], key, sizeof(*key)) == 0)
			return true;
	return false;
}

static int add(struct recording_code *code, const struct written_code *key, uint64_t hash)
{
	if (index_reserve(&code->index) || vec_reserve(&code->written, code->written.nr + 1))
		return -ENOMEM;
	index_add(&code->index, hash, (uint32_t)code->written.nr);
	code->written.items[code->written.nr++] = *key;
	return 0;
}

static void put(struct buffer *rows, const struct kept_code *piece, const uint8_t *bytes)
{
	enum { GOES_ON = 1 };
	put_varint(rows, piece->module.index);
	put_varint(rows, piece->start);
	put_varint(rows, piece->bias);
	put_varint(rows, piece->machine);
	put_varint(rows, piece->is_cut ? GOES_ON : 0);
	put_string(rows, (const char *)bytes, piece->size);
}

int recording_code_put(struct recording_code *code, const struct tables_reader *reader,
		       const struct symbols *symbols, uint64_t shift_ns, struct buffer *rows,
		       struct buffer *made)
{
	const uint32_t nr = symbols_nr_code(symbols);
	for (; code->nr_taken < nr; code->nr_taken++) {
		struct kept_code piece;
		struct module_row row;
		const uint8_t *bytes;
		if (!symbols_code(symbols, code->nr_taken, &piece, &bytes) ||
		    piece.size + piece.name_bytes > KEPT_CODE_MAX - code->bytes ||
		    code->written.nr == KEPT_PIECES_MAX || !piece.module.index ||
		    !tables_module(reader, piece.module, &row))
			continue;
		const struct written_code key = key_of(reader, &row, &piece, bytes);
		const uint64_t hash = hash_bytes(&key, sizeof(key));
		if (is_written(code, &key, hash))
			continue;
		if (add(code, &key, hash))
			return -ENOMEM;
		put(piece.name_bytes ? made : rows, &piece, bytes);
		if (piece.name_bytes) {
			put_string(made, piece.name, piece.name_bytes);
			put_varint(made, piece.read_ns ? piece.read_ns + shift_ns : 0);
		}
		code->bytes += piece.size + piece.name_bytes;
	}
	return 0;
}

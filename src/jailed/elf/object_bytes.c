/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "object_internal.h"

/* 20 ms, where the files are in memory. */
#define COMPARED_MAX ((size_t)64 << 20)

bool object_is_unchanged(const struct object *object)
{
	const struct object_identity *identity = &object->identity;
	if (memcmp(object->head, object->bytes, sizeof(object->head)) != 0)
		return false;
	return !identity->build_id_size || memcmp(object->bytes + object->build_id_at,
						  identity->build_id, identity->build_id_size) == 0;
}

bool object_same_size(const struct object *a, const struct object *b)
{
	return a->file_bytes == b->file_bytes;
}

bool object_same_bytes(const struct object *a, const struct object *b)
{
	return object_same_size(a, b) && a->file_bytes <= COMPARED_MAX &&
	       memcmp(a->bytes, b->bytes, a->file_bytes) == 0;
}

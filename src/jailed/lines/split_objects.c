/* SPDX-License-Identifier: MIT */
#include <ctop/lines/split_objects.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/elf/object.h>
#include <ctop/lines/source_lines.h>

#include "split_file.h"

/* Of one module: only what was sampled is asked for, the hottest first. */
enum { OBJECTS_MAX = 256 };

void split_objects_release(struct split_objects *objects)
{
	for (size_t i = 0; i < objects->nr; i++)
		object_free(objects->items[i].object);
	free(objects->items);
	*objects = (struct split_objects){0};
}

int split_objects_add(struct split_objects *objects, uint64_t id, struct object *object)
{
	if (vec_reserve(objects, objects->nr + 1)) {
		object_free(object);
		return -ENOMEM;
	}
	objects->items[objects->nr++] = (struct split_object){id, object};
	return 0;
}

bool split_objects_give(struct split_objects *objects, struct source_lines *lines,
			uint64_t elf_address, uint64_t *id)
{
	bool was_asked = objects->nr >= OBJECTS_MAX;
	*id = source_lines_split_id(lines, elf_address);
	if (!*id)
		return true;
	for (size_t i = 0; i < objects->nr; i++) {
		const struct split_object *item = &objects->items[i];
		Elf *elf = item->object ? object_elf(item->object) : NULL;
		was_asked |= item->id == *id;
		if (elf && (item->id == *id || split_file_is_package(elf)) &&
		    source_lines_give_split(lines, elf_address, elf))
			return true;
	}
	if (was_asked)
		source_lines_give_split(lines, elf_address, NULL);
	return was_asked;
}

struct split_object *split_objects_changed(struct split_objects *objects,
					   const struct source_lines *lines)
{
	const Elf *elf = source_lines_last_split(lines);
	for (size_t i = 0; elf && i < objects->nr; i++) {
		struct split_object *item = &objects->items[i];
		if (item->object && object_elf(item->object) == elf &&
		    !object_is_as_opened(item->object, false))
			return item;
	}
	return NULL;
}

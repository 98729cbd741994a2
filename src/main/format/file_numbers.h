/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_FILE_NUMBERS_H
#define CTOP_FORMAT_FILE_NUMBERS_H

/* Source files in the order of their first use. The history has each name once: they are known by where that is. All zero is empty. */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

struct file_numbers {
	const char **items; /* borrowed */
	size_t nr, capacity;
	struct index index;
};

/* False: it has none. */
static inline bool file_numbers_find(const struct file_numbers *files, const char *file,
				     uint32_t *number)
{
	struct index_probe probe = index_find(&files->index, hash_u64((uintptr_t)file));
	while (index_next(&files->index, &probe, number))
		if (files->items[*number] == file)
			return true;
	return false;
}

/* Gives it the next number: for one that has none. 0 or -ENOMEM. */
static inline int file_numbers_add(struct file_numbers *files, const char *file, uint32_t *number)
{
	if (vec_reserve(files, files->nr + 1) || index_reserve(&files->index))
		return -ENOMEM;
	*number = (uint32_t)files->nr;
	index_add(&files->index, hash_u64((uintptr_t)file), *number);
	files->items[files->nr++] = file;
	return 0;
}

static inline void file_numbers_release(struct file_numbers *files)
{
	free(files->items);
	index_release(&files->index);
	*files = (struct file_numbers){0};
}

#endif

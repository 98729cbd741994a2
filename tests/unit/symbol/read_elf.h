/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_SYMBOL_READ_ELF_H
#define CTOP_TEST_SYMBOL_READ_ELF_H

/* Functions of a file, read as the symbolizer reads them. */

#include <errno.h>

#include <ctop/elf/object.h>

#include "elf_file.h"
#include "jailed/symbol/elf_plt.h"
#include <ctop/symbol/elf_symbols.h>
#include "test.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static inline struct object *opened(int fd)
{
	struct error error;
	CHECK(fd >= 0);
	struct object *object = object_open(fd, &error);
	CHECK(object != NULL);
	return object;
}

static inline const char *name_at(const struct elf_symbols *symbols, uint64_t address)
{
	struct symbol_hit hit;
	return elf_symbols_find(symbols, address, &hit) ? hit.name : "-";
}

struct read_elf {
	struct object *object;
	struct elf_symbols *symbols;
};

static inline void release(struct read_elf *read)
{
	elf_symbols_free(read->symbols);
	object_free(read->object);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * look_up [-m | -l] FILE [DEBUG_FILE]: reads elf addresses, a hexadecimal number a line, and prints what ctop's symbolizer calls the
 * functions there, and where they begin: "ADDRESS START NAME", "ADDRESS - ?" where it has none. -m: names as the file has them, mangled.
 * -l: the functions and their lines, by DWARF: "ADDRESS<tab>FUNCTION<tab>FILE:LINE<tab>FUNCTION...", the innermost first.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/elf/object.h>

#include "jailed/symbol/name_cache.h"
#include "jailed/symbol/source_lines.h"
#include "jailed/symbol/symbol_file.h"

static void answer(const struct symbol_file *file, struct name_cache *names, uint64_t address)
{
	struct symbol_hit hit;
	if (symbol_file_find(file, address, 0, &hit))
		printf("%" PRIx64 " %" PRIx64 " %s\n", address, hit.start,
		       names ? name_cache_show(names, hit.name, hit.by_ada) : hit.name);
	else
		printf("%" PRIx64 " - ?\n", address);
}

static int answer_with_lines(const char *path)
{
	struct error error;
	char line[64];
	struct object *object = object_open(open(path, O_RDONLY | O_CLOEXEC), &error);
	struct source_lines *lines = object ? source_lines_new(object_elf(object), NULL) : NULL;
	while (lines && fgets(line, sizeof(line), stdin)) {
		struct source_frame frames[64];
		const uint64_t address = strtoull(line, NULL, 16);
		const size_t nr = source_lines_find(lines, address, frames, 64);
		printf("%" PRIx64, address);
		for (size_t i = 0; i < nr; i++)
			printf("\t%s\t%s:%" PRIu32, frames[i].function, frames[i].file,
			       frames[i].line);
		putchar('\n');
	}
	const bool done = lines != NULL;
	source_lines_free(lines);
	object_free(object);
	return done ? 0 : 1;
}

int main(int argc, char **argv)
{
	const struct module_row row = {.kind = MODULE_FILE};
	struct symbol_files files = {0};
	const bool mangled = argc > 1 && strcmp(argv[1], "-m") == 0;
	struct name_cache *names = mangled ? NULL : name_cache_new();
	char line[64];
	if (argc > 2 && strcmp(argv[1], "-l") == 0)
		return answer_with_lines(argv[2]);
	argv += mangled;
	argc -= mangled;
	if (argc < 2)
		return 2;
	struct symbol_file *file = symbol_files_get(&files, &row, argv[1]);
	if (!file)
		return 2;
	int result = symbol_file_give(file, open(argv[1], O_RDONLY | O_CLOEXEC), 0);
	if (result == 1)
		result = symbol_file_give_debug(file, argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC)
							       : -1);
	if (result < 0) {
		fprintf(stderr, "%s cannot be read: %d\n", argv[1], result);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		answer(file, names, strtoull(line, NULL, 16));
	symbol_files_release(&files);
	name_cache_free(names);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * look_up [-m | -l | -r] FILE [DEBUG_FILE [SPLIT_FILE...]]: reads elf addresses, a hexadecimal number a line, and prints what ctop's symbolizer calls the
 * functions there, and where they begin: "ADDRESS START NAME", "ADDRESS - ?" where it has none. -m: names as the file has them, mangled.
 * -l: the functions and their lines: "ADDRESS<tab>FUNCTION<tab>FILE:LINE<tab>FUNCTION...", the innermost first. -r: "ADDRESS<tab>FILE:LINE", as
 * annotate has it. DEBUG_FILE "-": none. SPLIT_FILE: a package, or the .dwo file of a unit, which is tried for every unit.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/symbol/file_lines.h>
#include <ctop/symbol/name_cache.h>
#include <ctop/symbol/symbol_file.h>

static void answer(const struct symbol_file *file, struct name_cache *names, uint64_t address)
{
	struct symbol_hit hit;
	if (symbol_file_find(file, address, 0, &hit))
		printf("%" PRIx64 " %" PRIx64 " %s\n", address, hit.start,
		       names ? name_cache_show(names, hit.name, hit.by_ada) : hit.name);
	else
		printf("%" PRIx64 " - ?\n", address);
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* NULL at their end: files that units may be in. */
static void give_split(struct symbol_files *files, struct symbol_file *file, uint64_t address,
		       char **split_paths)
{
	uint64_t id;
	enum debug_file which;
	if (!file_lines_lack_split(files, file, address, &id, &which))
		return;
	for (char **path = split_paths; *path; path++)
		symbol_file_give_split(file, id, open_file(*path));
	file_lines_lack_split(files, file, address, &id, &which);
}

static void answer_with_lines(struct symbol_files *files, struct symbol_file *file,
			      uint64_t address, char **split_paths)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	give_split(files, file, address, split_paths);
	const size_t nr = file_lines_find(files, file, address, frames, SOURCE_FRAMES_MAX);
	printf("%" PRIx64, address);
	for (size_t i = 0; i < nr; i++)
		printf("\t%s\t%s:%" PRIu32, frames[i].function, frames[i].file, frames[i].line);
	putchar('\n');
}

static void answer_with_row(struct symbol_files *files, struct symbol_file *file, uint64_t address)
{
	struct source_row row;
	const bool is_known = file_lines_row(files, file, address, &row);
	printf("%" PRIx64 "\t%s:%" PRIu32 "\n", address, is_known ? row.file : "",
	       is_known ? row.line : 0);
}

int main(int argc, char **argv)
{
	const struct module_row row = {.kind = MODULE_FILE};
	struct symbol_files files = {0};
	const char option = argc > 1 && argv[1][0] == '-' ? argv[1][1] : '\0';
	struct name_cache *names = option == 'm' ? NULL : name_cache_new();
	char line[64];
	argv += option != '\0';
	argc -= option != '\0';
	if (argc < 2)
		return 2;
	struct symbol_file *file = symbol_files_get(&files, &row, argv[1]);
	if (!file)
		return 2;
	const char *debug = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
	char **split_paths = argv + (argc > 3 ? 3 : argc);
	int result = symbol_file_give(file, open_file(argv[1]), 0);
	if (result == 1)
		result = symbol_file_give_debug(file, debug ? open_file(debug) : -1);
	else if (debug)
		symbol_file_give_debug_lines(file, open_file(debug));
	if (result < 0) {
		fprintf(stderr, "%s cannot be read: %d\n", argv[1], result);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		const uint64_t address = strtoull(line, NULL, 16);
		if (option == 'l')
			answer_with_lines(&files, file, address, split_paths);
		else if (option == 'r')
			answer_with_row(&files, file, address);
		else
			answer(file, names, address);
	}
	symbol_files_release(&files);
	name_cache_free(names);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_FILE_LINES_H
#define CTOP_SYMBOL_FILE_LINES_H

/*
 * Lines and inlined functions of files whose symbols are read: by the DWARF of the file itself, else of its debug file; where that says nothing, of Go
 * programs by what their runtime knows. Both are opened at the first question; what is kept of all files together is bounded, and goes before their
 * symbols do.
 */

#include <ctop/lines/source_lines.h>
#include <ctop/symbol/symbol_file.h>

/* What lines need that is not at hand and was not asked for: *which. False: nothing. */
bool file_lines_lack(struct symbol_files *files, struct symbol_file *file, enum debug_file *which);
/* Whether the functions at an address are in a file that is not at hand and was not asked for: which unit's, and who names it. */
bool file_lines_lack_split(struct symbol_files *files, struct symbol_file *file,
			   uint64_t elf_address, uint64_t *id, enum debug_file *which);
/* False when what was found last is not to be used: its file has changed since, and is not any more, as symbol_file_still_holds(). */
bool file_lines_still_hold(struct symbol_file *file);
/* As source_lines_find() and source_lines_row(), of a file that is ready. */
size_t file_lines_find(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
		       struct source_frame *frames, size_t most);
bool file_lines_row(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
		    struct source_row *row);
/* As source_lines_inlined() and source_lines_call(), the same. */
bool file_lines_inlined(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
			struct source_inlined *inlined);
bool file_lines_call(struct symbol_file *file, uint64_t id, struct source_call *call);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_SYMBOL_FILE_H
#define CTOP_SYMBOL_SYMBOL_FILE_H

/*
 * Where the names of modules come from: ELF files, kallsyms, perf maps, each
 * known by what identifies it, so that it is read once for all rows and epochs
 * that mean it. What is read is bounded as a whole: the files that were not
 * asked for longest go first, and are read again when they are needed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include <ctop/names_from.h>
#include <ctop/base/hash.h>
#include <ctop/lines/split_objects.h>
#include <ctop/store/tables.h>
#include <ctop/symbol/hit.h>
#include <ctop/symbol/kernel_debug.h>
#include <ctop/symbol/mini_debug.h>

struct object;
struct elf_symbols;
struct kallsyms;
struct perf_map;
struct jitdump;
struct source_lines;
struct go_lines;

/* What a file's content is known by, and its path where it has no build-id; the process of a perf map. All zero but for these. */
struct symbol_file_key {
	uint32_t kind; /* enum module_kind */
	int32_t pid;
	uint64_t started_ns; /* that process */
	struct module_identity content;
	uint64_t path_hash;
};

enum symbol_file_state {
	SYMBOL_FILE_NONE,   /* nothing read */
	SYMBOL_FILE_READY,  /* a perf map is ready, too, when there is none */
	SYMBOL_FILE_FAILED, /* could not be had or read */
};

enum symbol_file_asked {
	ASKED_NOTHING,
	ASKED_FILE,
	ASKED_DEBUG_FILE,
	ASKED_DEBUG_LINES, /* its debug file, for lines alone: it has names */
	ASKED_COMMON,	   /* what dwz has put into another file */
	ASKED_SPLIT,	   /* what -gsplit-dwarf has, of one unit */
	BEING_READ, /* it is here: the kernel's, read part by part; READY with kept names meanwhile */
};

struct symbol_file {
	struct symbol_file_key key;
	UT_hash_handle hh;
	enum symbol_file_state state;
	enum symbol_file_asked asked; /* what is under way */
	uint32_t version;	      /* increases with what it knows */
	uint64_t last_used;
	struct module_names names; /* where its names come from */
	/* By kind, when read. */
	struct elf_symbols *symbols;
	struct object *object, *debug; /* hold the names of symbols */
	struct object *common;	       /* of several files, where dwz has put it */
	struct split_objects splits;   /* of its units, where -gsplit-dwarf has put it */
	uint64_t asked_split;	       /* the unit's id, while that is under way */
	struct mini_debug mini;	       /* so does this */
	struct source_lines *lines;    /* of one of the objects; see file_lines.h */
	struct go_lines *go_lines;     /* of the object, where these are not */
	bool has_no_lines, is_not_go;
	bool was_asked_debug, was_asked_common; /* what came of it is known */
	bool has_damaged_debug;
	struct kallsyms *kallsyms;
	struct kallsyms *coming; /* being read, part by part */
	bool has_no_more; /* the kernel's own text was asked for besides kept names, in vain */
	struct kernel_debug kernel; /* where `debug`, its vmlinux, has its code */
	struct perf_map *map;
	struct jitdump *dump; /* instead, or besides: it knows more */
	/* Perf maps: frames below the first were published when the map that is read
   * was asked for; the second for the one under way. */
	uint32_t frames_covered, frames_asked;
	uint32_t nr_maps_read; /* perf maps: how often it was there */
	/* Perf maps that aren't there are asked for less and less often. */
	uint32_t refreshes_to_skip, refreshes_skipped_last;
};

struct symbol_files {
	struct symbol_file *files;
	uint64_t clock; /* counts uses */
};

void symbol_files_release(struct symbol_files *files);
/* The file that a row means, made when it is new. path is the row's. NULL: out
 * of memory. */
struct symbol_file *symbol_files_get(struct symbol_files *files, const struct module_row *row,
				     const char *path);
/* Answers to what was asked before will not come; frees what is of no use any
 * more. */
void symbol_files_begin_epoch(struct symbol_files *files);
/* Unloads files until the rest is within bounds; never `keep`. True when it
 * unloaded any. */
bool symbol_files_make_room(struct symbol_files *files, const struct symbol_file *keep);

/*
 * Reads what fd (taken over) has; fd < 0: it could not be had, and error says why. Sets the state.
 * 1: the file has no .symtab, its state will be set by give_debug; 0, or -errno
 * when it failed (the state says so as well). The kernel's is BEING_READ afterwards.
 */
int symbol_file_give(struct symbol_file *file, int fd, int error);
int symbol_file_give_debug(struct symbol_file *file, int fd);
/* One that is BEING_READ: a further part of it. 1: there is more; 0 or -errno as above. */
int symbol_file_read_part(struct symbol_file *file);
/* The kernel's names are kept ones, and its own text may have what they lack. */
bool symbol_file_may_have_more(const struct symbol_file *file);
/* The same for a file that has names, and lacks lines: nothing but these can come of it. */
void symbol_file_give_debug_lines(struct symbol_file *file, int fd);
/* What it has in common with others: main has proved that it is that. */
void symbol_file_give_common(struct symbol_file *file, int fd);
/* The file of the unit that was asked for; or of others, whatever is asked for. */
void symbol_file_give_split(struct symbol_file *file, uint64_t id, int fd);

/* The address in the file that has the lines; false: it has none of there. */
bool symbol_file_line_address(const struct symbol_file *file, uint64_t address,
			      uint64_t *elf_address);

/* Of one that is in no table: what was read goes. */
void symbol_file_release(struct symbol_file *file);

/* The elf address of a byte of the file; false when it is none that is mapped. */
bool symbol_file_address(const struct symbol_file *file, uint64_t offset, uint64_t *address);
/*
 * False when a file has changed since it was opened: what was read of it is dropped, as is what was just found in it. Names are
 * where the file is mapped: copy, ask this, then use.
 */
bool symbol_file_still_holds(struct symbol_file *file);
/* The function at a look-up address of the file's kind; of generated code: then, by CLOCK_MONOTONIC. */
bool symbol_file_find(const struct symbol_file *file, uint64_t address, uint64_t time_ns,
		      struct symbol_hit *hit);

/* Where the function that begins at an elf address ends: its symbol's end; without a symbol, where another begins, or `most` bytes on. */
uint64_t symbol_file_end(const struct symbol_file *file, uint64_t start, size_t most);
/* Where the nameless function at an address of an ELF file begins, see elf_symbols_bound(). */
bool symbol_file_bound(const struct symbol_file *file, uint64_t address, uint64_t *start);

#endif

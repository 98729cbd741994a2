/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOLIZER_SYMBOLIZER_INTERNAL_H
#define CTOP_SYMBOLIZER_SYMBOLIZER_INTERNAL_H

/* What the symbolizer's files use of each other. */

#include <ctop/symbol/symbol_file.h>
#include <ctop/symbolizer/symbolizer.h>

#include "code_copies.h"
#include "hot_frames.h"
#include "hot_functions.h"
#include "kernel_copies.h"

struct waiting_frame {
	uint32_t frame;
	bool is_final;	  /* its row says unknown; a name may still come */
	uint64_t seen_ns; /* at its first sample, or soon after: generated code is what it was then */
};

/* A module row of this epoch. */
struct module {
	struct symbol_file *file; /* NULL: no frame of it was seen */
	struct waiting_frame *items;
	size_t nr, capacity;
	bool by_offset; /* frames are offsets in the file */
	/* The first ones were looked up in the file as it was at that version. */
	size_t nr_looked_up;
	uint32_t version;
};

struct symbolizer {
	struct symbolizer_requests requests;
	struct symbol_files files;
	struct name_cache *names;
	/* This epoch's. */
	struct tables_reader reader;
	struct symbols *symbols; /* NULL: no epoch yet */
	struct symbols_writer *writer;
	struct {
		struct module *items; /* by module id */
		size_t nr, capacity;
	} modules;
	uint32_t next_frame;
	uint64_t nr_changed;	    /* files that changed while they were read */
	struct module_id wants_all; /* the kernel, whose kept names lack one; {0}: none */
	size_t nr_pending;	    /* frames in lists whose rows aren't final */
	bool has_ripe;		    /* a list may have frames that can be looked up now */
	size_t next_ripe;	    /* the module to go on with */
	bool looks_again;	    /* for the last time */
	struct {
		struct symbol_file *file; /* NULL: nothing is read part by part */
		struct module_id id;	  /* for whom it was asked for */
	} in_parts;
	struct hot_frames hot;		    /* whose lines are looked up: symbolizer_lines.c */
	struct hot_functions hot_code;	    /* whose code is kept: symbolizer_code.c */
	struct code_copies copies;	    /* of it out of memory: symbolizer_copies.c */
	struct kernel_copies kernel_copies; /* of the kernel's: symbolizer_kernel.c */
	bool has_kept_code;		    /* all there was, at the end */
};

/* 0 and *module, -ENOENT when the id means no module, -ENOMEM. */
int symbolizer_module_of(struct symbolizer *symbolizer, struct module_id id,
			 struct module **module);
/* Asks for the module's file, unless that is under way. */
void symbolizer_ask(struct symbolizer *symbolizer, struct symbol_file *file, struct module_id id);
/* The same for its debug file, or what goes with it. False: nothing says which that would be. */
bool symbolizer_ask_debug(struct symbolizer *symbolizer, struct symbol_file *file,
			  struct module_id id, enum debug_file which, enum symbol_file_asked asked);
/* Which module's files are being read, for a successor; {0}: none. */
void symbolizer_tell_reading(const struct symbolizer *symbolizer, struct module_id id);

/* ---- symbolizer_copies.c ---- */

/* Of a function of a perf map. False: not now, too much is asked for already. */
bool symbolizer_copy_code(struct symbolizer *symbolizer, const struct module *module,
			  const struct hot_function *function);

/* ---- symbolizer_kernel.c ---- */

/* Of a function of the kernel. False: as above. */
bool symbolizer_copy_kernel_code(struct symbolizer *symbolizer,
				 const struct hot_function *function);

/* For who makes it fall there. */
const char *symbolizer_path_of(const struct symbolizer *symbolizer, struct module_id id);

#endif

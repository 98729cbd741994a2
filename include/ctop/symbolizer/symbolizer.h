/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOLIZER_SYMBOLIZER_H
#define CTOP_SYMBOLIZER_SYMBOLIZER_H

/*
 * Names for frames, in the jailed symbolizer: function symbols of ELF files and
 * their separate debug files, the kernel's symbols, perf maps of JITs, demangled.
 * Descriptors come from outside; this part opens nothing. It reads the
 * collector's tables and writes the symbols region, one row a frame.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/module_identity.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct symbolizer;

/* Whole pages of a process's memory, at most PROTOCOL_CODE_MAX bytes. */
struct code_range {
	int32_t pid;
	uint64_t started_ns; /* that process */
	uint64_t start, end;
};

/* What it needs from outside; answers come through symbolizer_give_*(), any time later. */
struct symbolizer_requests {
	void *context;
	/* The file of a MODULE_FILE or MODULE_VDSO row, and its debug file if there is one; kallsyms for MODULE_KERNEL; the perf map of row.pid for MODULE_ANON. */
	void (*need_module)(void *context, struct module_id module, const struct module_row *row);
	/*
	 * Asked after a module file without .symtab was read, or, when lines are wanted, without DWARF, or where dwz has put some of that into
	 * another file. debuglink may be "". unit: of DEBUG_FILE_SPLIT_OF_*, its id.
	 */
	void (*need_debug_file)(void *context, struct module_id module, enum debug_file which,
				const uint8_t *build_id, size_t build_id_size,
				const char *debuglink, uint64_t unit);
	/* Called before anything that came from a module's files is looked at, and with {0} after it. May be NULL. */
	void (*reading)(void *context, struct module_id module);
	/* A copy of code that a process has made, where its functions' code is to be kept. NULL: there are none. */
	void (*need_code)(void *context, const struct code_range *range);
	/* The same of the kernel's function of that name that begins there. May be NULL. */
	void (*need_kernel_code)(void *context, uint64_t start, const char *name);
};

struct symbolizer *
symbolizer_new(const struct symbolizer_requests *requests); /* NULL: out of memory */
void symbolizer_free(struct symbolizer *symbolizer);

/* A new epoch: frames of these tables get rows in these symbols. Files already read are kept (by build-id or device and inode). */
int symbolizer_begin_epoch(struct symbolizer *symbolizer, const struct tables *tables,
			   struct symbols *symbols);

/* fd is taken over; -1 with error < 0 when it is not available: the module's frames become NO_MODULE (a perf map's UNKNOWN). */
int symbolizer_give_module(struct symbolizer *symbolizer, struct module_id module, int fd,
			   int error);
int symbolizer_give_debug_file(struct symbolizer *symbolizer, struct module_id module, int fd,
			       int error);
/* fd, taken over: what could be read of it at that time, from its start on; -1 with error < 0. */
int symbolizer_give_code(struct symbolizer *symbolizer, const struct code_range *range, int fd,
			 int error, uint64_t read_ns);
/* The same; whole_bytes: the function's size. */
int symbolizer_give_kernel_code(struct symbolizer *symbolizer, uint64_t start, const char *name,
				int fd, int error, uint64_t whole_bytes, uint64_t read_ns);

/*
 * Looks at frames published since, and at those waiting for a file; at most max_frames of work; without any it reads a part of the kernel's names,
 * where these have come. Returns how much it handled; 0: nothing to do now.
 */
size_t symbolizer_work(struct symbolizer *symbolizer, size_t max_frames);
/*
 * Lines and inlined functions, too, for the frames of this epoch: wanted once behind symbolizer_begin_epoch(). 0 or -ENOMEM. Then, when
 * symbolizer_work() has nothing to do, a part at a time, the hottest frames first: returns how many it handled, at most `most`; 0:
 * nothing to do now.
 */
int symbolizer_want_lines(struct symbolizer *symbolizer);
size_t symbolizer_look_up_lines(struct symbolizer *symbolizer, size_t most);
/* True when every published frame has its lines, or none are wanted. */
bool symbolizer_has_lines(const struct symbolizer *symbolizer);
/*
 * The code of hot functions, too, beside the names of this epoch: wanted once behind symbolizer_begin_epoch(). 0 or -ENOMEM. Then, about
 * once a second, what is hot is kept, in half of the room; once sampling is over, when all names are there, the rest of it.
 */
int symbolizer_want_code(struct symbolizer *symbolizer);
void symbolizer_keep_code(struct symbolizer *symbolizer);
/* Of code that was copied out of memory, what is ready for it: whenever something has come. */
void symbolizer_keep_copies(struct symbolizer *symbolizer);
/* True when the end's has been done, and no file is awaited for it. */
bool symbolizer_has_kept_code(const struct symbolizer *symbolizer);
/* Asks again for perf maps whose frames have no name yet (the JIT goes on compiling). Call about once a second. */
void symbolizer_refresh(struct symbolizer *symbolizer);
/* Sampling is over: asks for those maps a last time, as one may have been written at the very end. */
void symbolizer_look_again(struct symbolizer *symbolizer);
/* True when what that asked for has come, and its frames have been looked up. */
bool symbolizer_has_looked_again(const struct symbolizer *symbolizer);
/* Files that changed while they were read: what was read is left out, and their frames have no names. */
uint64_t symbolizer_nr_changed(const struct symbolizer *symbolizer);
/* True when every published frame has a final row: nothing waits for an answer. */
bool symbolizer_idle(const struct symbolizer *symbolizer);

#endif

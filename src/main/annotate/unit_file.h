/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_UNIT_FILE_H
#define CTOP_ANNOTATE_UNIT_FILE_H

/*
 * The file in which -gsplit-dwarf has left what a unit describes: without it nothing is known of inlined functions. A disassembler says the
 * unit's id, and no more: a prober reads in the module, or its debug file, which file that names, and in what is found that the unit is
 * there. One at a time; whoever asks serves the opener and the prober.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <ctop/files/opener.h>
#include <ctop/files/prober.h>
#include <ctop/history/history.h>

typedef void unit_file_taker(void *context, int fd); /* the taker's to close; -1: there is none */

struct unit_file {
	struct opener *opener; /* borrowed, as is the other */
	struct prober *prober;
	uint64_t unit;
	int32_t pid;
	const struct history_module_facts *module; /* outlives the search */
	char debuglink[DEBUGLINK_MAX];		   /* of the module; "": none */
	char name[PATH_MAX];			   /* that the unit's skeleton has */
	unsigned place;				   /* the next one */
	int fd;					   /* the one in hand; -1 */
	unit_file_taker *taker;			   /* NULL: nothing is under way */
	void *context;
};

/*
 * namer_fd: the file that names it, borrowed for the asking; debuglink: NULL where the module has none; pid 0: no process has it. The answer
 * may come at once.
 */
void unit_file_ask(struct unit_file *file, uint64_t unit, int namer_fd, const char *debuglink,
		   const struct history_module_facts *module, int32_t pid, unit_file_taker *taker,
		   void *context);
/* What was asked is dropped, without an answer. */
void unit_file_forget(struct unit_file *file);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_NAMES_FROM_H
#define CTOP_NAMES_FROM_H

/*
 * Where the names of a module's functions come from, and what is missing where some have none: closed lists. Numbers are
 * part of the recording's format: never renumber, only add before the NR_. Words are in src/shared/base/names_from.c.
 */

#include <stdint.h>

enum names_from {
	NAMES_FROM_UNKNOWN, /* nobody looked at the module yet */
	NAMES_FROM_NOTHING,
	NAMES_FROM_SYMTAB,
	NAMES_FROM_DYNSYM,	   /* what it exports, and no more */
	NAMES_FROM_DEBUG_BUILD_ID, /* a debug file that has its build-id */
	NAMES_FROM_DEBUG_LINK,	   /* one that has the CRC of its debug link */
	NAMES_FROM_MINI_DEBUG,	   /* .gnu_debugdata */
	NAMES_FROM_DWARF,	   /* its own debug information, without a symbol table */
	NAMES_FROM_PCLNTAB,	   /* Go's own table */
	NAMES_FROM_KALLSYMS,
	NAMES_FROM_PERF_MAP,
	NAMES_FROM_JITDUMP,
	NR_NAMES_FROM
};

enum names_missing {
	NAMES_MISSING_NOTHING,
	NAMES_MISSING_DEBUG_FILE, /* it is stripped, and no debug file was found */
	NAMES_MISSING_FILE,	  /* it could not be opened */
	NAMES_MISSING_SAME_FILE,  /* another file is there now, or it changed while it was read */
	NAMES_MISSING_PERMISSION,
	NAMES_MISSING_TIME,   /* it could not be opened in time */
	NAMES_MISSING_SENSE,  /* it is no ELF file, or damaged */
	NAMES_MISSING_KERNEL, /* /proc/kallsyms hides its addresses */
	NAMES_MISSING_MAP,    /* of generated code: neither a dump nor a perf map */
	NAMES_MISSING_SPLIT, /* of what was inlined alone: it is in files of -gsplit-dwarf's that are not here */
	NAMES_MISSING_DEBUG_SENSE, /* its debug file was found, and is damaged */
	NAMES_MISSING_LINES, /* names are there; its debug information is damaged, or of a kind that nobody knows */
	NR_NAMES_MISSING
};

/* Both as the symbolizer, or a recording, says them. */
struct module_names {
	uint32_t from, missing;
};

/* For a column, ".symtab"; numbers out of range are unknown. */
const char *names_from_name(uint32_t from);
/* A sentence without its full stop; "" where nothing is missing. */
const char *names_missing_text(uint32_t missing);

#endif

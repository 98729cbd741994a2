/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_OBJECT_INTERNAL_H
#define CTOP_ELF_OBJECT_INTERNAL_H

#include <time.h>

#include <ctop/elf/object.h>

struct segment {
	uint64_t elf_address;
	uint64_t file_offset;
	/* That are really there; of a debug file: that it says there were, if it does. */
	uint64_t file_bytes;
	uint64_t memory_bytes;
	bool writable, executable;
};

struct range {
	uint64_t start, end; /* elf addresses */
};

struct known_range {
	struct range extent;
	enum known_function is;
};

struct known_ranges {
	struct known_range *items; /* a handful */
	size_t nr, capacity;
};

struct object {
	Elf *elf;
	const char *bytes; /* the whole file, libelf's */
	size_t file_bytes;
	uint64_t page_bytes;
	uint16_t machine;
	uint64_t entry;
	bool is_program; /* not a library, nor the loader */
	bool needs_libraries;
	bool has_only_code; /* or not even that: no linker made it */
	bool is_debug_file; /* its code is not in it */
	struct object_identity identity;
	/* The file as it was when it was opened; fd: to look again, -1 where there are too many. */
	int fd;
	uint64_t opened_bytes;
	struct timespec modified, changed;
	uint64_t nr_links;
	uint64_t build_id_at;		  /* where in the file it is */
	uint8_t head[sizeof(Elf64_Ehdr)]; /* the file's, as it was */
	struct segment *segments;	  /* PT_LOAD only */
	size_t nr_segments;
	bool symbols_read;
	struct known_ranges known;
	bool starters_read;
	struct {
		struct range *items;
		size_t nr, capacity;
	} starters; /* starters.c */
};

#endif

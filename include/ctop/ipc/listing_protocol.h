/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_LISTING_PROTOCOL_H
#define CTOP_IPC_LISTING_PROTOCOL_H

/*
 * Between main and a disassembler, a child that lists the instructions of one function. It is sent a question with the module's file
 * beside it (or what else has the function's bytes, enum listing_source), then, if there are any, its debug file and others that belong to it, then memory for the listing (of LISTING_BYTES, sealed in size); it fills that, sends
 * one answer and ends. Main reads the memory when the child is gone: nobody changes it any more, but what it holds is a claim, checked
 * by listing_take().
 */

#include <stddef.h>
#include <stdint.h>

enum {
	LISTING_CODE_MAX = 2 << 20, /* bytes of a function: longer ones are cut */
	LISTING_ROWS_MAX = 1 << 19,
	LISTING_FILES_MAX = 4096,
	LISTING_CALLS_MAX = 1 << 18,
	LISTING_NAMES_MAX = 1 << 16,
	LISTING_DEPTH_MAX = 63, /* functions inlined in each other */
	LISTING_STRINGS_MAX = 48 << 20,
	LISTING_NAME_MAX = 4096,
	LISTING_TEXT_MAX =
		LISTING_NAME_MAX + 32, /* bytes of an instruction or a target, with its NUL */
	LISTING_PATH_MAX = 4096,       /* of a file or a directory: nothing longer can be opened */
};

/* What stands beside the question. */
enum listing_source {
	LISTING_OF_FILE,  /* the module's file */
	LISTING_OF_BYTES, /* the function's bytes alone */
	LISTING_OF_DUMP,  /* a JIT's dump, that has its bytes and lines */
	LISTING_OF_MEMORY, /* memory that it lies in; for a debug file stands the perf map that says how far it goes */
	NR_LISTING_SOURCES
};

/* A function without its file: all of it, or what of memory was copied. */
struct listing_bytes {
	uint64_t bias;	  /* added to frames' addresses gives elf addresses */
	uint32_t size;	  /* at most LISTING_CODE_MAX */
	uint16_t machine; /* EM_X86_64, ... */
	uint16_t is_cut;  /* the function goes on */
};

struct listing_question {
	uint32_t source; /* enum listing_source */
	struct listing_bytes bytes;
	uint64_t memory_start; /* LISTING_OF_MEMORY: of the bytes */
	uint64_t
		start; /* of the function, as frames have it: an elf address, or an offset in the file */
	uint32_t has_debug; /* a debug file follows */
	uint32_t
		has_common; /* then one that dwz has put what they have in common with others into */
	uint64_t split_unit; /* not 0: then one that -gsplit-dwarf has put this unit into */
	uint32_t has_name;   /* else no symbol names it */
	uint32_t wants_calls;
	char name
		[LISTING_NAME_MAX]; /* as shown, without what it is marked with: to tell addresses from offsets */
};

enum listing_kind {
	LISTING_PLAIN,
	LISTING_JUMP,
	LISTING_CALL,
	LISTING_RETURN,
	LISTING_NOT_CODE,
	NR_LISTING_KINDS
};

/* An instruction. Addresses are elf addresses; texts are offsets of strings. */
struct listing_row {
	uint64_t address;
	uint64_t target;      /* of a jump or a call; 0: it has none that is known */
	uint32_t text;	      /* "mov    eax, 1" */
	uint32_t target_name; /* "memcpy@plt"; 0: inside the function, or not known */
	uint32_t file;	      /* 1 + row of files; 0: not known */
	uint32_t line;
	uint16_t size;
	uint16_t kind; /* enum listing_kind */
	uint32_t call; /* 1 + row of calls: what was inlined there; 0: nothing, or not known */
};

struct listing_file {
	uint32_t path, directory; /* as the compiler was given it; where it ran */
};

/* A call in whose place the compiler put the function that is called. */
struct listing_call {
	uint32_t
		outer; /* 1 + row of the call that it is in, a row before this; 0: the function's own */
	uint32_t function;   /* 1 + row of names; 0: not known */
	uint32_t file, line; /* of the call: 1 + row of names, without directories; 0: not known */
	uint32_t depth;	     /* 1 + that of outer; LISTING_DEPTH_MAX at most */
};

struct listing_answer {
	int32_t error; /* 0; -ENXIO: no function begins there, -ENODATA: the file has no such code, -ENOTSUP: another machine's,
			      -ENOEXEC: no ELF file, -ENOSYS: no libcapstone, or another -errno */
	uint32_t is_cut;     /* the function goes on */
	uint64_t start, end; /* of what is listed */
	uint64_t bias;	     /* added to frames' addresses gives elf addresses */
	uint32_t nr_rows, nr_files, nr_calls, nr_names, string_bytes;
	uint32_t lacks_calls;	 /* there are more than can be told */
	uint32_t lacks_of_debug; /* of the next: the debug file says so, not the module's */
	uint64_t lacks_unit; /* what was inlined is in a file of this unit that is not at hand; 0 */
};

/* Where things lie: rows, files, calls, names (each a string), strings, of which the first is "". No two share any other string. */
#define LISTING_FILES_AT ((size_t)LISTING_ROWS_MAX * sizeof(struct listing_row))
#define LISTING_CALLS_AT                                                                           \
	(LISTING_FILES_AT + (size_t)LISTING_FILES_MAX * sizeof(struct listing_file))
#define LISTING_NAMES_AT                                                                           \
	(LISTING_CALLS_AT + (size_t)LISTING_CALLS_MAX * sizeof(struct listing_call))
#define LISTING_STRINGS_AT (LISTING_NAMES_AT + (size_t)LISTING_NAMES_MAX * sizeof(uint32_t))
#define LISTING_BYTES	   (LISTING_STRINGS_AT + (size_t)LISTING_STRINGS_MAX)

#endif

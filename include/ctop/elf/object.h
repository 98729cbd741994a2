/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_OBJECT_H
#define CTOP_ELF_OBJECT_H

/*
 * One ELF file, 64-bit or of i386, by descriptor: its segments, build-id, entry, and where known
 * outermost functions lie. Used by the collector (CFI) and the symbolizer (names);
 * both are jailed: the bytes are untrusted. Knows nothing of processes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

#include <ctop/base/error.h>

struct object;

struct object_identity {
	uint8_t build_id[20];
	uint32_t build_id_size; /* 0: none */
};

/*
 * Maps the file at fd, and takes fd over, also on failure. NULL with the cause in error, also when it changed meanwhile.
 * A file that is cut later ends its reader by SIGBUS, unless lost_pages_survive() was called (base/lost_pages.h);
 * one that is overwritten may change between two looks at it: object_is_as_opened() tells, jails and restarts are for the rest.
 */
struct object *object_open(int fd, struct error *error);
/*
 * True as long as the file is the one that was opened, by its size and time: what was read up to now is all of one
 * file. While it is being read, by its status, too: one that may be unlinked or renamed later may not while it is read. (Who
 * writes through a mapping that was written to just before is not seen.) True, too, where there is no descriptor left to look by.
 */
bool object_is_as_opened(const struct object *object, bool while_read);
void object_free(struct object *object); /* NULL is fine */

/*
 * False when the file was overwritten with another program since: by its header and its build-id, which is what
 * differs between builds. Cheap.
 */
bool object_is_unchanged(const struct object *object);
bool object_same_size(const struct object *a, const struct object *b);
/* True when the files have the same bytes, all of them read. False, too, when that would take long. */
bool object_same_bytes(const struct object *a, const struct object *b);

Elf *object_elf(const struct object *object);
/* False when the file says of its sections that they are where it has nothing: it was cut, or its headers are damaged. */
bool object_has_its_sections(const struct object *object);
const struct object_identity *object_identity(const struct object *object);
uint16_t object_machine(const struct object *object); /* EM_X86_64, ... */
/* True when there is nothing but code to be mapped: it was generated, and put into a file later (perf inject --jit). */
bool object_is_generated(const struct object *object);

/*
 * The elf address of a byte of the file, through the PT_LOAD that holds it.
 * A mapping of file_offset at process address `start` has the bias
 * start - elf_address(file_offset). False when no segment covers it.
 */
bool object_elf_address(const struct object *object, uint64_t file_offset, uint64_t *elf_address);

/*
 * The elf address of the first byte of a mapping of so many bytes from the file: as object_elf_address(), but a
 * debug file, which need not know where in the file its code was, tells it by the mapping's size, or not at all.
 */
bool object_mapping_address(const struct object *object, uint64_t file_offset, uint64_t bytes,
			    uint64_t *elf_address);

/* Reads constant data (a PT_LOAD without PF_W) at an elf address. False when it is not all there: of a debug file, never. */
bool object_read(const struct object *object, uint64_t elf_address, void *bytes, size_t size);

/* An executable, read-only segment's bytes in the file, as long as the object lives. */
struct object_code {
	uint64_t start; /* elf address */
	const uint8_t *bytes;
	size_t size;
	size_t nr_segments; /* of the file: object_read() looks at so many */
};
/* The one that holds an elf address. False when none does: of a debug file, never. */
bool object_code(const struct object *object, uint64_t elf_address, struct object_code *code);

/* What is known of a function by its name, or because a program or interpreter starts there. */
enum known_function {
	FUNCTION_ORDINARY,
	/*
	 * It has no caller: the program's or the interpreter's entry, _start, _dl_start_user, glibc's __clone
	 * (which is clone) and __clone3, musl's and Go's thread and program starts.
	 */
	FUNCTION_ROOT,
	FUNCTION_SWITCH,	  /* of Go: calls on another stack (systemstack, asmcgocall) */
	FUNCTION_SWITCH_FOR_GOOD, /* the same, and what it calls never returns to it (mcall, morestack) */
	/* Of Go: calls on another stack, too, but its frame pointer goes on pointing to its frame, on whichever stack that is (clocks). */
	FUNCTION_SWITCH_WITH_RECORD,
	FUNCTION_AS_IF_CALLED, /* of Go: returns to exactly where its "caller" was interrupted */
	FUNCTION_RESTORER,     /* of Go: what signal handlers return to */
	/* Of CPython: evaluates a function; called from generated code, it is by one of its trampolines. */
	FUNCTION_EVALUATOR,
};

/* By .symtab and .dynsym, which are read once, on first use. */
enum known_function object_known_function(struct object *object, uint64_t elf_address);
bool object_is_root(struct object *object, uint64_t elf_address);
/* Calls main() or a thread's function, and is called by a root alone: where frame pointers end. Read once, on first use. */
bool object_starts_tasks(struct object *object, uint64_t elf_address);

#endif

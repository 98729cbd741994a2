/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MODULE_IDENTITY_H
#define CTOP_MODULE_IDENTITY_H

/*
 * Which file a module is: one answer for the collector, main's opener, the symbolizer, the history, recordings and selections.
 *
 * A path does not say it: files are replaced, and other mount namespaces have others. A build-id alone does not either:
 * whoever makes a file chooses what its note says. A file is its inode, for as long as there is one; what was rewritten in
 * place is known by its build-id. Different files are one module only
 *   - if root owns both, and they have the same build-id: nobody else chose what is in them;
 *   - or if the collector compared their bytes, and then gave them one identity (collect/modules.c).
 * Device and inode of a mapping come from the kernel; the owner is known once main has opened the file, the build-id once it
 * was read. What is not known yet contradicts nothing. Pure; knows no path, no descriptor and no table.
 */

#include <stdbool.h>
#include <stdint.h>

enum { BUILD_ID_MAX = 20, DEBUGLINK_MAX = 256 /* a debug file's name */ };

/*
 * A module's debug file; or what dwz has put into a file of its own, or -gsplit-dwarf into one for each unit, and the module, or its debug
 * file, names.
 */
enum debug_file {
	DEBUG_FILE_OWN,
	DEBUG_FILE_COMMON_OF_MODULE,
	DEBUG_FILE_COMMON_OF_DEBUG,
	DEBUG_FILE_SPLIT_OF_MODULE,
	DEBUG_FILE_SPLIT_OF_DEBUG,
	NR_DEBUG_FILES
};

/* No padding: may be hashed and compared as bytes. All zero: nothing is known. */
struct module_identity {
	uint64_t inode; /* 0: not known */
	uint32_t device_major, device_minor;
	uint32_t generation; /* of the inode; 0: not known */
	uint32_t
		owner_plus_1; /* 1 + user id; 0: not known, or others than the owner may have written it */
	uint32_t build_id_size; /* 0: not known, or it has none */
	uint8_t build_id[BUILD_ID_MAX];
};

enum { MODULE_OWNED_BY_ROOT = 1 }; /* of owner_plus_1 */

/* Takes over a build-id; none if it is too long to be one. */
void module_identity_set_build_id(struct module_identity *identity, const void *build_id,
				  uint64_t size);
/* Both are known and equal. */
bool module_identity_same_build_id(const struct module_identity *a,
				   const struct module_identity *b);

/* True if what both say of themselves makes them one module. Compare paths, too: perhaps one of them says nothing. */
bool module_identity_same(const struct module_identity *a, const struct module_identity *b);

/* Adds what is known of the same module from elsewhere. True if that was anything new. */
bool module_identity_learn(struct module_identity *identity, const struct module_identity *more);

/*
 * What to find by what was read of it: equal keys are one module. (One module may have several: root's stripped and
 * unstripped files of one build; one of which not everything is known yet. Each is read.) False: nothing is known, the key
 * is all zero, take the path.
 */
bool module_identity_content_key(const struct module_identity *identity,
				 struct module_identity *key);
/* What to find an open descriptor by: the inode, whatever else is known by now; without one, the build-id. As above. */
bool module_identity_file_key(const struct module_identity *identity, struct module_identity *key);

/*
 * When a process started, by CLOCK_MONOTONIC; 0: not known. /proc tells it to 10 ms, a fork's record exactly: two times so
 * near are one. A pid does not come again that soon.
 */
bool process_start_same(uint64_t a_ns, uint64_t b_ns);

/*
 * Whether the process that has a pid now, and since then by /proc, is the one whose fork's record has that other time, or 0: not known. A
 * process starts before its record is written, and on busy CPUs, or with much memory to copy, long before; but who had the pid by
 * then and has it now is the same.
 */
bool process_is_still(uint64_t lives_since_ns, uint64_t recorded_ns);

#endif

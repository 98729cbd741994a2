/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BROKER_MAPPED_FILES_H
#define CTOP_BROKER_MAPPED_FILES_H

/*
 * Which files are mapped, and which processes are in the profile, as the kernel itself told main: by the side-band
 * records that main reads (src/main/perf/sideband.c) and by /proc/PID/maps. A child's request for a file is looked up here; what
 * the child says of it only chooses among what the kernel named. Main only. Bounded: the files named first go first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/kernel/record.h>

struct mapped_files;

/* A file, and where it was mapped last. path is borrowed until the next call that adds something. */
struct mapped_file {
	const char *path;
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint32_t generation; /* 0: not known */
	int32_t pid;
	uint64_t start, end, file_offset;
};

struct mapped_files *mapped_files_new(void); /* NULL: out of memory */
void mapped_files_free(struct mapped_files *files);

/* ---- what the kernel reports ---- */

/* Every process is in the profile: whole CPUs are sampled. */
void mapped_files_take_everybody(struct mapped_files *files);
/* Records come of whole CPUs all the same: from now on those of others than the profile's and their children are passed over. */
void mapped_files_expect_others(struct mapped_files *files);
/* Who had that pid then, by CLOCK_MONOTONIC; somebody who is given it later is not in the profile. */
void mapped_files_add_process(struct mapped_files *files, int32_t pid, uint64_t seen_ns);
/* A side-band record: maps, forks and exits. True when it named a file that was not known, which is then in *fresh. */
bool mapped_files_take(struct mapped_files *files, const struct record *record,
		       struct mapped_file *fresh);
/* The text of a process's maps. */
void mapped_files_take_maps(struct mapped_files *files, int32_t pid, const char *text, size_t size);

/* ---- asked ---- */

/* The pids of the profile's processes, as far as they are known one by one, at most `most`; how many. Some have ended. */
size_t mapped_files_processes(const struct mapped_files *files, int32_t *pids, size_t most);
/* Whether the process that has this pid now is. */
bool mapped_files_has_process(const struct mapped_files *files, int32_t pid);
/*
 * The process that pid was forked from, as a record told, where neither has mapped code since: both have the same
 * code at the same addresses. Also of a pid that has ended. 0: that is not known.
 */
int32_t mapped_files_same_image(const struct mapped_files *files, int32_t pid);
/*
 * The file at a path that was mapped by a process of the profile: the one with that inode (0: any), rather where
 * pid has it at that start. False: the kernel named none.
 */
bool mapped_files_find(const struct mapped_files *files, const char *path, uint64_t inode,
		       int32_t pid, uint64_t start, struct mapped_file *file);
/* The dump of its generated code that a process has mapped to say so, the last one: jit-NUMBER.dump, as perf's documentation has it. */
bool mapped_files_find_dump(const struct mapped_files *files, int32_t pid,
			    struct mapped_file *file);

#endif

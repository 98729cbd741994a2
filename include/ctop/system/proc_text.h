/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_PROC_TEXT_H
#define CTOP_SYSTEM_PROC_TEXT_H

/* What /proc says of a process or thread, now. All of it is untrusted text, or not there at all. */

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <ctop/base/text.h>
#include <ctop/kernel/stat_line.h>

/* What libc opens and asks, below /proc/PID as the privilege to look into it allows. */
FILE *proc_fopen(const char *path);
DIR *proc_opendir(const char *path);
int proc_stat(const char *path, struct stat *status);
/* The next process of a listing of /proc; 0: that was all. */
int32_t proc_next_pid(DIR *processes);

/* Reads /proc/PID/WHAT as a string, cut at size. Its size; 0 when it cannot be read. */
size_t proc_text(int32_t pid, const char *what, char *text, size_t size);
/* The same without the kernel's own line end; one that is the name's stands before it. */
size_t proc_line(int32_t pid, const char *what, char *text, size_t size);

/* The parent of a process; 0 when it cannot be read. */
int32_t proc_parent(int32_t pid);
/* The process that a thread belongs to; 0 when it cannot be read. */
int32_t proc_of_thread(int32_t tid);

/* When a process started, by CLOCK_MONOTONIC, by ticks of 10 ms; 0 when it cannot be read. */
uint64_t proc_start_ns(int32_t pid);
/* CPU time of a process, all its threads and those that have ended, by ticks of 10 ms; 0 when it cannot be read. */
uint64_t proc_cpu_ns(int32_t pid);
/* The file that it runs, whatever that is called by now. */
struct proc_program {
	uint64_t device, inode;
};
/* False when it cannot be read. */
bool proc_program(int32_t pid, struct proc_program *program);
bool proc_is_same_program(const struct proc_program *a, const struct proc_program *b);

/* What its stat says of a process (tid 0), or of a thread of it. False, and all 0, when it cannot be read. */
bool proc_stat_line(int32_t pid, int32_t tid, struct stat_line *line);
enum { PROC_PLACE_BYTES = 48 };
/* The kernel's function that a thread waits in; "": it does not, or that is not known. */
void proc_place(int32_t pid, int32_t tid, char place[PROC_PLACE_BYTES]);

#endif

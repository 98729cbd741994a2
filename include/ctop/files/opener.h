/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_OPENER_H
#define CTOP_FILES_OPENER_H

/*
 * A process of main's own privileges that looks up and opens files (files/locate.h), and reads /proc/PID/maps and code: either
 * may hang, in a file system of the target's or in a process that is stuck. One that takes longer than 2 s (system/patience.h) is ended and
 * replaced, and what it was asked for is not available; main waits for nothing. It parses no file, and knows nobody but
 * main: forked from it, not executed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/files/locate.h>
#include <ctop/ipc/channel.h>
#include <ctop/module_identity.h>

enum opener_kind {
	OPENER_MODULE,		/* locate_module() */
	OPENER_RECORDED_MODULE, /* locate_recorded_module() */
	OPENER_CACHED_DEBUG,	/* locate_cached_debug_file() */
	OPENER_DEBUG_BUILD_ID,	/* locate_debug_by_build_id() */
	OPENER_DEBUG_LINK,	/* locate_debug_by_link() */
	OPENER_DEBUG_COMMON,	/* locate_common_debug_file() */
	OPENER_SPLIT,		/* locate_split_file() */
	OPENER_VMLINUX,		/* locate_vmlinux(); the path is the one that the user has named */
	OPENER_PERF_MAP, /* locate_perf_map(); identity's owner is locate_perf_map_owner(), found or not */
	OPENER_LEFT_PERF_MAP, /* locate_left_perf_map() */
	OPENER_MAPS,	      /* the text of /proc/PID/maps, in memory that is sealed */
	OPENER_CODE, /* the same of code that the process has made, from start to end: process_code.h */
	/* Of the function of the running kernel that begins at start, and is called path ("": any), its first OPENER_KERNEL_CODE_MAX bytes: kernel_code.h. */
	OPENER_KERNEL_CODE,
	/*
	 * The text of a source file, a copy in memory that is sealed: a regular file of OPENER_SOURCE_MAX bytes at most (-EFBIG), looked up and
	 * read as the user who called ctop, whoever runs it.
	 */
	OPENER_SOURCE,
	/* The kernel's functions as text, of the cache (kernel_names.h), for the answer's kernel_names. */
	OPENER_KERNEL_NAMES,
	OPENER_COMMAND, /* the same of /proc/PID/cmdline, its first OPENER_COMMAND_MAX bytes: it lies in the process's own memory */
};

enum {
	OPENER_COMMAND_MAX = 4096,
	OPENER_SOURCE_MAX = 16 << 20,
	OPENER_KERNEL_CODE_MAX = 128 << 10
};

/* Where the kernel's names came from. */
enum kernel_names_from {
	KERNEL_NAMES_NOT_ASKED,
	KERNEL_NAMES_NOT_KEPT, /* printed by the kernel, for this run alone */
	KERNEL_NAMES_KEPT,     /* printed, and put into the cache */
	KERNEL_NAMES_CACHED,
	KERNEL_NAMES_COMPLETED, /* of the cache, then printed, too: an address was in none of them */
};

struct opener_request {
	enum opener_kind kind;
	unsigned candidate;	       /* which of several places, from 0 */
	struct locate_request request; /* its strings are copied */
	const char *debuglink;	       /* OPENER_DEBUG_LINK, OPENER_DEBUG_COMMON */
};

struct opener_answer {
	int error;    /* 0, or -errno: no descriptor; -ETIMEDOUT */
	bool by_name; /* to be proved: see files/locate.h */
	/* Whose file it is (files/file_identity.h): debug files; OPENER_MODULE, unless by name. */
	struct module_identity identity;
	int64_t written_ns;		     /* OPENER_SOURCE: when it was, by CLOCK_REALTIME */
	uint64_t whole_bytes;		     /* OPENER_KERNEL_CODE: of the function */
	enum kernel_names_from kernel_names; /* OPENER_KERNEL_NAMES */
};

/* fd is the taker's to close, -1 with an error. */
typedef void opener_taker(void *context, const struct opener_answer *answer, int fd);

struct opener;

struct opener *
opener_new(void); /* NULL: out of memory; the process starts when it is first asked */
void opener_free(struct opener *opener);

/*
 * Answers come in the order of the requests, each from opener_serve(). 0; -ENOBUFS: too many wait; -ENOMEM, -E2BIG.
 * Where the process cannot be started, that is the answer.
 */
int opener_ask(struct opener *opener, const struct opener_request *request, opener_taker *taker,
	       void *context);
/* Nobody waits any more for what was asked with that context. */
void opener_forget(struct opener *opener, const void *context);
int opener_fd(const struct opener *opener); /* to poll for POLLIN; -1 while nothing is awaited */
/* How long until opener_serve() must be called, whatever comes, in ms; -1: nothing is awaited. */
int opener_timeout_ms(const struct opener *opener);
/* Takes what has come; ends the process when its time is over. */
void opener_serve(struct opener *opener);
int32_t opener_pid(const struct opener *opener); /* 0: it does not run */

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_FETCHER_PROTOCOL_H
#define CTOP_IPC_FETCHER_PROTOCOL_H

/*
 * Between main and a fetcher, a child that asks debuginfod servers for one debug file, or one source file: the question, with a file of main's beside it
 * that it is written to, and reports, the last of which says what came of it. What a report says is the child's word.
 */

#include <stdint.h>

#include <ctop/module_identity.h>

enum { FETCH_URLS_MAX = 2048, FETCH_CACHE_MAX = 1024, FETCH_SOURCE_MAX = 1024 };

struct fetch_question {
	uint32_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t patience_s;
	uint64_t most_bytes;
	char urls[FETCH_URLS_MAX];   /* as DEBUGINFOD_URLS has them */
	char cache[FETCH_CACHE_MAX]; /* the user's directory of caches; "": below his home */
	char source
		[FETCH_SOURCE_MAX]; /* of that program, by its whole path as DWARF has it; "": its debug file */
};

struct fetch_report {
	uint32_t is_last;
	int32_t error; /* of the last: 0; -ENOENT: no server has it; -ETIMEDOUT, -EFBIG; -ENOSYS: no libdebuginfod; ... */
	uint64_t done, total; /* bytes; total 0: not known */
};

#endif

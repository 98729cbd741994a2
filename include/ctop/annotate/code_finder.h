/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_CODE_FINDER_H
#define CTOP_ANNOTATE_CODE_FINDER_H

/*
 * From a function of a profile to its instructions: opens the module's file, proves that it is the one that was profiled, finds its debug
 * file, here or on servers, and has a jailed child list it; where that fails, the bytes that a recording has kept. Nothing waits: it is polled and served. Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/annotate/sources.h>
#include <ctop/base/error.h>
#include <ctop/files/listing.h>
#include <ctop/history/history.h>

struct code_request {
	struct history_module_facts module; /* its strings must outlive the search */
	int32_t pid;			    /* live: a process that runs it; 0: what was recorded */
	bool is_live; /* the kernel, or the process that generated the code, is looked at now; the latter */
	bool may_look;	  /* and is in the profile, */
	int dump_fd;	  /* and of its JIT's dump; -1: there is none. Borrowed for the asking */
	uint64_t start;	  /* of the function, in the module's space */
	const char *name; /* NULL: no symbol names it. Outlives the search */
	bool wants_calls; /* that the compiler put in */
	struct history_code kept; /* for where there is no file; copied. size 0: nothing was kept */
	uint64_t origin_ns;	  /* of the profile: times are told from there on */
};

/* Of a function that begins there: what is known of it. All else is as for what was recorded. */
struct code_request code_request_of(const struct history *history, struct function_id function,
				    uint32_t module, uint64_t start);

struct code {
	struct listing *listing;
	struct source_program program; /* its sources are of */
	const char *
		fetch_problem; /* why servers, which were asked for its debug file, gave none: "debuginfod has none"; NULL */
	int64_t written_ns; /* the module's file, by CLOCK_REALTIME; INT64_MAX: there is none */
	const char *
		kept; /* where it comes from, if not from the file, and why; borrowed until the next search. NULL: the file's */
};
void code_release(struct code *code);

/* error: 0 or -errno, see code_explain(); code is the taker's. */
typedef void code_taker(void *context, int error, struct code *code);

struct code_finder;

struct code_finder *code_finder_new(void); /* NULL: out of memory */
void code_finder_free(struct code_finder *finder);
/* Asks these debuginfod servers, as DEBUGINFOD_URLS names them, for debug files where a listing has no lines without. 0 or -ENOMEM. */
int code_finder_use_servers(struct code_finder *finder, const char *urls);
/* What servers are asked for now, safe text; nothing: they are not. */
void code_finder_tell_fetching(const struct code_finder *finder, struct text *out);
/* One at a time: what was asked before is dropped. The answer comes from here, or from code_finder_serve(). */
void code_finder_ask(struct code_finder *finder, const struct code_request *request,
		     code_taker *taker, void *context);
/* What was asked is dropped, without an answer. */
void code_finder_forget(struct code_finder *finder);
bool code_finder_is_busy(const struct code_finder *finder);
/* Waits for what is under way, at most so long, and serves it. */
void code_finder_serve(struct code_finder *finder, int timeout_ms);
/* What was asked for last. */
const struct code_request *code_finder_request(const struct code_finder *finder);
/* The opener's process; 0: none. It is none of what is sampled. */
int32_t code_finder_pid(const struct code_finder *finder);

/* Why there is no listing, and what would help. Returns error. */
int code_explain(const struct code_request *request, int code, struct error *error);

#endif

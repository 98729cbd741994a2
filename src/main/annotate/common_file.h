/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_COMMON_FILE_H
#define CTOP_ANNOTATE_COMMON_FILE_H

/*
 * What dwz has put into a file of its own, since several programs have it in common: without it inlined functions have no names. Looked for
 * here, then asked of debuginfod servers, and proved. One at a time; whoever asks serves the opener, the prober and the fetcher.
 */

#include <stdbool.h>

#include <ctop/files/fetcher.h>
#include <ctop/files/opener.h>
#include <ctop/files/prober.h>
#include <ctop/history/history.h>

typedef void common_taker(void *context, int fd); /* the taker's to close; -1: there is none */

struct common_file {
	struct opener *opener; /* borrowed, as are the others */
	struct prober *prober;
	struct fetcher *fetcher; /* NULL: no servers are asked */
	struct opener_request ask;
	struct prober_answer namer; /* the file that names it */
	uint32_t owner_plus_1;	    /* the module's */
	int fd;			    /* the one in hand; -1 */
	common_taker *taker;
	void *context;
};

/* Whether a debug file of such an owner is believed for a module, as the broker believes it: root's, ours, or whose the module is. */
bool debug_file_is_believed(const struct module_identity *debug, uint32_t modules_owner_plus_1);

/* Of the file that `namer` is said of, of a module that a process has (pid 0: none). The answer may come at once. */
void common_file_ask(struct common_file *common, const struct prober_answer *namer,
		     const struct history_module_facts *module, int32_t pid, common_taker *taker,
		     void *context);
/* What was asked is dropped, without an answer. */
void common_file_forget(struct common_file *common);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_THREADS_H
#define CTOP_INTERACTIVE_THREADS_H

/*
 * The threads of the target's processes, those that sleep, too. A process may have more of them than a refresh may take:
 * they are listed bit by bit, and again once a second at most, so that it takes a fiftieth of main's time.
 */

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/session/session.h>
#include <ctop/system/thread_now.h>
#include <ctop/ui/ui.h>

struct thread_rows {
	struct ui_thread *items;
	size_t nr, capacity;
};

struct threads {
	int32_t only_pid; /* 0: all of the target */
	struct thread_rows listed, listing;
	bool complete; /* listed is a whole listing */
	struct {
		int32_t *items;
		size_t nr, capacity;
	} pids;
	size_t at; /* of pids: the one being listed */
	DIR *dir;  /* its threads; NULL: none is open */
	bool begun;
	uint64_t cost_ns, due_ns; /* of the listing under way; when the next may begin */
	struct thread_clock clock;
};

/* Goes on with the listing. *out, sorted by pid and tid, is borrowed until the next call. 0 or -ENOMEM. */
int threads_list(struct threads *threads, const struct session *session,
		 const struct options *options, int32_t only_pid, const struct ui_thread **out,
		 size_t *nr);
void threads_release(struct threads *threads);

#endif

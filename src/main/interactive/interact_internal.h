/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_INTERACT_INTERNAL_H
#define CTOP_INTERACTIVE_INTERACT_INTERNAL_H

/* The interface's side of the program: interact.c is its front end (session/loop.h), interact_host.c what the screens ask for. */

#include <ctop/interactive/interact.h>
#include <ctop/session/loop.h>
#include <ctop/terminal/terminal.h>
#include <ctop/ui/ui.h>

#include "commands.h"
#include "facts.h"
#include "processes.h"
#include "shown_code.h"
#include "thread_shares.h"
#include "threads.h"

struct interact {
	struct loop loop;
	const struct options *options;
	struct terminal *terminal;
	int signal_fd, watch_fd; /* watch_fd: an epoll of all that wakes the loop */

	/* what is shown */
	struct interact_source source; /* all zero: the picker */
	struct ui *ui, *picker;	       /* ui: the one on the screen */
	struct facts facts;
	struct processes processes;
	struct threads threads;
	struct thread_shares shares;
	struct commands commands;
	struct shown_code code;

	uint64_t begun_ns;
	uint64_t refresh_ns;   /* when the next is due */
	uint64_t advance_ns;   /* when it, or some of its work, is */
	bool has_more;	       /* of that work, to be done as soon as no key waits */
	bool was_due;	       /* a refresh, when some of its work was done last */
	bool is_ahead;	       /* all of that work has been done */
	bool interrupted;      /* by the terminal's ^C, and with us all that it runs */
	int session_result;    /* -errno: it cannot go on; its cause is in the caller's error */
	const char *wanted;    /* what the picker is filtered by at first; NULL */
	const int32_t *picked; /* borrowed of the picker */
	size_t nr_picked;
};

struct ui_host interact_host(struct interact *interact);

#endif

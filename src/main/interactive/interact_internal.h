/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_INTERACT_INTERNAL_H
#define CTOP_INTERACTIVE_INTERACT_INTERNAL_H

/* The interface's side of the program: interact.c has the loop, interact_host.c what the screens ask for. */

#include <ctop/interactive/interact.h>
#include <ctop/session/course.h>
#include <ctop/ui/terminal.h>
#include <ctop/ui/ui.h>

#include "facts.h"
#include "processes.h"

struct interact {
	const struct options *options;
	struct terminal *terminal;
	int signal_fd, timer_fd, watch_fd; /* watch_fd: an epoll of all that wakes the loop */

	/* what is shown */
	struct interact_source source; /* all zero: the picker */
	struct ui *ui, *picker;	       /* ui: the one on the screen */
	struct facts facts;
	struct processes processes;

	uint64_t begun_ns;
	uint64_t refresh_ns; /* when the next is due */
	struct course course;
	bool leaving;
	bool interrupted;   /* by the terminal's ^C, and with us all that it runs */
	int session_result; /* -errno: it cannot go on; its cause is in the caller's error */
	int32_t picked_pid;
};

struct ui_host interact_host(struct interact *interact);

#endif

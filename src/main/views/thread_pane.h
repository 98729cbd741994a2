/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_THREAD_PANE_H
#define CTOP_VIEWS_THREAD_PANE_H

/* A thread, a process or a program in a pane beside a list: what it is, what it does now, and the stack that it spends most on. */

#include <ctop/screen/model.h>

struct thread_pane {
	const struct selection_task *task;
	const struct ui_thread_now *now; /* NULL: not known */
	const struct ui_times *times;	 /* the same */
	const char *title, *command;	 /* safe; "": not known */
};

void thread_pane_draw(const struct thread_pane *thread, struct model *model, struct cells *cells,
		      struct area area);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_THREAD_ROWS_H
#define CTOP_VIEWS_THREAD_ROWS_H

/*
 * Which threads or processes the view lists: those that have samples, by what they used, and behind them those that have
 * none, as long as only a process or a thread is asked for. Other filters ask for samples, which those have not.
 */

#include <ctop/screen/model.h>

/* Fills *rows, which has those of the last time, or nothing. 0 or -ENOMEM. */
int thread_rows_read(struct model *model, enum selection_tasks_of which,
		     struct selection_tasks *rows);
/* What is listed unless the user chooses: of whole machines programs, of a program its processes, else threads. */
enum selection_tasks_of thread_rows_default(const struct model *model);
/* It has not run in the window: nothing is known of it but that it is there, and it has no comm. */
static inline bool thread_row_sleeps(const struct selection_task *row)
{
	return !row->samples;
}

#endif

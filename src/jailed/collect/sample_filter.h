/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_SAMPLE_FILTER_H
#define CTOP_COLLECT_SAMPLE_FILTER_H

/* Whose samples are kept, by message_config.comm and uid. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ipc/protocol.h>

struct collector;
struct owner;
struct process;
struct record;

struct sample_filter {
	struct owner *owners; /* users of processes, with config.filters_uid */
};

/*
 * 0: this sample's; 1: not, and counted; -EAGAIN: come again with the same record when main has answered (patient
 * only, as in stack_sample()); -ENOMEM.
 */
int sample_filter_task(struct collector *collector, struct process *process,
		       const struct record *record, bool patient);
/* now_ns by the records' time. */
void sample_filter_owner_answer(struct sample_filter *filter, const struct message_owner *answer,
				uint64_t now_ns);
/* A process was forked, became another program, has ended. */
int sample_filter_fork(struct sample_filter *filter, int32_t pid, int32_t parent_pid);
void sample_filter_exec(struct sample_filter *filter, int32_t pid);
void sample_filter_exit(struct sample_filter *filter, int32_t pid);
void sample_filter_forget_all(struct sample_filter *filter);

#endif

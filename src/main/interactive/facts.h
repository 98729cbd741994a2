/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_FACTS_H
#define CTOP_INTERACTIVE_FACTS_H

/* What the interface's header tells of a run: from the session while it lives, from the metadata of a recording. */

#include <ctop/ui/ui.h>

#include <ctop/interactive/interact.h>
#include <ctop/report/runtime_notes.h>
#include <ctop/system/cpu_times.h>
#include <ctop/system/proc_text.h>

/* Counts at one moment: rates are differences of two. */
struct facts_moment {
	uint64_t ns, samples, cpu_ns;
	uint64_t first_samples, target_cpu_ns; /* of the first event; of the target */
	struct cpu_times cpus;
	struct thread_times times; /* of all threads together */
};

enum { FACTS_MOMENTS = 4 };

struct facts {
	uint64_t locked_since_ns;   /* all threads wait for locks; 0: they do not */
	uint64_t deadlock_since_ns; /* the same threads wait for one another; 0: none do */
	int32_t deadlock_tid;	    /* one of them */
	struct facts_moment moments[FACTS_MOMENTS];
	unsigned nr_moments; /* taken so far */
	bool stopped;	     /* the duration is over */
	char call_graph[48], ending[48], recorded[128];
	bool knows_program;
	struct proc_program program; /* what the one process runs */
	char target[256];	     /* it, described again after an exec */
	uint64_t execs;
	uint64_t known_exec_ns; /* execs up to here are known of, or a command's first */
	struct text idle, notices, fetching;
	uint64_t idle_due_ns; /* when it is described again */
	struct runtime_note runtimes[RUNTIME_NOTES_MAX];
	size_t nr_runtimes;
	bool has_go;
	uint64_t waits_refused_by; /* enum trace_refusal */
	uint64_t waits_silent;
	uint64_t runtimes_due_ns; /* when they are looked for again */
};

void facts_release(struct facts *facts);

void facts_set_stopped(struct facts *facts);
/* Adds what has gone wrong, of a session so far, of a file when all of it is read: lines of safe text. */
void facts_add_notices(const struct interact_source *source, struct text *notices);
/* event: the one shown, as the history counts them. */
void facts_read(struct facts *facts, const struct interact_source *source, uint32_t event,
		struct ui_facts *out);

#endif

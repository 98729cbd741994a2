/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_HOST_H
#define CTOP_SCREEN_HOST_H

/* What the interface knows of the run, and asks of its host, which has the session and the processes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/annotate/annotation.h>
#include <ctop/annotate/sources.h>
#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>
#include <ctop/time_shown.h>

enum ui_state {
	UI_LIVE,
	UI_OFF,	    /* sampling is switched off */
	UI_STOPPED, /* the duration is over: the target runs on, unwatched */
	UI_EXITED,  /* the target has ended */
	UI_FILE,
	UI_LOADING /* a file, still being read */
};

enum { UI_DEADLOCK_MOST = 8 };

/* What the host knows of the run. Strings are borrowed until the next refresh, and untrusted. */
struct ui_facts {
	enum ui_state state;
	const char *target; /* "nginx[1234]" or a file's name */
	const char *event;  /* the one shown, as opened */
	const char *
		recorded; /* of a file: "2026-11-22 14:03, 12.5 s, host"; NULL: live, or not known */
	const char *call_graph; /* "dwarf 32k" */
	const char *fallback;	/* the first fallback; NULL */
	const char *ending;	/* how the target ended: "status 1"; NULL: nothing to tell */
	double loaded;		/* of a file: the share that was read, 0 to 1 */
	const char *idle;	/* why no samples come: "4 threads sleep in futex_wait"; NULL */
	size_t nr_fallbacks;
	uint64_t frequency_hz, period; /* asked of the kernel; 0: unknown */
	double rate_hz;		       /* samples per second that arrive, lately */
	double reached_hz;  /* samples in a second of the target's CPU time, lately; 0: unknown */
	double cpu_percent; /* of the target, lately, 100 per CPU; negative: unknown */
	/* Of the CPUs' time, lately: what a virtual machine's host took, what nobody wanted; 0: not known. */
	double stolen_percent, idle_percent;
	bool knows_cpus;       /* these two */
	enum weight_unit unit; /* what its samples weigh */
	uint64_t nr_cpus;      /* when whole CPUs are watched: how many; else 0 */
	uint64_t execs;	       /* how often the target has become another program */
	uint64_t lost, throttled, late, dropped, restarts; /* since the start */
	bool hides_losses;				   /* nobody has counted what was lost */
	double counted_share; /* of the time, how much of it the event had a counter; 0: unknown */
	/* What has gone wrong so far, lines of safe text each with its '\n': shown until they are read. NULL: nothing. */
	const char *notices;
	const char *fetching; /* debug files that are on their way, safe text; NULL: none are */
	/* Of the time that the target's threads lived lately: on a CPU, without one though they wanted it, waiting; all 0: not known. */
	double running_percent, runnable_percent, waiting_percent;
	bool all_wait_for_locks; /* each of several threads, for 3 s, and none has run */
	int32_t deadlock
		[UI_DEADLOCK_MOST]; /* threads that have waited for one another's locks for 3 s */
	unsigned nr_deadlock;
	bool has_go;		/* some of what waits are goroutines, which are on no thread */
	double own_cpu_percent; /* of ctop, all its processes; negative: unknown */
	uint64_t own_bytes;
};

/* A process that could be profiled. */
struct ui_process {
	int32_t pid;
	char name[32];
	char user[24];
	char command[160];
	double cpu_percent;
	unsigned nr_threads;
};

/* A thread of the target. */
struct ui_thread {
	int32_t pid, tid;
};

enum { UI_WAITS_ON_BYTES = 640, UI_WOKEN_BY_BYTES = 320 };

/* What it does at this moment. Names are untrusted. */
struct ui_thread_now {
	char state; /* as ps shows it: 'R', 'S', ...; 0: there is no such thread any more */
	char name[16];
	char place[48]; /* the kernel's function that it waits in; "": not known */
	char call[24];	/* the system call that it is in; "": none, or not known */
	char waits_on[UI_WAITS_ON_BYTES]; /* what it waits for there, safe to show; "": not known */
	char woken_by[UI_WOKEN_BY_BYTES]; /* who mostly did that, safe to show; "": not known */
	double still_s;			  /* how long it has not run; negative: not known */
	bool is_exact;			  /* by the kernel's record of when it went; else about */
};

/* What a thread did lately, or all of a process; percent. */
struct ui_times {
	double cpu_percent;					   /* of one CPU */
	double running_percent, runnable_percent, waiting_percent; /* of the time that they lived */
};

/* How a function or a path differs from another profile that this one is compared with, in percent of that one's whole. */
struct ui_change {
	double self, total;
	double total_before;		/* the other's */
	bool self_beyond, total_beyond; /* noise */
};

/* A function's code. Strings are untrusted. */
struct ui_code {
	const char *cause, *remedy; /* why it cannot be shown; "": it can, or is awaited */
	struct function_id
		holder; /* whose code it is: of an inlined one, the function that has most of it */
	const struct annotation *annotation; /* NULL: awaited, or not to be had */
	struct source_file *const *files;    /* by the listing's files; each may be NULL */
	int64_t written_ns;		     /* the program, by CLOCK_REALTIME */
	const char *kept; /* it is what the recording has kept, and why; NULL: it is the file's */
	const char *fetching; /* what servers are asked for now, safe text; NULL or "": nothing */
};

/* What the interface asks of its host. */
struct ui_host {
	void *context;
	/* event: the one shown, as the history counts them. */
	void (*facts)(void *context, uint32_t event, struct ui_facts *facts);
	/* Adds lines on how the profile is made, and on the samples of what is shown, all since the start; safe text. */
	void (*info)(void *context, uint32_t event, enum time_shown time, struct text *lines);
	/*
	 * The threads there are, whether they have samples or not, sorted by pid and tid: of one process, or of the whole target
	 * (only_pid 0), as far as they are listed by now. Borrowed until the next call. 0 or -ENOMEM. NULL: of a file.
	 */
	int (*threads)(void *context, int32_t only_pid, const struct ui_thread **out, size_t *nr);
	/* What a thread does now. False: that is not known, as of a file. */
	bool (*thread)(void *context, int32_t pid, int32_t tid, struct ui_thread_now *now);
	/* What `times` tells is as of now, until the next call: not in a pause. seconds: of the window, 0: all. NULL: nobody knows. */
	void (*mark_times)(void *context, uint32_t seconds);
	/* Over about so many seconds. tid -1: all threads of the process. False: that is not known. */
	bool (*times)(void *context, int32_t pid, int32_t tid, uint32_t seconds,
		      struct ui_times *times);
	/*
	 * Adds the command line of the process that started then (0: not known), safe to show; nothing while it is not known. NULL: of
	 * no process.
	 */
	void (*command)(void *context, int32_t pid, uint64_t started_ns, struct text *out);
	/*
	 * Adds what would give a module's functions their names: text to be copied, safe; nothing where nothing is known to. NULL:
	 * of no module.
	 */
	void (*module_remedy)(void *context, uint32_t module, struct text *out);
	/* A thread's name alone. */
	void (*thread_name)(void *context, int32_t pid, int32_t tid, char name[16]);
	/* Samples with less from now on. Adds what became of it, safe text. NULL: of a file. */
	void (*lower)(void *context, struct text *message);
	/* A name for a file to export to, that none has yet; of another format than the one that *name holds, if any. */
	void (*suggest_name)(void *context, char *name, size_t size);
	/*
	 * Writes what the selection shows to a new file, in the format that its name ends in; excerpt says what of the profile
	 * that is. Adds what became of it to *message, safe text.
	 */
	void (*export)(void *context, struct selection *selection, const char *excerpt,
		       const char *path, struct text *message);
	/* False: the function was not compared. NULL: nothing was. */
	bool (*change)(void *context, struct function_id function, struct ui_change *change);
	/* The same of a path, which path_step() gave; 0: of all. */
	bool (*path_change)(void *context, uint32_t path, struct ui_change *change);
	/* The path one step further, to a row of SELECTION_TREE; UINT32_MAX: it was not compared, nor what is below it. */
	uint32_t (*path_step)(void *context, uint32_t path, const struct selection_node *node);
	/*
	 * A function's code with the samples of the selection, as far as it is there: ui_code_came() says that there is more. Borrowed until
	 * the next call. NULL: there is no code.
	 */
	const struct ui_code *(*code)(void *context, struct selection *selection,
				      struct function_id function);
	/* For the picker: *out is the caller's to free. 0 or -errno. */
	int (*processes)(void *context, struct ui_process **out, size_t *nr);
};

#endif

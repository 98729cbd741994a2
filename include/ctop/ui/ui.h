/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_UI_H
#define CTOP_UI_UI_H

/*
 * The interface without a terminal: keys and refreshes in, a grid of cells out. It reads a
 * history and what its host tells of the run; it opens nothing, waits for nothing and
 * knows no clock but the times it is given. The host owns the loop, the session, the
 * terminal and the files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>
#include <ctop/ui/cells.h>
#include <ctop/ui/keys.h>
#include <ctop/ui/refusal.h>

enum ui_state {
	UI_LIVE,
	UI_OFF,	    /* sampling is switched off */
	UI_STOPPED, /* the duration is over: the target runs on, unwatched */
	UI_EXITED,  /* the target has ended */
	UI_FILE,
	UI_LOADING /* a file, still being read */
};

/* What the host knows of the run. Strings are borrowed until the next refresh, and untrusted. */
struct ui_facts {
	enum ui_state state;
	const char *target;	/* "nginx[1234]" or a file's name */
	const char *event;	/* the one shown, as opened */
	const char *call_graph; /* "dwarf 32k" */
	const char *step_down;	/* the first fallback; NULL */
	const char *ending;	/* how the target ended: "status 1"; NULL: nothing to tell */
	double loaded;		/* of a file: the share that was read, 0 to 1 */
	const char *idle;	/* why no samples come: "4 threads sleep in futex_wait"; NULL */
	size_t nr_steps_down;
	uint64_t frequency_hz, period; /* asked of the kernel; 0: unknown */
	double rate_hz;		       /* samples per second that arrive, lately */
	double reached_hz;  /* samples in a second of the target's CPU time, lately; 0: unknown */
	double cpu_percent; /* of the target, lately, 100 per CPU; negative: unknown */
	/* Of the CPUs' time, lately: what a virtual machine's host took, what nobody wanted; 0: not known. */
	double stolen_percent, idle_percent;
	enum weight_unit unit; /* what its samples weigh */
	uint64_t nr_cpus;      /* when whole CPUs are watched: how many; else 0 */
	uint64_t execs;	       /* how often the target has become another program */
	uint64_t lost, throttled, late, dropped, restarts; /* since the start */
	bool hides_losses;				   /* nobody has counted what was lost */
	double counted_share; /* of the time, how much of it the event had a counter; 0: unknown */
	/* What has gone wrong so far, lines of safe text each with its '\n': shown until they are read. NULL: nothing. */
	const char *notices;
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

/* What the interface asks of its host. */
struct ui_host {
	void *context;
	/* event: the one shown, as the history counts them. */
	void (*facts)(void *context, uint32_t event, struct ui_facts *facts);
	/* Adds lines on how the profile is made; safe text. */
	void (*info)(void *context, struct text *lines);
	/* Adds what a thread does now, a word or two: "runs", "in futex_wait"; nothing when that is not known. Safe text. */
	void (*thread)(void *context, int32_t pid, int32_t tid, struct text *state);
	/* A name for a file to export to, that none has yet; of another format than the one that *name holds, if any. */
	void (*suggest_name)(void *context, char *name, size_t size);
	/*
	 * Writes what the selection shows to a new file, in the format that its name ends in; excerpt says what of the profile
	 * that is. Adds what became of it to *message, safe text.
	 */
	void (*export)(void *context, struct selection *selection, const char *excerpt,
		       const char *path, struct text *message);
	/* For the picker: *out is the caller's to free. 0 or -errno. */
	int (*processes)(void *context, struct ui_process **out, size_t *nr);
};

struct ui_options {
	bool ascii;
	bool since_start;     /* begins with everything; else with the last seconds */
	double least_percent; /* rows below are hidden */
	const char *event;    /* to begin with, as opened or as asked; NULL: the first. Borrowed */
	enum view_kind view;  /* the first one: VIEW_PICKER begins with a choice */
	const struct refusal *refusal; /* with VIEW_REFUSAL: what it shows. Borrowed */
};

/* What the loop is to do. */
enum ui_wish {
	UI_WISH_NONE,
	UI_WISH_QUIT,
	UI_WISH_SUSPEND,
	UI_WISH_REPAINT,
	UI_WISH_MOUSE,	 /* on or off: ui_mouse() */
	UI_WISH_COPY,	 /* ui_copied() to the clipboard */
	UI_WISH_PROFILE, /* ui_picked(): the process chosen in the picker */
};

struct ui;

/* history may be NULL as long as the picker or a refusal is all there is. NULL: out of memory. */
struct ui *ui_new(const struct ui_options *options, const struct ui_host *host,
		  struct history *history);
void ui_free(struct ui *ui);

int ui_resize(struct ui *ui, int rows, int cols); /* 0 or -ENOMEM */
/* Takes in what is new; when to call it is the host's business (twice a second). 0 or -ENOMEM. */
int ui_refresh(struct ui *ui, uint64_t now_ns);
/* Does some of the next refresh's work, so that keys wait less for it. Several times between two. */
void ui_advance(struct ui *ui);
enum ui_wish ui_key(struct ui *ui, int key);
/*
 * True when what ui_draw() would give has changed since. It may be so right after a draw: what takes long comes with
 * the next one, which should follow once there is nothing more urgent.
 */
bool ui_dirty(const struct ui *ui);
const struct cells *ui_draw(struct ui *ui); /* borrowed until the next call */

bool ui_mouse(const struct ui *ui);
const char *ui_copied(const struct ui *ui);
int32_t ui_picked(const struct ui *ui);
/* A line for the user, shown until the next key. Safe text. */
void ui_tell(struct ui *ui, const char *message);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_SAMPLER_INTERNAL_H
#define CTOP_PERF_SAMPLER_INTERNAL_H

/*
 * The sampler's state, shared by its files, from the top down: sampler.c (life), attach.c and attach_thread.c (threads),
 * sets.c (cheaper events), rings.c (one per CPU), ladder.c (what to open, and the fallbacks), sideband.c, switches.c, wakings.c and switch_outs.c (what main reads), traced.c, side_rings.c,
 * guard.c (how often), advice.c (errno to cause and remedy), family.c (a target's processes), fallbacks.c (fallbacks, told), permission.c (who may what),
 * perf_open.c (the system call), machine.c (what /proc and /sys say). None calls one above it.
 */

#include <sys/types.h>

#include <ctop/base/index.h>
#include <ctop/kernel/ring.h>
#include <ctop/perf/machine.h>
#include <ctop/base/text.h>
#include <ctop/perf/permission.h>
#include <ctop/perf/sampler.h>

/* The registers of perf_regs.h that a 64-bit task has; DS, ES, FS and GS are refused. */
#if defined(__x86_64__)
#define SAMPLER_USER_REGS UINT64_C(0xff0fff)
#elif defined(__aarch64__)
#define SAMPLER_USER_REGS ((UINT64_C(1) << 33) - 1)
#endif

enum { FALLBACK_BYTES = 320, FALLBACK_NAMES_BYTES = 208 };
/* In a fallback's text: the events that took it. */
#define FALLBACK_EVENTS "\1"

struct fallback {
	char text[FALLBACK_BYTES]; /* with FALLBACK_EVENTS; "": the line is of no event */
	uint64_t events;	   /* a bit each */
	char line[FALLBACK_BYTES + FALLBACK_NAMES_BYTES];
};

/* One event on one thread (or the whole CPU) and CPU. */
struct sampler_fd {
	int fd; /* -1: closed again, or there is no such set */
	uint32_t event;
	int32_t tid; /* -1: the whole CPU */
	uint32_t ring;
	uint32_t set;
};

/* A ring that main reads itself, on one of the sampler's CPUs. */
struct side_ring {
	int fd;	 /* its owner's */
	int cpu; /* whose records it has: they do not say so themselves */
	struct ring ring;
	uint64_t read_ns; /* switches.c: the time of the record taken last */
	uint64_t next_ns; /* ... and of the next one; UINT64_MAX: there is none */
	uint64_t
		full_at; /* its head when it was found full last; 0: what was lost then has been told */
};

/* side_rings.c. All zero: there are none. */
struct side_rings {
	struct side_ring *items; /* one for each of the sampler's */
	size_t nr;
	struct {
		int *items;
		size_t nr, capacity;
	} fds; /* of the events that write into them */
};

/* From one thread's number to another's, both included. */
struct tid_range {
	int32_t first, last;
};

/* traced.c: a tracepoint that all CPUs tell of some threads. All zero: nobody wants to know. */
enum { TRACED_RANGES = 16 };
struct traced {
	struct side_rings rings;
	uint64_t tracepoint;
	struct tid_range ranges
		[TRACED_RANGES]; /* of whom it is told: the target's threads, and some that are not */
	size_t nr_ranges;
	bool knows_lost;
	uint64_t lost; /* by events that were closed */
};

/* wakings.c */
struct wakings {
	struct traced traced;
	struct traced copies; /* of some of them once more, with registers and stack of who wakes */
	uint32_t pid_offset;  /* of whom is woken, in what the tracepoint writes */
};

/* switch_outs.c: samples, each of so many. */
struct switch_outs {
	struct traced traced;
	uint64_t period;
};

/* system_calls.c */
struct system_calls {
	struct traced enter, exit;
	uint32_t enter_offset,
		exit_offset; /* of the call's number, in what the tracepoints write */
};

/* What main itself reads: sideband.c. */
struct sideband {
	struct side_rings rings; /* none: not to be had */
	bool knows_lost;	 /* the kernel counts what each event lost */
	uint64_t lost; /* as the records say; those of the last losses are lost themselves */
	uint64_t nr_missed_threads;
	int32_t last_missed; /* 0: none */
};

/* One process of the target. */
struct member {
	int32_t pid;
	bool is_asked;	      /* by its number; else it is a descendant of one that is */
	bool is_done;	      /* it was attached, or cannot be */
	uint64_t started_ns;  /* since boot, to 10 ms */
	uint64_t seen_ns;     /* CLOCK_MONOTONIC: when that was read */
	uint64_t attached_ns; /* since boot; 0: not attached */
};

struct family {
	struct {
		struct member *items;
		size_t nr, capacity;
	} members;
	struct index by_pid;
};

struct sampler {
	struct sampler_options options;
	struct event events[SAMPLER_MAX_EVENTS]; /* as they are opened: cpu-clock for cycles */
	struct perf_event_attr attrs[SAMPLER_MAX_EVENTS];
	struct sampler_opened opened[SAMPLER_MAX_EVENTS];
	bool stands_in[SAMPLER_MAX_EVENTS]; /* the clock, for cycles */
	struct fallback fallbacks[SAMPLER_MAX_FALLBACKS];
	size_t nr_fallbacks;
	struct record_format format;
	uint32_t dump_bytes; /* what is foreseen */
	/* With a budget: what a sample costs with copies as foreseen, and with small ones. */
	uint64_t cost_ns, small_cost_ns;
	struct sampler_sets sets[2]; /* of events that the kernel paces, and of those that we do */
	uint32_t nr_sets;	     /* of the kind that has more: rows of fds */
	uint32_t in_use[SAMPLER_MAX_EVENTS];
	bool user_only, filters_pids;

	struct sampler_ring *rings;
	void **mappings; /* of each ring, when main holds them */
	size_t nr_rings;
	uint32_t ring_pages;
	bool holds_rings;
	struct family family;				 /* of the processes asked for */
	uint64_t attached_ns;				 /* since boot: when all were */
	struct sampler_count closed[SAMPLER_MAX_EVENTS]; /* of threads closed */

	struct {
		struct sampler_fd *items;
		size_t nr, capacity;
	} fds;
	struct {
		struct sampler_id *items;
		size_t nr, capacity;
	} ids; /* of fds, one by one */
	struct sideband sideband;
	struct side_rings switches; /* switches.c; none: not to be had */
	struct wakings wakings;
	struct switch_outs switch_outs;
	struct system_calls calls;
};

/* What was asked of one event: every so many, or 0: a rate. */
static inline uint64_t sampler_asked_count(const struct sampler *sampler, size_t event)
{
	const struct event *asked = &sampler->options.events[event];
	return asked->period ? asked->period : asked->frequency_hz ? 0 : sampler->options.count;
}

static inline uint64_t sampler_asked_hz(const struct sampler *sampler, size_t event)
{
	const uint64_t own = sampler->options.events[event].frequency_hz;
	return own ? own : sampler->options.frequency_hz;
}

/* ---- perf_open.c ---- */

/* perf_event_open(2). A close-on-exec descriptor, or -errno. */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu);
/*
 * The same on a target: a thread, or with tid -1 the CPU with all tasks or those of the cgroup asked for. Counted
 * only while the leader is; -1: by itself.
 */
int sampler_open_on(const struct sampler *sampler, const struct perf_event_attr *attr, int32_t tid,
		    int32_t cpu, int leader);

/*
 * The owner of a ring, which takes its watermark from it, counts nothing. It belongs to ctop's own process, so that the
 * ring outlives the target's threads; a ring owned by a thread's event polls POLLHUP
 * for ever once that thread has gone. A descriptor or -errno.
 */
int perf_open_ring_owner(int32_t cpu, uint32_t wakeup_bytes);

/* ---- fallbacks.c ---- */

/*
 * Notes a fallback. 0, or with --strict -EPERM with the fallback as the cause.
 */
int sampler_note_fallback(struct sampler *sampler, struct error *error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The same of one event. Those that take the same fallback share its line, in which they stand for FALLBACK_EVENTS, or, where that is
 * not in the text and there are several events, at its beginning.
 */
int sampler_note_event_fallback(struct sampler *sampler, size_t event, struct error *error,
				const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- machine.c ---- */

/* The CPUs that are online. *cpus is the caller's to free. 0 or -errno. */
int machine_online_cpus(int32_t **cpus, size_t *nr);
/* CAP_IPC_LOCK, and not only inside a user namespace: locked memory is without limit. */
bool machine_may_lock(void);
void machine_raise_descriptor_limit(void);
/* How many tasks want each CPU just now; 0: not known. */
unsigned machine_tasks_a_cpu(void);

/* The process's maps are closed to this user: its stacks can be taken, not unwound. */
bool machine_hides_process(int32_t pid);
/* How many processes have maps, and how many of those hide them from this user. */
void machine_count_hidden(size_t *nr_hidden, size_t *nr);

enum process_state { PROCESS_GONE, PROCESS_ALIVE, PROCESS_ZOMBIE, PROCESS_KERNEL };
struct process_facts {
	enum process_state state;
	uid_t uid, effective_uid;
	bool closed; /* undumpable: only root may look into it */
	bool apart;  /* in another user namespace, as far as this user may know */
	int32_t parent;
	uint32_t nr_threads; /* of its process; a zombie leader may have some that live */
};
/* Of a process or a thread. */
struct process_facts machine_process(int32_t pid);

/* ---- advice.c ---- */

/* Why perf_event_open() failed on a target (pid -1: a whole CPU), and what helps. Returns code. */
int advise_open(const struct sampler *sampler, size_t event, int32_t pid, int code,
		struct error *error);

/*
 * The same of an event of ctop's own that counts nothing: nobody but the kernel's highest levels, or someone between it
 * and us, forbids that.
 */
int advise_ring(int code, struct error *error);

/* ---- ladder.c ---- */

bool ladder_dumps_stacks(const struct sampler *sampler);
/* Finds, by opening on the first target, what of each event this machine and user get. 0 or -errno. */
int ladder_descend(struct sampler *sampler, struct error *error);
/* The first event of this one's group; itself when it has none. */
uint32_t ladder_group_leader(const struct sampler *sampler, uint32_t event);
/* Fills attrs[event] for the dump size and period as known by now. */
void ladder_fill_attr(struct sampler *sampler, size_t event);
/* What the record format of all events is. */
void ladder_fill_format(struct sampler *sampler);

/* ---- rings.c ---- */

int rings_open(struct sampler *sampler, struct error *error);
void rings_close(struct sampler *sampler);
/* There is an event of which anything may come: neither what was asked for nor the CPU paces it. */
bool rings_may_overflow(const struct sampler *sampler);
/* How many samples a ring holds with copies of that size. */
uint64_t rings_hold(const struct sampler *sampler, uint32_t dump_bytes);
/* Sets dump_bytes: what was asked for, or what `auto` means for these rings and this rate; 0 without dumps. */
int rings_choose_dump_bytes(struct sampler *sampler, struct error *error);

/* ---- sets.c ---- */

/*
 * Asks for less from the first on where the CPUs are taken already and ctop is one of many. 0, or as
 * sampler_note_fallback().
 */
int sets_begin_cheaply(struct sampler *sampler, struct error *error);
/* How large the copies of cheaper sets are. */
uint32_t sets_small_copies(const struct sampler *sampler);
/* Decides which events ctop paces. */
void sets_pace(struct sampler *sampler);
bool sets_any_paced(const struct sampler *sampler);
/* Leaves all to the kernel again, where fewer sets are to be had. */
void sets_leave_pacing(struct sampler *sampler);
/* Chooses them, and the ones to begin with. */
void sets_choose(struct sampler *sampler);
/* Those of an event. */
const struct sampler_sets *sets_of(const struct sampler *sampler, size_t event);
/* An event's attr in one of the sets. */
struct perf_event_attr sets_attr(const struct sampler *sampler, size_t event, uint32_t set);
/* Those in use become the only ones, where none are paced. */
void sets_leave_others(struct sampler *sampler);

/* ---- sideband.c ---- */

/* Opens rings for it, in what locked memory is left; none where there is none. */
void sideband_open(struct sampler *sampler);
/* Attaches it to all that was attached from a row of fds on. */
void sideband_follow(struct sampler *sampler, size_t from);
void sideband_close(struct sampler *sampler);

/* ---- switches.c ---- */

/* As of the side band. */
void switches_open(struct sampler *sampler);
/* Not where that would leave too few descriptors: then there are none at all. */
void switches_follow(struct sampler *sampler, size_t from);
void switches_close(struct sampler *sampler);

/* ---- wakings.c ---- */

/* A record of its rings. False: it is no waking. */
bool wakings_parse(const struct sampler *sampler, const struct perf_event_header *header,
		   const struct record_format *format, struct record *record);
extern const struct record_format wakings_format, waking_copies_format;

/* ---- switch_outs.c ---- */

/* A record of its rings. False: it is no sample. */
bool switch_outs_parse(const struct perf_event_header *header, struct record *record);
extern const struct record_format switch_outs_format;

/* ---- system_calls.c ---- */

/* A record of its rings. False: it is none of a call, nor of what was lost. */
bool system_calls_parse(const struct sampler *sampler, const struct perf_event_header *header,
			const struct record_format *format, struct record *record);
extern const struct record_format calls_enter_format, calls_exit_format;

/* ---- traced.c ---- */

/* Opens its rings. 0; -EXDEV: in a pid namespace the kernel tells others' numbers; -ENOTSUP: without records of switches; or -errno. */
int traced_open(const struct sampler *sampler, struct traced *traced, const char *tracepoint,
		uint32_t pages, uint32_t pages_least, bool has_copies);
/* What is told, and of whom, by the names of the tracepoint's fields. */
struct traced_field {
	const char *tid;
	const char *condition; /* ahead of the threads', with its "&&"; "": none */
};
/* As sampler_follow_wakings(), of an attr with what is sampled. threads NULL: those of traced->ranges. */
int traced_follow(struct sampler *sampler, struct traced *traced, struct perf_event_attr attr,
		  const struct traced_field *field, const struct sampler_threads *threads);
/* That the field is one of these threads, in parentheses. */
void traced_add_condition(struct text *text, const struct traced *traced, const char *field);
bool traced_covers(const struct traced *traced, int32_t tid);
/* No more comes. */
void traced_end(struct traced *traced);
uint64_t traced_lost(const struct traced *traced);

/* ---- side_rings.c ---- */

/*
 * A ring of so many pages for each CPU, in what locked memory is left; fewer pages where it is less; none where it does not
 * do for the least.
 */
void side_rings_open(const struct sampler *sampler, struct side_rings *rings, uint32_t pages,
		     uint32_t pages_least, uint32_t wakeup_bytes);
/* Opens an event of ctop's own where one of the sampler's is; it writes into the ring of that CPU. 0 or -errno. */
int side_rings_follow(const struct sampler *sampler, struct side_rings *rings,
		      const struct perf_event_attr *attr, const struct sampler_fd *of);
void side_rings_close(struct side_rings *rings);

/* ---- guard.c ---- */

/* The event may be paced by ctop itself, with sets of fixed periods. */
bool guard_may_pace(const struct sampler *sampler, size_t event);
/* Sets the period or frequency of every event as asked for, or as the kernel allows. 0, or as sampler_note_fallback(). */
int guard_ask_periods(struct sampler *sampler, struct error *error);
/* Raises the clocks' periods to what the guard allows; attrs must have the dump size. 0 or -errno. */
int guard_limit_periods(struct sampler *sampler, struct error *error);
/* With a budget: measures what samples cost, those with copies of that size, too. 0, or as sampler_note_fallback(). */
int guard_measure_costs(struct sampler *sampler, uint32_t small_bytes, struct error *error);

/* ---- family.c ---- */

/* When a thread started, since boot, to 10 ms, and the parent of its process: fields 22 and 4 of proc_pid_stat(5). */
struct task_start {
	int32_t parent, session;
	uint64_t ns;
	uint64_t seen_ns; /* CLOCK_MONOTONIC: when it was read; also where it has ended */
};
/* False: it has ended. */
bool task_start_read(int32_t pid, int32_t tid, struct task_start *start);

/* Adds a process that was asked for. 0 or -ENOMEM. */
int family_ask(struct family *family, int32_t pid);
/*
 * Adds the descendants that run now, but those that started more than that long after their parent was attached: they
 * have inherited its events. 0 or -errno.
 */
int family_look(struct family *family, uint64_t slack_ns);
/* Whether its number has not gone to another process meanwhile; it may have ended. */
bool family_is_still(const struct member *member);
size_t family_nr_children(const struct family *family);
void family_release(struct family *family);

/* ---- attach.c ---- */

/* Opens every event on every target, disabled. 0 or -errno. */
int attach_all(struct sampler *sampler, struct error *error);
/* Opens them on threads and descendants that were missed: their rows are the last. 0 or -errno. */
int attach_late(struct sampler *sampler);

#endif

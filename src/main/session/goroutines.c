/* SPDX-License-Identifier: MIT */
#include "goroutines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/broker/broker.h>
#include <ctop/session/session.h>
#include <ctop/system/goroutine_look.h>
#include <ctop/system/proc_text.h>

#include "goroutine_finder.h"
#include "spending.h"

enum {
	PROCESSES_MOST = 256,
	GOROUTINES_MOST = 65536, /* of a process, dead ones too */
	IDS_MOST = 16384,	 /* told one by one, of all processes; the others are told as one */
	SLOTS_A_TURN = 4096,
	STACKS_A_TURN = 256,
	LOOKS_AT_ONCE = 1024,
};
/* About, and where it takes more, so that it is a 200th of a CPU; never in time with what the program does. */
#define ROUND_EVERY_NS (100 * NS_PER_MS)
enum { ROUNDS_SHARE = 200 };
#define PROGRAM_EVERY_NS NS_PER_SECOND
/* A wait that goes on is told in parts: an eighth of what it has been, within these; of very many goroutines in larger ones. */
#define PART_LEAST_NS  (100 * NS_PER_MS)
#define PART_MOST_NS   (2 * NS_PER_SECOND)
#define PARTS_APART_NS (NS_PER_SECOND / 2500)

struct slot {
	struct goroutine_look look; /* the last one */
	uint64_t since_ns;	    /* up to then its time is accounted for */
	uint64_t began_ns, untold_ns;
	uint64_t creator; /* as goroutine_creator() */
	int32_t tid;	  /* as it is told */
	bool has_stack;	  /* the collector knows it */
};

enum process_state { PROGRAM_UNKNOWN, PROGRAM_ASKED, PROGRAM_SHOWN, PROGRAM_REFUSED };

struct process {
	int32_t pid;
	enum process_state state;
	struct proc_program program;
	uint64_t looked_ns; /* at which program it is */
	struct goroutine_layout *layout;
	uint64_t bias;
	struct {
		uint64_t *items;
		size_t nr, capacity;
	} addresses; /* of this round */
	struct {
		struct slot *items;
		size_t nr, capacity;
	} slots; /* by the place of the descriptor, which is one goroutine's after the other */
	uint64_t round_ns; /* when the one before began; 0: there was none */
	uint64_t began_ns;
};

struct goroutines {
	struct broker *broker;
	struct looker *looker;
	struct wait_ring *ring;
	struct goroutine_finder finder;
	struct {
		struct process *items;
		size_t nr, capacity;
	} processes;
	size_t at_process, at_slot; /* a round under way */
	bool in_round;
	size_t nr_stacks; /* read in this turn */
	uint64_t due_ns, round_cpu_ns, on_ns;
	size_t nr_parked, nr_ids;
	uint64_t end_ns; /* 0: it goes on; else no budget holds, and waits end then */
	struct {
		enum goroutine_refusal
			refusal;      /* of the last program whose goroutines are not shown */
		uint32_t nr_programs; /* whose are */
		uint64_t left_out, joined, untold_ns;
	} counts;
	uint8_t stack[WAIT_STACK_BYTES_MAX];
};

struct goroutines *goroutines_new(struct broker *broker, struct looker *looker,
				  struct wait_ring *ring)
{
	struct goroutines *goroutines = calloc(1, sizeof(*goroutines));
	if (goroutines) {
		goroutines->broker = broker;
		goroutines->looker = looker;
		goroutines->ring = ring;
		goroutines->finder.fd = -1;
	}
	return goroutines;
}

static void clear(struct process *process)
{
	free(process->layout);
	free(process->addresses.items);
	free(process->slots.items);
	*process = (struct process){.pid = process->pid};
}

void goroutines_free(struct goroutines *goroutines)
{
	if (!goroutines)
		return;
	goroutine_finder_end(&goroutines->finder, goroutines->broker);
	for (size_t i = 0; i < goroutines->processes.nr; i++)
		clear(&goroutines->processes.items[i]);
	free(goroutines->processes.items);
	free(goroutines);
}

/* ---- told ---- */

static struct wait_record record_of(const struct process *process, const struct slot *slot,
				    enum wait_record_type type)
{
	return (struct wait_record){
		.header = {.type = type},
		.time_ns = clock_now_ns(),
		.pid = process->pid,
		.tid = slot->tid,
		.goroutine = (uint64_t)(slot - process->slots.items) + 1,
		.kind = WAIT_OTHER,
	};
}

/* What there is no room for stays, unless it is the last time. */
static void tell_time(struct goroutines *goroutines, const struct process *process,
		      struct slot *slot, bool is_over)
{
	struct wait_record record = record_of(process, slot, WAIT_RECORD_TIME);
	if (!slot->untold_ns)
		return;
	record.place = slot->has_stack ? WAIT_AT_LAST : WAIT_UNPLACED;
	record.ns = slot->untold_ns;
	record.until_ns = slot->since_ns;
	const bool is_told = wait_ring_put(goroutines->ring, &record, NULL);
	if (!is_told && !is_over)
		return;
	goroutines->counts.untold_ns += is_told ? 0 : slot->untold_ns;
	slot->untold_ns = 0;
}

static void name(struct goroutines *goroutines, struct slot *slot)
{
	const bool is_single = goroutines->nr_ids < IDS_MOST;
	goroutines->nr_ids += is_single;
	goroutines->counts.joined += !is_single;
	slot->tid = tid_of_goroutine(is_single ? slot->look.id : 0);
}

static bool has_room(const struct goroutines *goroutines)
{
	return wait_ring_has_room(goroutines->ring, WAIT_STACK_BYTES_MAX);
}

/* False: not now. */
static bool tell_stack(struct goroutines *goroutines, const struct process *process, size_t at,
		       struct slot *slot)
{
	size_t bytes;
	if ((!goroutines->end_ns && goroutines->nr_stacks >= STACKS_A_TURN) ||
	    !has_room(goroutines))
		return false;
	goroutines->nr_stacks++;
	if (goroutine_read_stack(goroutines->looker, process->pid, process->layout,
				 process->addresses.items[at], &slot->look, goroutines->stack,
				 sizeof(goroutines->stack), &bytes))
		return false;
	if (!slot->tid) {
		name(goroutines, slot);
		slot->creator = goroutine_creator(goroutines->looker, process->pid, process->layout,
						  process->addresses.items[at], slot->look.id);
	}
	struct wait_record record = record_of(process, slot, WAIT_RECORD_STACK);
	record.sp = slot->look.sp;
	record.pc = slot->look.pc;
	record.creator_pc = slot->creator;
	record.stack_bytes = bytes;
	const uint8_t reason = slot->look.reason;
	snprintf(record.reason, sizeof(record.reason), "%s",
		 reason < GOROUTINE_REASONS ? process->layout->reasons[reason] : "parked");
	return wait_ring_put(goroutines->ring, &record, goroutines->stack);
}

/* ---- looks ---- */

static bool is_shown(const struct process *process, const struct goroutine_look *look)
{
	return goroutine_is_parked(look) && look->id &&
	       (look->reason >= GOROUTINE_REASONS || process->layout->reasons[look->reason][0]);
}

static bool is_worth_telling(const struct goroutines *goroutines, const struct slot *slot)
{
	const uint64_t many_ns = goroutines->nr_parked * PARTS_APART_NS;
	const uint64_t most_ns = many_ns > PART_MOST_NS ? many_ns : PART_MOST_NS;
	const uint64_t so_far_ns = (slot->since_ns - slot->began_ns) / 8;
	return slot->untold_ns >= (so_far_ns < PART_LEAST_NS ? PART_LEAST_NS
				   : so_far_ns > most_ns     ? most_ns
							     : so_far_ns);
}

/* It is at another place than before, or another goroutine has its descriptor. */
static void leave_wait(struct goroutines *goroutines, const struct process *process,
		       struct slot *slot, uint64_t now_ns)
{
	tell_time(goroutines, process, slot, true);
	slot->has_stack = false;
	slot->began_ns = now_ns;
}

static void look_at(struct goroutines *goroutines, const struct process *process, size_t at,
		    const struct goroutine_look *look, uint64_t now_ns)
{
	struct slot *slot = &process->slots.items[at];
	if (slot->since_ns < goroutines->on_ns)
		slot->since_ns = goroutines->on_ns;
	if (!goroutine_lay_still(&slot->look, look))
		leave_wait(goroutines, process, slot, now_ns);
	if (look->id != slot->look.id)
		slot->tid = 0;
	slot->look = *look;
	if (!is_shown(process, look)) {
		slot->since_ns = now_ns;
		return;
	}
	goroutines->nr_parked++;
	if (!slot->has_stack)
		slot->has_stack = tell_stack(goroutines, process, at, slot);
	/* Else this stretch goes to the next stack that it is seen with. */
	if (!slot->has_stack)
		return;
	slot->untold_ns += now_ns > slot->since_ns ? now_ns - slot->since_ns : 0;
	slot->since_ns = now_ns;
	if (is_worth_telling(goroutines, slot))
		tell_time(goroutines, process, slot, false);
}

/* ---- rounds ---- */

/* Those that are new count from the round before on. */
static int make_slots(struct process *process, size_t nr, uint64_t now_ns)
{
	const size_t before = process->slots.nr;
	if (nr <= before)
		return 0;
	if (vec_reserve(&process->slots, nr))
		return -ENOMEM;
	const uint64_t since_ns = process->round_ns ? process->round_ns : now_ns;
	for (size_t i = before; i < nr; i++)
		process->slots.items[i] = (struct slot){.since_ns = since_ns, .began_ns = now_ns};
	process->slots.nr = nr;
	return 0;
}

/* Its descriptors are listed again in each round. */
static bool begin_process(struct goroutines *goroutines, struct process *process, uint64_t now_ns)
{
	if (process->state != PROGRAM_SHOWN ||
	    !broker_has_process(goroutines->broker, process->pid) ||
	    vec_reserve(&process->addresses, GOROUTINES_MOST))
		return false;
	const size_t nr = goroutines_list(goroutines->looker, process->pid, process->layout,
					  process->bias, process->addresses.items, GOROUTINES_MOST);
	process->addresses.nr = nr < GOROUTINES_MOST ? nr : GOROUTINES_MOST;
	if (nr - process->addresses.nr > goroutines->counts.left_out)
		goroutines->counts.left_out = nr - process->addresses.nr;
	if (make_slots(process, process->addresses.nr, now_ns))
		return false;
	process->began_ns = now_ns;
	return process->addresses.nr != 0;
}

/* At the end each that waits is to have its stack: those that there is no room for come when the collector has read some. */
static bool must_rest(const struct goroutines *goroutines)
{
	return goroutines->end_ns && !has_room(goroutines);
}

/* False: all that could be read of this process have been looked at. */
static bool look_at_some(struct goroutines *goroutines, struct process *process)
{
	struct goroutine_look looks[LOOKS_AT_ONCE];
	const size_t left = process->addresses.nr - goroutines->at_slot;
	const size_t nr = goroutines_read(goroutines->looker, process->pid, process->layout,
					  process->addresses.items + goroutines->at_slot,
					  left < LOOKS_AT_ONCE ? left : LOOKS_AT_ONCE, looks);
	const uint64_t now_ns = goroutines->end_ns ? goroutines->end_ns : clock_now_ns();
	size_t i;
	for (i = 0; i < nr && !must_rest(goroutines); i++)
		look_at(goroutines, process, goroutines->at_slot + i, &looks[i], now_ns);
	goroutines->at_slot += i;
	return nr && goroutines->at_slot < process->addresses.nr;
}

static void go_on(struct goroutines *goroutines, size_t most)
{
	goroutines->nr_stacks = 0;
	for (size_t nr = 0; goroutines->at_process < goroutines->processes.nr && nr < most &&
			    !must_rest(goroutines);
	     nr += LOOKS_AT_ONCE) {
		struct process *process = &goroutines->processes.items[goroutines->at_process];
		const bool is_there =
			goroutines->at_slot || begin_process(goroutines, process, clock_now_ns());
		if (is_there && look_at_some(goroutines, process))
			continue;
		if (is_there)
			process->round_ns = process->began_ns;
		goroutines->at_process++;
		goroutines->at_slot = 0;
	}
	goroutines->in_round = goroutines->at_process < goroutines->processes.nr;
}

static void begin_round(struct goroutines *goroutines)
{
	goroutines->at_process = goroutines->at_slot = 0;
	goroutines->in_round = true;
	goroutines->nr_parked = 0;
	goroutines->round_cpu_ns = 0;
}

static uint64_t cpu_ns(const struct goroutines *goroutines)
{
	return clock_cpu_ns() + looker_cpu_ns(goroutines->looker);
}

static void serve_round(struct goroutines *goroutines, const struct spending *spending,
			uint64_t now_ns)
{
	if (!goroutines->in_round && now_ns < goroutines->due_ns)
		return;
	if (!goroutines->in_round)
		begin_round(goroutines);
	const uint64_t before_ns = cpu_ns(goroutines);
	go_on(goroutines, SLOTS_A_TURN);
	goroutines->round_cpu_ns += cpu_ns(goroutines) - before_ns;
	const uint64_t spent_ns = goroutines->round_cpu_ns;
	const uint64_t least_ns = spending_pause_ns(spending, spent_ns, spent_ns * ROUNDS_SHARE);
	const uint64_t every_ns = least_ns > ROUND_EVERY_NS ? least_ns : ROUND_EVERY_NS;
	goroutines->due_ns = now_ns + every_ns / 2 + hash_u64(now_ns) % every_ns;
}

/* ---- programs ---- */

static struct process *find(const struct goroutines *goroutines, int32_t pid)
{
	for (size_t i = 0; i < goroutines->processes.nr; i++)
		if (goroutines->processes.items[i].pid == pid)
			return &goroutines->processes.items[i];
	return NULL;
}

void goroutines_note(struct goroutines *goroutines, int32_t pid)
{
	if (goroutines->processes.nr >= PROCESSES_MOST || find(goroutines, pid) ||
	    vec_reserve(&goroutines->processes, goroutines->processes.nr + 1))
		return;
	goroutines->processes.items[goroutines->processes.nr++] = (struct process){.pid = pid};
}

static void take_answer(struct goroutines *goroutines, struct process *process,
			const struct goroutines_answer *answer)
{
	process->state = PROGRAM_REFUSED;
	if (answer->refusal != GOROUTINES_SHOWN) {
		if (answer->refusal != GOROUTINES_NOT_GO)
			goroutines->counts.refusal = answer->refusal;
		return;
	}
	process->layout = malloc(sizeof(*process->layout));
	if (!process->layout)
		return;
	*process->layout = answer->layout;
	if (!goroutines_bias(process->pid, process->layout, &process->bias))
		return;
	process->state = PROGRAM_SHOWN;
	goroutines->counts.nr_programs++;
}

/* What another one runs that is still there is the same file, which nobody can have written to meanwhile. */
static const struct process *find_same_program(const struct goroutines *goroutines,
					       const struct proc_program *program)
{
	for (size_t i = 0; i < goroutines->processes.nr; i++) {
		const struct process *process = &goroutines->processes.items[i];
		if ((process->state == PROGRAM_SHOWN || process->state == PROGRAM_REFUSED) &&
		    proc_is_same_program(&process->program, program))
			return process;
	}
	return NULL;
}

static void find_out(struct goroutines *goroutines, struct process *process)
{
	const struct process *same = find_same_program(goroutines, &process->program);
	if (!same) {
		if (!goroutine_finder_ask(&goroutines->finder, goroutines->broker, process->pid))
			process->state = PROGRAM_ASKED;
		return;
	}
	struct goroutines_answer answer = {.refusal = GOROUTINES_NOT_GO};
	if (same->layout)
		answer = (struct goroutines_answer){.layout = *same->layout};
	take_answer(goroutines, process, &answer);
}

/* It may execute another program, and be nobody's any more: its slots are another's. */
static void follow_program(struct goroutines *goroutines, struct process *process, uint64_t now_ns)
{
	struct proc_program program;
	process->looked_ns = now_ns;
	if (!proc_program(process->pid, &program))
		return;
	if (process->state != PROGRAM_UNKNOWN && process->state != PROGRAM_ASKED &&
	    !proc_is_same_program(&program, &process->program)) {
		clear(process);
		process->looked_ns = now_ns;
	}
	process->program = program;
	if (process->state == PROGRAM_UNKNOWN)
		find_out(goroutines, process);
}

/* The last one takes its place. */
static void drop(struct goroutines *goroutines, struct process *process)
{
	for (size_t slot = 0; slot < process->slots.nr; slot++)
		tell_time(goroutines, process, &process->slots.items[slot], true);
	clear(process);
	*process = goroutines->processes.items[--goroutines->processes.nr];
}

static void serve_programs(struct goroutines *goroutines, uint64_t now_ns)
{
	struct goroutines_answer answer;
	const int32_t pid = goroutine_finder_serve(&goroutines->finder, now_ns, &answer);
	struct process *answered = pid ? find(goroutines, pid) : NULL;
	if (answered)
		take_answer(goroutines, answered, &answer);
	if (goroutines->in_round)
		return;
	for (size_t i = goroutines->processes.nr; i-- > 0;) {
		struct process *process = &goroutines->processes.items[i];
		if (process->looked_ns && now_ns < process->looked_ns + PROGRAM_EVERY_NS)
			continue;
		follow_program(goroutines, process, now_ns);
		if (process->state != PROGRAM_ASKED &&
		    !broker_has_process(goroutines->broker, process->pid))
			drop(goroutines, process);
	}
}

/* ---- its course ---- */

void goroutines_serve(struct goroutines *goroutines, const struct spending *spending,
		      uint64_t now_ns)
{
	serve_programs(goroutines, now_ns);
	serve_round(goroutines, spending, now_ns);
}

uint64_t goroutines_due_ns(const struct goroutines *goroutines, uint64_t now_ns)
{
	if (goroutines->in_round)
		return now_ns + NS_PER_MS;
	if (!goroutines->finder.pid && goroutines->counts.nr_programs)
		return goroutines->due_ns;
	return now_ns + ROUND_EVERY_NS;
}

void goroutines_begin(struct goroutines *goroutines, uint64_t now_ns)
{
	goroutines->on_ns = now_ns;
}

void goroutines_forget_stacks(struct goroutines *goroutines)
{
	for (size_t i = 0; i < goroutines->processes.nr; i++) {
		struct process *process = &goroutines->processes.items[i];
		for (size_t slot = 0; slot < process->slots.nr; slot++)
			process->slots.items[slot].has_stack = false;
	}
	if (goroutines->end_ns)
		begin_round(goroutines);
}

void goroutines_end(struct goroutines *goroutines, uint64_t end_ns)
{
	goroutines->end_ns = end_ns;
	begin_round(goroutines);
}

bool goroutines_tell_last(struct goroutines *goroutines, bool is_over)
{
	if (!is_over)
		go_on(goroutines, SIZE_MAX);
	if (!is_over && goroutines->in_round)
		return false;
	for (size_t i = 0; i < goroutines->processes.nr; i++) {
		struct process *process = &goroutines->processes.items[i];
		for (size_t slot = 0; slot < process->slots.nr; slot++) {
			if (!is_over && !has_room(goroutines))
				return false;
			tell_time(goroutines, process, &process->slots.items[slot], true);
		}
	}
	goroutine_finder_end(&goroutines->finder, goroutines->broker);
	return true;
}

void goroutines_add_counts(const struct goroutines *goroutines, struct session_stats *stats)
{
	stats->goroutines_refusal = goroutines->counts.refusal;
	stats->goroutines_left_out = goroutines->counts.left_out;
	stats->goroutines_joined = goroutines->counts.joined;
	stats->waits_untold_ns += goroutines->counts.untold_ns;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/unwind/stitching.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>

enum { SHARE_THREADS_MAX = 64, FIRST_NODES = 256, HOPS_MAX = 8, ALIKE_MAX = 64 };
/* Up to six stacks before a cut one: with 32 no more were joined, at a tenth of the unwinding. Room for one at least. */
enum { RECENT_FRAMES = UNWIND_MAX_FRAMES, RECENT_STACKS = 6 };
/* In the place of a caller's row: the dump ended there. */
#define UNKNOWN UINT32_MAX

/* One frame of complete stacks: equal in itself, in its registers and in all below it. */
struct node {
	struct unwind_frame frame;
	struct unwind_evidence evidence;
	uint32_t used;	 /* the thread's count of stacks when it was on one last */
	uint32_t parent; /* its caller's row + 1; 0: the outermost frame; or UNKNOWN */
	uint32_t next;	 /* row + 1 of another one like this, with another caller; 0: none */
	uint32_t callee; /* row + 1 of the one that it called last; 0: not known */
};

/* Of a share at most, 40 MiB in all; one thread may fill it: with its recent frames, its nodes and what these take in their indices. */
enum {
	SHARE_MAX_BYTES = 2560 << 10,
	RECENT_FRAME_BYTES = sizeof(struct unwind_frame) + sizeof(struct unwind_evidence),
	NODE_BYTES = sizeof(struct node) + 64,
	NODES_MAX = (SHARE_MAX_BYTES - RECENT_FRAMES * RECENT_FRAME_BYTES) / NODE_BYTES
};

/*
 * Complete stacks as they came: most are like what follows at once, and of no use to anybody if no stack is cut before
 * the room is full. Making nodes of them all would cost as much as unwinding them.
 */
struct recent {
	struct unwind_frame *frames;
	struct unwind_evidence *evidence;
	uint32_t capacity; /* of both */
	uint32_t ends[RECENT_STACKS];
	uint32_t nr;
};

struct thread {
	int32_t tid;
	uint64_t generation;
	uint64_t used; /* the share's count when it was looked at last */
	struct node *nodes;
	uint32_t nr, capacity;
	uint32_t nr_stacks;
	uint32_t outermost, unknowns; /* as node.callee: of the root, and where the dump ended */
	struct recent recent;
	struct index alike;	/* the first of those that differ in their caller alone */
	struct index by_caller; /* all */
	UT_hash_handle hh;
};

/* Threads that make room for each other, and for no others: who unwinds a share alone knows of it what one who unwinds all does. */
struct share {
	struct thread *threads;
	uint64_t nr_taken;
	size_t bytes;
};

struct stitching {
	struct share shares[STITCHING_SHARES];
};

struct stitching *stitching_new(void)
{
	return calloc(1, sizeof(struct stitching));
}

uint32_t stitching_share(int32_t tid)
{
	/* Threads that were started one after the other are in different ones. */
	const uint32_t number = (uint32_t)tid;
	return (number ^ number >> 4 ^ number >> 8) % STITCHING_SHARES;
}

static struct share *share_of(struct stitching *stitching, int32_t tid)
{
	return &stitching->shares[stitching_share(tid)];
}

static void drop_thread(struct share *share, struct thread *thread)
{
	HASH_DEL(share->threads, thread);
	share->bytes -= (size_t)thread->capacity * NODE_BYTES +
			(size_t)thread->recent.capacity * RECENT_FRAME_BYTES;
	index_release(&thread->alike);
	index_release(&thread->by_caller);
	free(thread->nodes);
	free(thread->recent.frames);
	free(thread->recent.evidence);
	free(thread);
}

void stitching_forget_all(struct stitching *stitching)
{
	for (size_t i = 0; i < STITCHING_SHARES; i++)
		while (stitching->shares[i].threads)
			drop_thread(&stitching->shares[i], stitching->shares[i].threads);
}

void stitching_free(struct stitching *stitching)
{
	if (!stitching)
		return;
	stitching_forget_all(stitching);
	free(stitching);
}

static struct thread *find_thread(const struct share *share, int32_t tid)
{
	struct thread *thread;
	HASH_FIND(hh, share->threads, &tid, sizeof(tid), thread);
	return thread;
}

bool stitching_watch(const struct stitching *stitching, int32_t tid)
{
	const struct share *share = &stitching->shares[stitching_share(tid)];
	return share->threads && find_thread(share, tid) != NULL;
}

void stitching_forget(struct stitching *stitching, int32_t tid)
{
	struct share *share = share_of(stitching, tid);
	struct thread *thread = find_thread(share, tid);
	if (thread)
		drop_thread(share, thread);
}

/* The one that was not sampled for longest goes, but for `but`. False: there is no other. */
static bool drop_oldest(struct share *share, const struct thread *but)
{
	struct thread *thread, *next, *oldest = NULL;
	HASH_ITER (hh, share->threads, thread, next)
		if (thread != but && (!oldest || thread->used < oldest->used))
			oldest = thread;
	if (oldest)
		drop_thread(share, oldest);
	return oldest != NULL;
}

/* For what a thread needs more: NODES_MAX lets it have it where it is alone. */
static void take_bytes(struct share *share, const struct thread *of, size_t bytes)
{
	while (share->bytes + bytes > SHARE_MAX_BYTES && drop_oldest(share, of))
		;
	share->bytes += bytes;
}

static struct thread *add_thread(struct share *share, int32_t tid)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	if (HASH_COUNT(share->threads) >= SHARE_THREADS_MAX)
		drop_oldest(share, NULL);
	thread->tid = tid;
	thread->used = ++share->nr_taken;
	HASH_ADD(hh, share->threads, tid, sizeof(thread->tid), thread);
	return thread;
}

static void clear_thread(struct thread *thread)
{
	index_clear(&thread->alike);
	index_clear(&thread->by_caller);
	thread->nr = 0;
	thread->outermost = thread->unknowns = 0;
	thread->recent.nr = 0;
}

/* ---- nodes ---- */

/* Of what two calls must have in common to be the same. */
static uint64_t key_hash(const struct unwind_frame *frame, const struct unwind_evidence *evidence)
{
	uint64_t hash = hash_two(frame->process_address, evidence->sp);
	for (size_t i = 0; i < sizeof(evidence->saved) / sizeof(*evidence->saved); i++)
		hash = hash_two(hash, evidence->saved[i]);
	return hash;
}

/* One call may have been seen with many callers, as recursions have: what is looked for by both has a hash of both. */
static uint64_t caller_hash(uint64_t key, uint32_t parent)
{
	return hash_two(key, parent);
}

static bool same_place(const struct node *node, const struct unwind_frame *frame,
		       const struct unwind_evidence *evidence)
{
	return node->frame.process_address == frame->process_address &&
	       node->evidence.sp == evidence->sp;
}

/* The registers that callees give back: known or not, they must be the same. */
static bool same_registers(const struct unwind_evidence *a, const struct unwind_evidence *b)
{
	return a->known == b->known && memcmp(a->saved, b->saved, sizeof(a->saved)) == 0;
}

/* The first remembered frame like this one, a row + 1; 0: there is none. */
static uint32_t find_alike(const struct thread *thread, uint64_t key,
			   const struct unwind_frame *frame, const struct unwind_evidence *evidence)
{
	struct index_probe probe = index_find(&thread->alike, key);
	uint32_t row;
	while (index_next(&thread->alike, &probe, &row)) {
		const struct node *node = &thread->nodes[row];
		if (same_place(node, frame, evidence) && same_registers(&node->evidence, evidence))
			return row + 1;
	}
	return 0;
}

/* Adds a node; room for it is there. */
static void add_node(struct thread *thread, const struct node *node, uint64_t key)
{
	uint32_t row = thread->nr++;
	uint32_t first = find_alike(thread, key, &node->frame, &node->evidence);
	thread->nodes[row] = *node;
	thread->nodes[row].next = 0;
	thread->nodes[row].callee = 0;
	index_add(&thread->by_caller, caller_hash(key, node->parent), row);
	if (!first) {
		index_add(&thread->alike, key, row);
		return;
	}
	thread->nodes[row].next = thread->nodes[first - 1].next;
	thread->nodes[first - 1].next = row + 1;
}

static int compare_used(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	return (one > other) - (one < other);
}

/* Forgets the half that was not seen for longest. Callers come before what they call, and are seen as late. 0 or -ENOMEM. */
static int forget_half(struct thread *thread)
{
	uint32_t *rows = malloc(thread->nr * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < thread->nr; i++)
		rows[i] = thread->nodes[i].used;
	qsort(rows, thread->nr, sizeof(*rows), compare_used);
	const uint32_t last_forgotten = rows[thread->nr / 2];
	const uint32_t nr = thread->nr;
	index_clear(&thread->alike);
	index_clear(&thread->by_caller);
	thread->nr = 0;
	thread->outermost = thread->unknowns = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct node node = thread->nodes[i];
		if (node.used <= last_forgotten)
			continue;
		if (node.parent && node.parent != UNKNOWN)
			node.parent = rows[node.parent - 1];
		add_node(thread, &node, key_hash(&node.frame, &node.evidence));
		rows[i] = thread->nr; /* of no use as a count any more: i is behind */
	}
	free(rows);
	return 0;
}

static int reserve_node(struct share *share, struct thread *thread)
{
	if (thread->nr == thread->capacity) {
		uint32_t capacity = thread->capacity ? thread->capacity * 2 : FIRST_NODES;
		if (capacity > NODES_MAX)
			capacity = NODES_MAX;
		struct node *grown = realloc(thread->nodes, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		take_bytes(share, thread, (size_t)(capacity - thread->capacity) * NODE_BYTES);
		thread->nodes = grown;
		thread->capacity = capacity;
	}
	return index_reserve(&thread->alike) || index_reserve(&thread->by_caller) ? -ENOMEM : 0;
}

/* What a caller called last. */
static uint32_t *last_callee(struct thread *thread, uint32_t caller)
{
	if (!caller)
		return &thread->outermost;
	return caller == UNKNOWN ? &thread->unknowns : &thread->nodes[caller - 1].callee;
}

static bool is_callee(const struct node *node, uint32_t caller, const struct unwind_frame *frame,
		      const struct unwind_evidence *evidence)
{
	return node->parent == caller && same_place(node, frame, evidence) &&
	       same_registers(&node->evidence, evidence);
}

/* The node's row + 1; 0: there is none. */
static uint32_t find_callee(struct thread *thread, uint32_t caller, uint64_t key,
			    const struct unwind_frame *frame,
			    const struct unwind_evidence *evidence)
{
	struct index_probe probe = index_find(&thread->by_caller, caller_hash(key, caller));
	uint32_t row;
	while (index_next(&thread->by_caller, &probe, &row))
		if (is_callee(&thread->nodes[row], caller, frame, evidence))
			return row + 1;
	return 0;
}

/* The node of a frame whose caller's is *parent; then it is *parent. Most often the last stack had the same call. 0 or -ENOMEM. */
static int intern(struct share *share, struct thread *thread, const struct unwind_frame *frame,
		  const struct unwind_evidence *evidence, uint32_t *parent)
{
	const uint32_t caller = *parent;
	uint32_t row = *last_callee(thread, caller);
	if (!row || !is_callee(&thread->nodes[row - 1], caller, frame, evidence)) {
		const uint64_t key = key_hash(frame, evidence);
		row = find_callee(thread, caller, key, frame, evidence);
		if (!row) {
			const struct node node = {
				.frame = *frame, .evidence = *evidence, .parent = caller};
			if (reserve_node(share, thread))
				return -ENOMEM;
			add_node(thread, &node, key);
			row = thread->nr;
		}
	}
	thread->nodes[row - 1].used = thread->nr_stacks;
	*last_callee(thread, caller) = row;
	*parent = row;
	return 0;
}

/* The callers on a complete stack, below which `tail` (a row + 1) lies. */
static int remember(struct share *share, struct thread *thread, const struct unwind_frame *frames,
		    const struct unwind_evidence *evidence, size_t nr, uint32_t tail)
{
	int result = 0;
	thread->nr_stacks++;
	for (uint32_t row = tail; row && row != UNKNOWN; row = thread->nodes[row - 1].parent)
		thread->nodes[row - 1].used = thread->nr_stacks;
	/* A leaf's address is not one that it is called from again. */
	for (size_t i = nr; !result && i-- > 1;)
		result = intern(share, thread, &frames[i], &evidence[i], &tail);
	return result;
}

/* ---- recent stacks ---- */

static int reserve_recent(struct share *share, struct thread *thread, uint32_t nr)
{
	struct recent *recent = &thread->recent;
	if (nr <= recent->capacity)
		return 0;
	uint32_t capacity = nr < RECENT_FRAMES / 2 ? nr * 2 : RECENT_FRAMES;
	struct unwind_frame *frames = realloc(recent->frames, capacity * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	recent->frames = frames;
	struct unwind_evidence *evidence = realloc(recent->evidence, capacity * sizeof(*evidence));
	if (!evidence)
		return -ENOMEM;
	recent->evidence = evidence;
	take_bytes(share, thread, (size_t)(capacity - recent->capacity) * RECENT_FRAME_BYTES);
	recent->capacity = capacity;
	return 0;
}

/* Keeps a complete stack for the next cut one. */
static int keep(struct share *share, struct thread *thread, const struct unwind_frame *frames,
		const struct unwind_evidence *evidence, uint32_t nr)
{
	struct recent *recent = &thread->recent;
	uint32_t at = recent->nr ? recent->ends[recent->nr - 1] : 0;
	if (recent->nr == RECENT_STACKS || at + nr > RECENT_FRAMES)
		recent->nr = at = 0;
	if (reserve_recent(share, thread, at + nr))
		return -ENOMEM;
	memcpy(recent->frames + at, frames, nr * sizeof(*frames));
	memcpy(recent->evidence + at, evidence, nr * sizeof(*evidence));
	recent->ends[recent->nr++] = at + nr;
	return 0;
}

static int make_nodes_room(struct thread *thread, size_t nr)
{
	return thread->nr + nr > NODES_MAX ? forget_half(thread) : 0;
}

/* A stack was cut: what came before it is worth remembering. */
static int remember_recent(struct share *share, struct thread *thread)
{
	struct recent *recent = &thread->recent;
	uint32_t at = 0;
	int result = 0;
	for (uint32_t i = 0; !result && i < recent->nr; at = recent->ends[i++]) {
		uint32_t nr = recent->ends[i] - at;
		result = make_nodes_room(thread, nr);
		if (!result)
			result = remember(share, thread, recent->frames + at, recent->evidence + at,
					  nr, 0);
	}
	recent->nr = 0;
	return result;
}

/* ---- joining ---- */

/* Whether two callers are the same, and all above them as far as both are known. *longer: the one that knows more. */
static bool same_tail(const struct thread *thread, uint32_t a, uint32_t b, uint32_t *longer)
{
	const uint32_t first_a = a, first_b = b;
	while (a != b && a != UNKNOWN && b != UNKNOWN) {
		if (!a || !b)
			return false;
		const struct node *one = &thread->nodes[a - 1], *other = &thread->nodes[b - 1];
		if (!same_place(one, &other->frame, &other->evidence))
			return false;
		a = one->parent;
		b = other->parent;
	}
	*longer = a == UNKNOWN ? first_b : first_a;
	return true;
}

/* The caller that all remembered frames like this one had, a row + 1; 0: there is none, or two. */
static uint32_t find_caller(const struct thread *thread, const struct unwind_frame *frame,
			    const struct unwind_evidence *evidence)
{
	uint32_t row = find_alike(thread, key_hash(frame, evidence), frame, evidence), caller = 0;
	for (unsigned nr = 0; row; row = thread->nodes[row - 1].next) {
		if (++nr > ALIKE_MAX)
			return 0;
		const struct node *node = &thread->nodes[row - 1];
		if (!node->parent || node->parent == UNKNOWN)
			continue;
		if (!caller)
			caller = node->parent;
		else if (!same_tail(thread, caller, node->parent, &caller))
			return 0;
	}
	return caller;
}

/* Appends the frames from a cut stack's outermost one on, from one remembered stack to the next. False: they do not reach the root. */
static bool append_tail(const struct thread *thread, struct unwind_frame *frames,
			const struct unwind_evidence *evidence, size_t *nr, uint32_t *tail)
{
	size_t at = *nr;
	struct unwind_evidence last = evidence[at - 1];
	*tail = 0;
	for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
		uint32_t row = find_caller(thread, &frames[at - 1], &last);
		if (!row)
			return false;
		if (!*tail)
			*tail = row;
		while (row && row != UNKNOWN) {
			if (at == UNWIND_MAX_FRAMES)
				return false;
			const struct node *node = &thread->nodes[row - 1];
			frames[at] = node->frame;
			frames[at++].method = FRAME_JOINED;
			last = node->evidence;
			row = node->parent;
		}
		if (!row) {
			*nr = at;
			return true;
		}
	}
	return false;
}

int stitching_take(struct stitching *stitching, int32_t tid, uint64_t generation,
		   struct unwind_frame *frames, const struct unwind_evidence *evidence,
		   struct unwind_result *result)
{
	bool is_cut = result->end == STACK_TRUNCATED && result->reason == STACK_REASON_DUMP_END;
	struct share *share = share_of(stitching, tid);
	struct thread *thread = find_thread(share, tid);
	if (!thread) {
		/* What this one lacks is not remembered; from now on it will be. */
		return is_cut && !add_thread(share, tid) ? -ENOMEM : 0;
	}
	thread->used = ++share->nr_taken;
	size_t nr = result->nr_frames;
	if (thread->generation != generation)
		clear_thread(thread);
	thread->generation = generation;
	if (result->end == STACK_COMPLETE)
		return keep(share, thread, frames, evidence, (uint32_t)nr);
	if (!is_cut || nr < 2)
		return 0;
	int error = remember_recent(share, thread);
	if (!error)
		error = make_nodes_room(thread, nr);
	if (error)
		return error;
	uint32_t tail;
	if (!append_tail(thread, frames, evidence, &result->nr_frames, &tail))
		return remember(share, thread, frames, evidence, nr, UNKNOWN);
	result->end = STACK_JOINED;
	result->reason = STACK_REASON_NONE;
	return remember(share, thread, frames, evidence, nr, tail);
}

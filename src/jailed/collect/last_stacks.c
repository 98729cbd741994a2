/* SPDX-License-Identifier: MIT */
#include "last_stacks.h"

#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/store/tables.h>

#include "output.h"

enum {
	NR_THREADS = 1 << 9,
	NR_KNOWN = 1 << 13, /* 256 KiB */
	FIRST_STEPS = 64,
	/* 24 callers take 768 bytes. A stack that does not fit begins to be looked up where the memory ends. */
	MEMORY_MAX_BYTES = 4 << 20
};

struct stack_step {
	const struct module *module;
	uint64_t address;
	enum frame_method method;
	struct node_id node;
};

/* A node that any thread's stack had. */
struct known_node {
	const struct module *module;
	uint64_t address;
	uint32_t epoch, method;
	struct node_id parent, node; /* node 0: none */
};

struct last_stacks {
	struct last_stack threads
		[NR_THREADS]; /* by tid; of two in one place each is of no use to the other */
	struct known_node known[NR_KNOWN]; /* of those in one place the last */
	size_t bytes;
	uint32_t hand; /* whose memory is given up next */
};

struct last_stacks *last_stacks_new(void)
{
	return calloc(1, sizeof(struct last_stacks));
}

static void release(struct last_stacks *stacks, struct last_stack *last)
{
	stacks->bytes -= last->capacity * sizeof(*last->steps);
	free(last->steps);
	*last = (struct last_stack){0};
}

void last_stacks_forget(struct last_stacks *stacks)
{
	for (size_t i = 0; i < NR_THREADS; i++)
		release(stacks, &stacks->threads[i]);
	memset(stacks->known, 0, sizeof(stacks->known));
}

void last_stacks_free(struct last_stacks *stacks)
{
	if (stacks)
		last_stacks_forget(stacks);
	free(stacks);
}

struct last_stack *last_stacks_begin(struct last_stacks *stacks, int32_t tid, uint32_t epoch)
{
	struct last_stack *last = &stacks->threads[hash_u64((uint64_t)tid) % NR_THREADS];
	if (last->epoch != epoch)
		last->nr = 0;
	last->epoch = epoch;
	last->depth = 0;
	last->node = (struct node_id){0};
	return last;
}

/* Room for one more step; other threads' make way. False: there is none. */
static bool reserve(struct last_stacks *stacks, struct last_stack *last)
{
	if (last->nr < last->capacity)
		return true;
	const uint32_t capacity = last->capacity ? 2 * last->capacity : FIRST_STEPS;
	const size_t more = (capacity - last->capacity) * sizeof(*last->steps);
	for (uint32_t i = 0; i < NR_THREADS && stacks->bytes + more > MEMORY_MAX_BYTES; i++) {
		struct last_stack *other = &stacks->threads[stacks->hand++ % NR_THREADS];
		if (other != last)
			release(stacks, other);
	}
	struct stack_step *steps = stacks->bytes + more > MEMORY_MAX_BYTES
					   ? NULL
					   : realloc(last->steps, capacity * sizeof(*steps));
	if (!steps)
		return false;
	stacks->bytes += more;
	last->steps = steps;
	last->capacity = capacity;
	return true;
}

static bool is_known(const struct known_node *known, const struct known_node *wanted)
{
	return known->node.index && known->module == wanted->module &&
	       known->address == wanted->address && known->epoch == wanted->epoch &&
	       known->method == wanted->method && known->parent.index == wanted->parent.index;
}

/* Its row, with the parent's in *node. */
static int find_node(struct last_stacks *stacks, struct output *output, struct module *module,
		     uint64_t address, enum frame_method method, struct node_id *node)
{
	struct known_node wanted = {module, address, output->epoch, (uint32_t)method, *node, {0}};
	struct known_node *known = &stacks->known[hash_two(address, node->index) % NR_KNOWN];
	struct frame_id frame;
	if (is_known(known, &wanted)) {
		*node = known->node;
		return 0;
	}
	int result = output_add_frame(output, module, address, &frame);
	if (!result)
		result = tables_add_node(output->writer, *node, frame, method, node);
	if (result)
		return result;
	wanted.node = *node;
	*known = wanted;
	return 0;
}

int last_stacks_add(struct last_stacks *stacks, struct last_stack *last, struct output *output,
		    struct module *module, uint64_t address, enum frame_method method)
{
	const uint32_t depth = last->depth++;
	const struct stack_step *step = depth < last->nr ? &last->steps[depth] : NULL;
	if (step && step->module == module && step->address == address && step->method == method) {
		last->node = step->node;
		return 0;
	}
	if (step)
		last->nr = depth;
	int result = find_node(stacks, output, module, address, method, &last->node);
	if (!result && last->nr == depth && reserve(stacks, last))
		last->steps[last->nr++] = (struct stack_step){module, address, method, last->node};
	return result;
}

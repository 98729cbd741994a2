/* SPDX-License-Identifier: MIT */
#include "code_ways.h"

#include <string.h>

enum {
	TABLE_ENTRIES_MAX = 512,
	WAY_NODES_MAX = 1024, /* to the returns */
	CLEARING_STEPS = 32,  /* it takes as long */
};

static void spend(struct ways *ways, uint64_t steps)
{
	*ways->steps -= steps < *ways->steps ? steps : *ways->steps;
}

static bool is_marked(const uint64_t *bits, uint64_t at)
{
	return bits && bits[at / 64] >> at % 64 & 1;
}

bool code_ways_may_begin(const struct code_view *view, uint64_t at)
{
	return at < view->size && (is_marked(view->starts, at) || is_marked(view->parts, at));
}

/* Where the number of the node at an address is, or would be. */
static uint32_t slot_of(const struct ways *ways, uint32_t at)
{
	uint32_t slot = at * UINT32_C(0x9e3779b1) >> (32 - SLOT_BITS);
	while (ways->slots[slot] && ways->nodes[ways->slots[slot] - 1].at != at)
		slot = (slot + 1) % NR_SLOTS;
	return slot;
}

static void clear(struct ways *ways)
{
	spend(ways, CLEARING_STEPS);
	for (size_t i = 0; i < ways->nr; i++)
		ways->nodes[i].queued = false;
	memset(ways->slots, 0, sizeof(ways->slots));
	ways->nr = 0;
	for (unsigned i = 0; i < NR_TRUSTS; i++)
		ways->lists[i].nr = 0;
	ways->again = ways->found = false;
}

static bool read_instruction(const struct code_view *view, uint64_t at,
			     struct instruction *instruction)
{
	uint8_t bytes[INSTRUCTION_MAX_BYTES];
	size_t size = view->size - at < sizeof(bytes) ? view->size - at : sizeof(bytes);
	if (view->bytes)
		return instruction_read(view->bytes + at, view->size - at, instruction);
	/* Fewer only where the code ends. */
	while (size > 0 && !view->read(view->context, view->start + at, bytes, size))
		size--;
	return instruction_read(bytes, size, instruction);
}

static void queue(struct ways *ways, struct node *node, enum trust trust)
{
	struct list *list = &ways->lists[trust];
	if (node->queued)
		return;
	node->queued = true;
	list->items[list->nr++] = (uint32_t)(node - ways->nodes);
}

static bool returns(const struct ways *ways, uint32_t call)
{
	for (size_t i = 0; i < ways->nr_no_return; i++)
		if (ways->no_return[i] == call)
			return false;
	return true;
}

/* What came this way makes no sense: the last call on it does not return. */
static void contradict(struct ways *ways, uint32_t call)
{
	if (call == 0 || ways->nr_no_return == RESTARTS_MAX) {
		ways->failed = true;
		return;
	}
	ways->no_return[ways->nr_no_return++] = call;
	ways->again = true;
}

static void add_node(struct ways *ways, const struct code_state *state, uint64_t at,
		     enum trust trust)
{
	if (ways->nr == ways->nodes_max) {
		ways->failed = ways->failed || !ways->to_return;
		return;
	}
	struct node *node = &ways->nodes[ways->nr];
	*node = (struct node){.state = *state, .at = (uint32_t)at, .doubtful = trust == DOUBTFUL};
	ways->slots[slot_of(ways, (uint32_t)at)] = (uint32_t)++ways->nr;
	queue(ways, node, trust);
}

/* One of two ways came back from a call that does not: more likely the one just before. */
static void blame(struct ways *ways, uint32_t known, uint32_t call, uint32_t at)
{
	const bool blame_known = known != 0 && (call == 0 || at - known < at - call);
	contradict(ways, blame_known ? known : call);
}

static void go_to(struct ways *ways, const struct code_state *state, uint64_t at, enum trust trust)
{
	if (at >= ways->view->size || at > UINT32_MAX)
		return;
	const uint32_t number = ways->slots[slot_of(ways, (uint32_t)at)];
	if (number == 0) {
		add_node(ways, state, at, trust);
		return;
	}
	struct node *node = &ways->nodes[number - 1];
	const struct code_state *known = &node->state;
	if (ways->to_return || (trust == DOUBTFUL && !node->doubtful))
		return;
	if (node->doubtful && trust != DOUBTFUL) {
		node->state = *state;
		node->doubtful = false;
		queue(ways, node, trust);
		return;
	}
	const bool differ =
		known->base[UNWIND_SP] != BASE_UNKNOWN && state->base[UNWIND_SP] != BASE_UNKNOWN &&
		!code_state_is(state, UNWIND_SP, known->base[UNWIND_SP], known->offset[UNWIND_SP]);
	if (differ && known->call != state->call)
		blame(ways, known->call, state->call, (uint32_t)at);
	if (!ways->again && code_state_join(&node->state, state))
		queue(ways, node, trust);
}

/* What is met from there without a call in between. */
static enum trust trust_in(const struct node *node)
{
	return node->doubtful ? DOUBTFUL : SURE;
}

/* ---- jump tables ---- */

static bool read_entry(const struct ways *ways, uint64_t table, uint64_t base, size_t i, bool wide,
		       uint64_t *target)
{
	const struct code_view *view = ways->view;
	int32_t distance;
	if (!view->read)
		return false;
	if (wide)
		return view->read(view->context, table + i * sizeof(*target), target,
				  sizeof(*target));
	if (!view->read(view->context, table + i * sizeof(distance), &distance, sizeof(distance)))
		return false;
	*target = base + (uint64_t)(int64_t)distance;
	return true;
}

static void follow_table(struct ways *ways, const struct node *node, const struct code_state *state,
			 uint64_t table, uint64_t base, bool wide)
{
	const size_t nr = state->limit && state->limit < TABLE_ENTRIES_MAX ? state->limit + 1
									   : TABLE_ENTRIES_MAX;
	for (size_t i = 0; i < nr && !ways->again; i++) {
		uint64_t target;
		if (!read_entry(ways, table, base, i, wide, &target) || *ways->steps == 0)
			return;
		spend(ways, 1 + ways->view->read_steps);
		target -= ways->view->start;
		const bool is_inside = target >= ways->low && target < ways->high;
		/* Of addresses some may lead to a part elsewhere; a distance that does ends the table. */
		if (target >= ways->view->size || (!wide && !is_inside))
			return;
		if (!is_inside)
			continue;
		go_to(ways, state, target, trust_in(node));
	}
}

/* At an address that a register has. */
static void follow_near_table(struct ways *ways, const struct node *node,
			      const struct code_state *state, unsigned base, int64_t value)
{
	if (base < CODE_NR_REGS && state->base[base] == BASE_ADDRESS)
		follow_table(ways, node, state,
			     ways->view->start + (uint64_t)(state->offset[base] + value), 0, true);
}

static void follow_register(struct ways *ways, const struct node *node,
			    const struct code_state *state, unsigned reg)
{
	const uint64_t start = ways->view->start, at = (uint64_t)(int64_t)state->offset[reg];
	if (state->base[reg] == BASE_POINTER)
		follow_table(ways, node, state, at, 0, true);
	else if (state->base[reg] == BASE_NEAR_POINTER)
		follow_table(ways, node, state, start + at, 0, true);
	else if (state->base[reg] == BASE_TARGET)
		follow_table(ways, node, state, start + at,
			     start + (uint64_t)(int64_t)state->entry_base, false);
}

/* ---- returns ---- */

/* Where the stack pointer is known from what registers held at first. */
static bool is_located(uint8_t base)
{
	return base == BASE_FIRST + UNWIND_SP || base == BASE_FIRST + UNWIND_FP ||
	       base == BASE_AT_SP || base == BASE_AT_FP;
}

static void take_return(struct ways *ways, const struct node *node)
{
	const struct code_state *state = &node->state;
	const uint8_t base = state->base[UNWIND_SP];
	if (!ways->to_return) {
		if (!node->doubtful && base != BASE_UNKNOWN &&
		    !code_state_is(state, UNWIND_SP, BASE_CFA, -MACHINE_CALL_BYTES))
			contradict(ways, state->call);
		return;
	}
	if (!is_located(base) || node->doubtful)
		return;
	if (!ways->found)
		ways->returned = *state;
	else if (!code_state_is(&ways->returned, UNWIND_SP, base, state->offset[UNWIND_SP]))
		ways->failed = true; /* from the start it may be known which is none */
	ways->found = true;
}

/* ---- ways ---- */

/* Out of the function with its frame in place is to a part of it elsewhere; else to another one. */
static bool leaves(const struct ways *ways, const struct code_state *state, uint64_t target)
{
	return !ways->to_return && (target < ways->low || target >= ways->high) &&
	       code_state_is(state, UNWIND_SP, BASE_CFA, -MACHINE_CALL_BYTES) &&
	       (target >= ways->view->size || !is_marked(ways->view->parts, target) ||
		is_marked(ways->view->starts, target));
}

static void jump(struct ways *ways, const struct node *node, const struct code_state *state,
		 uint64_t target)
{
	if (!leaves(ways, state, target))
		go_to(ways, state, target, trust_in(node));
}

/* A loop that goes down the stack page by page ends where the other register points to. */
static bool is_probing(const struct code_state *state, const struct instruction *instruction)
{
	return state->compared != 0 && instruction->value < 0;
}

static void go_on(struct ways *ways, const struct node *node, const struct code_state *state,
		  uint64_t to, enum trust trust)
{
	/* Nobody falls into the next function. */
	if (!ways->to_return && node->at < ways->high && to >= ways->high)
		return;
	go_to(ways, state, to,
	      node->doubtful || code_ways_may_begin(ways->view, to) ? DOUBTFUL : trust);
}

/*
 * Where a call is followed by what fills the gap before an aligned address, and nothing branches there, the call does
 * not return, and another function begins there: else the gap would have to be passed each time.
 */
static bool is_last(struct ways *ways, uint64_t at)
{
	const struct code_view *view = ways->view;
	enum { ALIGNMENT = 16 };
	const uint64_t behind = at;
	struct instruction instruction;
	if (!view->branched_to)
		return false;
	while (at < view->size && read_instruction(view, at, &instruction) &&
	       instruction.kind == INSTRUCTION_NOP && at - behind < ALIGNMENT) {
		at += instruction.length;
		spend(ways, 1);
	}
	return at > behind && at < view->size && (view->start + at) % ALIGNMENT == 0 &&
	       !is_marked(view->branched_to, at);
}

static void take_node(struct ways *ways, struct node *node)
{
	const struct code_view *view = ways->view;
	struct instruction instruction;
	node->queued = false;
	if (!read_instruction(view, node->at, &instruction))
		return;
	node->length = instruction.length;
	const uint64_t at = node->at, end = at + instruction.length;
	const uint64_t target = end + (uint64_t)instruction.value;
	struct code_state state = node->state;
	code_state_apply(&state, &instruction, (int64_t)end);
	switch ((enum instruction_kind)instruction.kind) {
	case INSTRUCTION_RETURN:
		take_return(ways, node);
		return;
	case INSTRUCTION_STOP:
		return;
	case INSTRUCTION_JUMP_MEMORY:
		/* Through the PLT's or another table of pointers. */
		if (ways->to_return)
			take_return(ways, node);
		return;
	case INSTRUCTION_JUMP_INDEXED:
		follow_near_table(ways, node, &state, instruction.base, instruction.value);
		return;
	case INSTRUCTION_JUMP_TABLE:
		follow_table(ways, node, &state, (uint64_t)instruction.value, 0, true);
		return;
	case INSTRUCTION_JUMP_REGISTER:
		follow_register(ways, node, &state, instruction.reg);
		return;
	case INSTRUCTION_JUMP:
		jump(ways, node, &state, target);
		return;
	case INSTRUCTION_BRANCH:
		if (is_probing(&node->state, &instruction)) {
			const uint8_t compared = node->state.compared;
			state.base[UNWIND_SP] = node->state.base[compared];
			state.offset[UNWIND_SP] = node->state.offset[compared];
		} else {
			jump(ways, node, &state, target);
		}
		break;
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_INDIRECT:
		if (!returns(ways, (uint32_t)at) || is_last(ways, end))
			return;
		if (instruction.kind == INSTRUCTION_CALL && instruction.value == 0)
			break;
		state.call = (uint32_t)at;
		go_on(ways, node, &state, end, AFTER_CALL);
		return;
	case INSTRUCTION_OTHER:
	case INSTRUCTION_PUSH:
	case INSTRUCTION_PUSH_VALUE:
	case INSTRUCTION_POP:
	case INSTRUCTION_POP_VALUE:
	case INSTRUCTION_LEAVE:
	case INSTRUCTION_ADD:
	case INSTRUCTION_ADD_REGISTER:
	case INSTRUCTION_ALIGN:
	case INSTRUCTION_COPY:
	case INSTRUCTION_SUM:
	case INSTRUCTION_ADDRESS:
	case INSTRUCTION_CONSTANT:
	case INSTRUCTION_LOAD:
	case INSTRUCTION_LOAD_ENTRY:
	case INSTRUCTION_LOAD_POINTER:
	case INSTRUCTION_STORE:
	case INSTRUCTION_COMPARE:
	case INSTRUCTION_NOP:
	case INSTRUCTION_COMPARE_VALUE:
		break;
	}
	go_on(ways, node, &state, end, SURE);
}

static struct list *next_list(struct ways *ways)
{
	for (unsigned i = 0; i < NR_TRUSTS; i++)
		if (ways->lists[i].nr)
			return &ways->lists[i];
	return NULL;
}

static void walk(struct ways *ways)
{
	/* Code that is not all here is read no further than it must. */
	const bool first_will_do = ways->to_return && !ways->view->bytes;
	struct list *list;
	while (!ways->failed && !ways->again && !(first_will_do && ways->found) &&
	       (list = next_list(ways))) {
		if (*ways->steps == 0) {
			ways->failed = true;
			return;
		}
		--*ways->steps;
		take_node(ways, &ways->nodes[list->items[--list->nr]]);
	}
}

void code_ways_from_start(struct ways *ways, const struct code_view *view, uint64_t low,
			  uint64_t high, uint64_t *steps)
{
	struct code_state start;
	code_state_of_start(&start);
	ways->view = view;
	ways->steps = steps;
	ways->low = low;
	ways->high = high;
	ways->nodes_max = NODES_MAX;
	ways->nr_no_return = 0;
	ways->failed = false;
	do {
		clear(ways);
		go_to(ways, &start, low, SURE);
		walk(ways);
	} while (ways->again && !ways->failed);
}

bool code_ways_to_return(struct ways *ways, const struct code_view *view, uint64_t at,
			 uint64_t *steps)
{
	struct code_state anywhere;
	code_state_of_anywhere(&anywhere);
	ways->view = view;
	ways->steps = steps;
	ways->to_return = true;
	ways->nodes_max = WAY_NODES_MAX;
	ways->failed = false;
	clear(ways);
	go_to(ways, &anywhere, at, SURE);
	walk(ways);
	return ways->found && !ways->failed;
}

const struct node *code_ways_at(const struct ways *ways, uint64_t at, bool after_call)
{
	const unsigned longest = after_call ? INSTRUCTION_MAX_BYTES : 1;
	for (unsigned back = 0; back < longest && back <= at; back++) {
		const uint32_t number = ways->slots[slot_of(ways, (uint32_t)(at - back))];
		const unsigned length = number ? ways->nodes[number - 1].length : 0;
		if (after_call ? length == back + 1 : length != 0)
			return &ways->nodes[number - 1];
	}
	return NULL;
}

uint64_t code_ways_next_function(struct ways *ways)
{
	const struct code_view *view = ways->view;
	struct instruction instruction;
	uint64_t at = ways->low;
	uint32_t number;
	while (at < ways->high && (number = ways->slots[slot_of(ways, (uint32_t)at)]) &&
	       ways->nodes[number - 1].length)
		at += ways->nodes[number - 1].length;
	while (at<ways->high && * ways->steps> 0 && read_instruction(view, at, &instruction) &&
	       (instruction.kind == INSTRUCTION_NOP || instruction.kind == INSTRUCTION_STOP)) {
		at += instruction.length;
		spend(ways, 1);
	}
	return at;
}

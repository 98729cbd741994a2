/* SPDX-License-Identifier: MIT */
#include <ctop/code/code_rule.h>

#include <stdlib.h>
#include <string.h>

#include "code_ways.h"

enum { FUNCTIONS_MAX = 16 };

struct code_reader {
	struct ways function; /* the one that was read last, from its start */
	uint64_t view;	      /* its serial; 0: none */
	struct ways to_return;
	uint64_t allowance;
};

struct code_reader *code_reader_new(void)
{
	return calloc(1, sizeof(struct code_reader));
}

void code_reader_free(struct code_reader *reader)
{
	free(reader);
}

uint64_t *code_reader_allowance(struct code_reader *reader)
{
	return &reader->allowance;
}

/* A register's value as a place to be found by: first stack or frame pointer + offset. */
static bool as_register(uint8_t base, int32_t offset, uint8_t *reg, int32_t *from)
{
	*from = offset;
	if (base == BASE_FIRST + UNWIND_SP || base == BASE_AT_SP)
		*reg = UNWIND_SP;
	else if (base == BASE_FIRST + UNWIND_FP || base == BASE_AT_FP)
		*reg = UNWIND_FP;
	else
		return false;
	return true;
}

static bool lost_return(const struct code_rule *rule)
{
	return MACHINE_HAS_LINK && rule->saved[MACHINE_LINK_INDEX].lost;
}

static struct code_rule rule_at_return(const struct code_state *state)
{
	struct code_rule rule = {.ways = CODE_TO_RETURN};
	if (!as_register(state->base[UNWIND_SP], state->offset[UNWIND_SP], &rule.cfa_register,
			 &rule.offset))
		return (struct code_rule){0};
	if (state->base[UNWIND_SP] == BASE_AT_SP || state->base[UNWIND_SP] == BASE_AT_FP)
		rule.in_memory = true;
	*(rule.in_memory ? &rule.add : &rule.offset) += MACHINE_CALL_BYTES;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		struct code_location *saved = &rule.saved[i];
		const unsigned number = machine_saved[i];
		const uint8_t base = state->base[number];
		if (code_state_is(state, number, BASE_FIRST + number, 0))
			continue;
		saved->known =
			(base == BASE_AT_SP || base == BASE_AT_FP) &&
			as_register(base, state->offset[number], &saved->reg, &saved->offset);
		saved->lost = !saved->known;
		if (saved->known && !rule.in_memory && saved->reg == rule.cfa_register) {
			saved->reg = UNWIND_PC;
			saved->offset -= rule.offset;
		}
	}
	return lost_return(&rule) ? (struct code_rule){0} : rule;
}

static void locate(const struct code_state *state, unsigned i, struct code_location *saved)
{
	const unsigned number = machine_saved[i];
	if (state->saved_base[i] == BASE_CFA) {
		*saved = (struct code_location){
			.known = true, .reg = UNWIND_PC, .offset = state->saved_offset[i]};
	} else if (state->saved_base[i] == BASE_ALIGNED && state->base[UNWIND_FP] == BASE_ALIGNED) {
		*saved = (struct code_location){.known = true,
						.reg = UNWIND_FP,
						.offset = state->saved_offset[i] -
							  state->offset[UNWIND_FP]};
	} else if (state->saved_base[i] == BASE_ALIGNED && state->base[UNWIND_SP] == BASE_ALIGNED) {
		*saved = (struct code_location){.known = true,
						.reg = UNWIND_SP,
						.offset = state->saved_offset[i] -
							  state->offset[UNWIND_SP]};
	} else {
		saved->lost = !code_state_is(state, number, BASE_FIRST + number, 0);
	}
}

/* The CFA by the stack pointer, by the frame pointer, by any register, by a copy of it on an aligned stack. */
static bool find_cfa(const struct code_state *state, struct code_rule *rule)
{
	static const uint8_t order[] = {UNWIND_SP, UNWIND_FP};
	for (unsigned i = 0; i < CODE_NR_REGS + sizeof(order); i++) {
		const unsigned number = i < sizeof(order) ? order[i] : i - (unsigned)sizeof(order);
		if (state->base[number] != BASE_CFA)
			continue;
		rule->cfa_register = (uint8_t)number;
		rule->offset = -state->offset[number];
		return true;
	}
	for (unsigned i = 0; i < sizeof(order) && state->has_cfa_slot; i++) {
		if (state->base[order[i]] != BASE_ALIGNED)
			continue;
		rule->cfa_register = order[i];
		rule->offset = state->cfa_slot - state->offset[order[i]];
		rule->add = -state->cfa_add;
		rule->in_memory = true;
		return true;
	}
	return false;
}

/* What a rule is wanted for, and what is known of it. */
struct question {
	struct code_reader *reader;
	const struct code_view *view;
	uint64_t at; /* from the view's start */
	bool after_call;
	uint64_t *steps;
	struct code_rule to_return;
	bool contradicted; /* by the way from some start */
};

/* What the way to the return says of the CFA, beside what is known from the start. */
enum { NOTHING, SAME, ANOTHER };

static int compare(const struct code_state *state, const struct code_rule *here,
		   const struct code_rule *there)
{
	if (!there->ways)
		return NOTHING;
	if (there->in_memory)
		return here->in_memory && here->cfa_register == there->cfa_register &&
				       here->offset == there->offset && here->add == there->add
			       ? SAME
			       : NOTHING;
	if (state->base[there->cfa_register] != BASE_CFA)
		return NOTHING;
	return state->offset[there->cfa_register] == -there->offset ? SAME : ANOTHER;
}

/* Functions that nothing refers to may lie between the start that is known and the address. */
static const struct node *find_guessed(struct ways *ways, uint64_t at, bool after_call)
{
	for (unsigned i = 0; i < FUNCTIONS_MAX && !ways->failed; i++) {
		const struct node *node = code_ways_at(ways, at, after_call);
		const uint64_t next = code_ways_next_function(ways);
		if (node)
			return node;
		if (next == ways->low || next >= ways->high || next > at)
			return NULL;
		code_ways_from_start(ways, ways->view, next, ways->high, ways->steps);
	}
	return NULL;
}

/* All ways through a function; again only where another one was read since. */
static const struct ways *read_function(const struct question *question,
					const struct code_function *function)
{
	struct code_reader *reader = question->reader;
	const struct code_view *view = question->view;
	struct ways *ways = &reader->function;
	const uint64_t low = function->start - view->start, high = function->end - view->start;
	if (reader->view == view->serial && ways->low == low && ways->high == high) {
		ways->view = view;
		ways->steps = question->steps;
		return ways;
	}
	code_ways_from_start(ways, view, low, high, question->steps);
	reader->view = ways->failed ? 0 : view->serial; /* it may have been for want of steps */
	return ways;
}

/* The rule by the way that leads to a node. */
static struct code_rule rule_at(struct question *question, const struct node *node, bool guessed)
{
	const struct ways *ways = &question->reader->function;
	struct code_rule rule = {.ways = CODE_FROM_START,
				 .start = question->view->start + ways->low,
				 .guessed = guessed};
	if (ways->failed || !find_cfa(&node->state, &rule))
		return (struct code_rule){0};
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		locate(&node->state, i, &rule.saved[i]);
	if (lost_return(&rule))
		return (struct code_rule){0};
	switch (compare(&node->state, &rule, &question->to_return)) {
	case ANOTHER:
		question->contradicted = true;
		return (struct code_rule){0};
	case SAME:
		rule.ways |= CODE_TO_RETURN;
		break;
	default:
		break;
	}
	return rule;
}

/* By the first of the functions that surely has a way there. */
static struct code_rule from_start(struct question *question,
				   const struct code_functions *functions)
{
	struct code_rule rule = {0};
	for (size_t i = 0; i<functions->nr && * question->steps> 0 && !rule.ways; i++) {
		const struct ways *ways = read_function(question, &functions->items[i]);
		const struct node *node = code_ways_at(ways, question->at, question->after_call);
		if (node && !node->doubtful)
			rule = rule_at(question, node, false);
	}
	if (rule.ways || functions->nr == 0 || *question->steps == 0)
		return rule;
	read_function(question, &functions->items[functions->nearest]);
	const struct node *node =
		find_guessed(&question->reader->function, question->at, question->after_call);
	return node ? rule_at(question, node, true) : rule;
}

struct code_rule code_rule_read(struct code_reader *reader, const struct code_view *view,
				const struct code_functions *functions, uint64_t address,
				bool after_call, uint64_t *steps)
{
	uint64_t left = *steps < CODE_RULE_MAX_STEPS ? *steps : CODE_RULE_MAX_STEPS;
	struct question question = {.reader = reader,
				    .view = view,
				    .at = address - view->start,
				    .after_call = after_call,
				    .steps = &left};
	struct ways *ways = &reader->to_return;
	struct code_rule rule = {0};
	if (address < view->start || question.at >= view->size || view->size > INT32_MAX / 2)
		return rule;
	*steps -= left;
	/* A call that a function ends with does not return. */
	if (!(after_call && code_ways_may_begin(view, question.at + 1)) &&
	    code_ways_to_return(ways, view, question.at + after_call, &left))
		question.to_return = rule_at_return(&ways->returned);
	rule = from_start(&question, functions);
	*steps += left;
	return rule.ways || question.contradicted ? rule : question.to_return;
}

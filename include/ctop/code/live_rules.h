/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_LIVE_RULES_H
#define CTOP_CODE_LIVE_RULES_H

/* What the unwinder's own files know of code that a process has made, and the rules that were read from it. */

#include <ctop/base/index.h>
#include <ctop/code/code_rule.h>
#include <ctop/code/code_rules.h>
#include <ctop/code/live_code.h>

struct live_rules {
	struct {
		struct known_live_rule *items;
		size_t nr, capacity;
	} known;
	struct index by_key;
	uint64_t serial; /* of the code that they were read from */
};

/* What a way to the return led to outside of such code: the rule, whose CFA is the stack pointer + offset. */
struct live_frame {
	uint64_t return_address;
	struct code_rule rule;
};
enum { LIVE_FRAMES_MAX = 4 };
/* The nth of those that came up last; NULL: there are not so many. */
const struct live_frame *live_code_frame(const struct live_code *code, unsigned nth);
void live_code_keep_frame(struct live_code *code, const struct live_frame *frame);

struct live_rules *live_code_rules(struct live_code *code);
/* Another one whenever the code has changed; unlike any of another process, and of views of modules. */
uint64_t live_code_serial(const struct live_code *code);

/* What the code at an address says did not help: if it may have changed since the sample, it is wished for. */
void live_code_doubt(struct live_code *code, uint64_t address);
/*
 * What was wished for by now, and what was missing since live_code_begin_misses(): the first address that may be asked for, else the first of all; 0: nothing. What
 * was missed and is not needed is forgiven: the wish is as it was before.
 */
struct live_misses {
	uint64_t wish, first;
};
struct live_misses live_code_begin_misses(struct live_code *code);
struct live_misses live_code_misses(const struct live_code *code);
void live_code_forgive(struct live_code *code, struct live_misses before);
/* Code is missing there: it is wished for, unless something is by now. */
void live_code_miss(struct live_code *code, uint64_t address);

/*
 * The rule at an address of the process, from there to the function's return. after_call: a call ends with the byte
 * there. What would take pages that are not there is no rule, and they are wished for.
 */
enum code_found live_rule_find(struct live_code *code, struct code_reader *reader, uint64_t address,
			       bool after_call, struct code_rule *rule);

#endif

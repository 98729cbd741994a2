/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_RULES_H
#define CTOP_CODE_CODE_RULES_H

/* The rules that were read from one module's code, each once. */

#include <ctop/code/code_rule.h>

struct code_rules;
struct object;

struct code_rules *
code_rules_new(const struct object *object);	/* borrows it; NULL: out of memory */
void code_rules_free(struct code_rules *rules); /* NULL is fine */

enum code_found {
	CODE_NO_RULE,
	CODE_RULE,
	CODE_UNREAD /* the reader's allowance was not enough: what was read is kept, and the next call goes on */
};

/* The rule at an elf address; after_call: a call ends with the byte there. */
enum code_found code_rules_find(struct code_rules *rules, struct code_reader *reader,
				uint64_t elf_address, bool after_call, struct code_rule *rule);

#endif

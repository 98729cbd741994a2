/* SPDX-License-Identifier: MIT */
#include <ctop/code/code_rules.h>

#include <stdlib.h>

#include <ctop/base/index.h>
#include <ctop/base/vec.h>

#include "code_entries.h"
#include "code_starts.h"
#include "code_symbols.h"

enum {
	SEGMENTS_MAX = 4, /* linkers make one; code lies in no more that matter */
	RULES_MAX = 1 << 13,
	STEPS_OF_RULE = CODE_SYMBOL_BYTES_MAX + CODE_RULE_MAX_STEPS /* at most */
};
/* Ten seconds' work at most, in all: libc, read at each of its instructions, takes less. */
#define STEPS_OF_MODULE (UINT64_C(1) << 26)
/* Views of modules count from 1, those of live code from 2^63; of what is known before a segment is read, from here. */
#define ENTRY_SERIALS  (UINT64_C(1) << 62)
#define SYMBOL_SERIALS (UINT64_C(1) << 61)

struct known_rule {
	uint64_t key;
	struct code_rule rule;
};

struct code_rules {
	const struct object *object;
	uint64_t steps_left;
	struct code_starts segments[SEGMENTS_MAX];
	size_t nr_segments;
	struct code_entries entries;
	struct code_symbols symbols;
	struct code_marks marks[SEGMENTS_MAX];
	struct {
		struct known_rule *items;
		size_t nr, capacity;
	} known;
	struct index known_by_key;
};

struct code_rules *code_rules_new(const struct object *object)
{
	struct code_rules *rules = calloc(1, sizeof(*rules));
	if (!rules)
		return NULL;
	rules->object = object;
	rules->steps_left = STEPS_OF_MODULE;
	code_entries_read(&rules->entries, object);
	return rules;
}

void code_rules_free(struct code_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->nr_segments; i++)
		code_starts_release(&rules->segments[i]);
	for (size_t i = 0; i < SEGMENTS_MAX; i++)
		code_marks_release(&rules->marks[i]);
	code_symbols_release(&rules->symbols);
	free(rules->known.items);
	index_release(&rules->known_by_key);
	free(rules);
}

static struct code_starts *segment_of(struct code_rules *rules, uint64_t address)
{
	for (size_t i = 0; i < rules->nr_segments; i++)
		if (address - rules->segments[i].view.start < rules->segments[i].view.size)
			return &rules->segments[i];
	if (rules->nr_segments == SEGMENTS_MAX ||
	    !code_starts_open(&rules->segments[rules->nr_segments], rules->object, address))
		return NULL;
	return &rules->segments[rules->nr_segments++];
}

static const struct known_rule *find_known(const struct code_rules *rules, uint64_t key)
{
	struct index_probe probe = index_find(&rules->known_by_key, hash_u64(key));
	uint32_t row;
	while (index_next(&rules->known_by_key, &probe, &row))
		if (rules->known.items[row].key == key)
			return &rules->known.items[row];
	return NULL;
}

/* Out of memory only means that it will be read again. */
static void remember(struct code_rules *rules, uint64_t key, const struct code_rule *rule)
{
	if (rules->known.nr == RULES_MAX) {
		rules->known.nr = 0;
		index_clear(&rules->known_by_key);
	}
	if (vec_reserve(&rules->known, rules->known.nr + 1) || index_reserve(&rules->known_by_key))
		return;
	rules->known.items[rules->known.nr] = (struct known_rule){.key = key, .rule = *rule};
	index_add(&rules->known_by_key, hash_u64(key), (uint32_t)rules->known.nr++);
}

/* The function alone, in a view of its own. */
static struct code_rule read_function(struct code_reader *reader, const struct code_view *view,
				      const struct code_function *function, uint64_t elf_address,
				      bool after_call, uint64_t *steps)
{
	uint64_t of_rule = CODE_RULE_MAX_STEPS;
	const struct code_functions functions = {.items = {*function}, .nr = 1};
	*steps -= of_rule;
	const struct code_rule rule =
		code_rule_read(reader, view, &functions, elf_address, after_call, &of_rule);
	*steps += of_rule;
	return rule;
}

static bool is_within(const struct code_function *function, const struct code_view *view)
{
	return function->start >= view->start && function->end - view->start <= view->size;
}

/*
 * The rule of what start files bring, without reading where all other functions start: up to half a second in a large
 * library, for its last function. Only where both ways through the function agree, as they nearly always do.
 */
static bool read_entry_rule(const struct code_rules *rules, const struct code_starts *segment,
			    struct code_reader *reader, uint64_t elf_address, bool after_call,
			    uint64_t *steps, struct code_rule *rule)
{
	struct code_function function;
	struct code_view view = segment->view;
	if (segment->pass == CODE_IS_READ || *steps < CODE_RULE_MAX_STEPS ||
	    !code_entries_find(&rules->entries, elf_address, &function) ||
	    !is_within(&function, &view))
		return false;
	view.serial |= ENTRY_SERIALS;
	view.branched_to = view.starts = view.parts = NULL;
	*rule = read_function(reader, &view, &function, elf_address, after_call, steps);
	if (rule->ways == (CODE_FROM_START | CODE_TO_RETURN))
		return true;
	*rule = (struct code_rule){0};
	return false;
}

/*
 * The same of a function that has a symbol: a second in node. Whatever comes of it: where it starts and ends is known better than by reading.
 * False: none has.
 */
static bool read_symbol_rule(struct code_rules *rules, const struct code_starts *segment,
			     struct code_reader *reader, uint64_t elf_address, bool after_call,
			     uint64_t *steps, struct code_rule *rule, enum code_found *found)
{
	struct code_function function;
	struct code_view view = segment->view;
	struct code_marks *marks = &rules->marks[segment - rules->segments];
	code_symbols_read(&rules->symbols, rules->object, steps);
	if (!code_symbols_find(&rules->symbols, elf_address, &function) ||
	    !is_within(&function, &view) || !segment->bits ||
	    !code_marks_make(marks, &rules->symbols, &view))
		return false;
	*found = CODE_UNREAD;
	if (*steps < STEPS_OF_RULE)
		return true;
	view.serial |= SYMBOL_SERIALS;
	code_marks_look(marks, &view, &function, steps);
	*rule = read_function(reader, &view, &function, elf_address, after_call, steps);
	*found = rule->ways ? CODE_RULE : CODE_NO_RULE;
	return true;
}

/* Reads where functions start, then the rule; takes from *steps what that cost. */
static enum code_found read_rule(struct code_starts *segment, struct code_reader *reader,
				 uint64_t elf_address, bool after_call, uint64_t *steps,
				 struct code_rule *rule)
{
	uint64_t of_rule = CODE_RULE_MAX_STEPS;
	struct code_functions functions;
	if (!code_starts_read(segment, steps) || *steps < of_rule)
		return CODE_UNREAD;
	*steps -= of_rule;
	code_starts_find(segment, elf_address, &functions, &of_rule);
	*rule = code_rule_read(reader, &segment->view, &functions, elf_address, after_call,
			       &of_rule);
	*steps += of_rule;
	return rule->ways ? CODE_RULE : CODE_NO_RULE;
}

enum code_found code_rules_find(struct code_rules *rules, struct code_reader *reader,
				uint64_t elf_address, bool after_call, struct code_rule *rule)
{
	const uint64_t key = elf_address << 1 | after_call;
	const struct known_rule *known = find_known(rules, key);
	if (known) {
		*rule = known->rule;
		return rule->ways ? CODE_RULE : CODE_NO_RULE;
	}
	*rule = (struct code_rule){0};
	struct code_starts *segment = segment_of(rules, elf_address);
	uint64_t *allowance = code_reader_allowance(reader);
	const uint64_t before = *allowance < rules->steps_left ? *allowance : rules->steps_left;
	uint64_t steps = before;
	enum code_found found = CODE_NO_RULE;
	if (segment &&
	    read_entry_rule(rules, segment, reader, elf_address, after_call, &steps, rule))
		found = CODE_RULE;
	else if (segment &&
		 !read_symbol_rule(rules, segment, reader, elf_address, after_call, &steps, rule,
				   &found) &&
		 segment->bits)
		found = read_rule(segment, reader, elf_address, after_call, &steps, rule);
	*allowance -= before - steps;
	rules->steps_left -= before - steps;
	if (found == CODE_UNREAD && rules->steps_left >= STEPS_OF_RULE)
		return CODE_UNREAD;
	remember(rules, key, rule);
	return found == CODE_RULE ? CODE_RULE : CODE_NO_RULE;
}

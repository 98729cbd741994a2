/* SPDX-License-Identifier: MIT */
#include <ctop/code/live_rules.h>

#include <ctop/base/vec.h>

enum { RULES_MAX = 1 << 13 };
/* Code is looked at so far in both directions: no runtime's is further apart. */
#define VIEW_BYTES (UINT64_C(1) << 29)
enum {
	FUNCTION_BYTES_MAX = 256 << 10,
	SEARCHED_BYTES = 4096,
	SEARCH_STEPS = 64,
	STEPS_MAX = 1 << 16
};

struct known_live_rule {
	uint64_t key; /* address and after_call */
	struct code_rule rule;
	uint64_t
		missed; /* it is none, and there was no code to read at that address; 0: all was there */
};

/* What was read of code that has changed since is not used again. */
static struct live_rules *rules_of(struct live_code *code)
{
	struct live_rules *rules = live_code_rules(code);
	if (rules->serial != live_code_serial(code)) {
		rules->serial = live_code_serial(code);
		rules->known.nr = 0;
		index_clear(&rules->by_key);
	}
	return rules;
}

static const struct known_live_rule *find_known(const struct live_rules *rules, uint64_t key)
{
	struct index_probe probe = index_find(&rules->by_key, hash_u64(key));
	uint32_t row;
	while (index_next(&rules->by_key, &probe, &row))
		if (rules->known.items[row].key == key)
			return &rules->known.items[row];
	return NULL;
}

/* Out of memory only means that it will be read again. */
static void remember(struct live_rules *rules, const struct known_live_rule *known)
{
	if (rules->known.nr == RULES_MAX) {
		rules->known.nr = 0;
		index_clear(&rules->by_key);
	}
	if (vec_reserve(&rules->known, rules->known.nr + 1) || index_reserve(&rules->by_key))
		return;
	rules->known.items[rules->known.nr] = *known;
	index_add(&rules->by_key, hash_u64(known->key), (uint32_t)rules->known.nr++);
}

static bool read_live(const void *context, uint64_t address, void *bytes, size_t size)
{
	struct live_code *code = *(struct live_code *const *)context;
	return live_code_read(code, address, bytes, size);
}

/* Where the function around an address starts, or one before it; 0: that is not known. */
static uint64_t find_start(struct live_code *code, uint64_t address, uint64_t *steps)
{
	uint8_t bytes[SEARCHED_BYTES + MACHINE_START_BYTES];
	const uint64_t lowest = address > FUNCTION_BYTES_MAX ? address - FUNCTION_BYTES_MAX : 0;
	uint64_t first = address & ~(uint64_t)(SEARCHED_BYTES - 1);
	size_t size = address - first;
	while (first > lowest && *steps >= SEARCH_STEPS &&
	       live_code_read(code, first, bytes, size)) {
		*steps -= SEARCH_STEPS;
		const size_t at = machine_last_start(bytes, size);
		if (at < size)
			return first + at;
		first -= SEARCHED_BYTES;
		size = sizeof(bytes);
	}
	return 0;
}

enum code_found live_rule_find(struct live_code *code, struct code_reader *reader, uint64_t address,
			       bool after_call, struct code_rule *rule)
{
	struct live_rules *rules = rules_of(code);
	const uint64_t key = address << 1 | after_call;
	const struct known_live_rule *known = find_known(rules, key);
	if (known) {
		*rule = known->rule;
		if (known->missed)
			live_code_miss(code, known->missed);
		return rule->ways ? CODE_RULE : CODE_NO_RULE;
	}
	uint64_t *allowance = code_reader_allowance(reader);
	if (*allowance < STEPS_MAX)
		return CODE_UNREAD;
	uint64_t steps = STEPS_MAX;
	const struct live_misses before = live_code_begin_misses(code);
	struct code_functions functions = {.nr = 0};
	const struct code_view view = {
		.serial = rules->serial,
		.start = address > VIEW_BYTES ? address - VIEW_BYTES : 0,
		.size = 2 * VIEW_BYTES - 1,
		.read = read_live,
		.context = &code,
	};
	*rule = code_rule_read(reader, &view, &functions, address, after_call, &steps);
	if (!rule->ways) {
		const uint64_t start = find_start(code, address, &steps);
		functions.items[0] = (struct code_function){start, start + FUNCTION_BYTES_MAX};
		functions.nr = 1;
		if (start)
			*rule = code_rule_read(reader, &view, &functions, address, after_call,
					       &steps);
	}
	*allowance -= STEPS_MAX - steps;
	/* Of several ways one is enough; where there is none, what was missed may be one: when that comes all is read again. */
	const uint64_t missed = rule->ways ? 0 : live_code_misses(code).first;
	if (rule->ways)
		live_code_forgive(code, before);
	remember(rules, &(struct known_live_rule){key, *rule, missed});
	return rule->ways ? CODE_RULE : CODE_NO_RULE;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/run_facts.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fact_table.h"

/* ---- from a session ---- */

static void sum_cpu(struct run_facts *facts)
{
	facts->cpu_ns = 0;
	for (size_t i = 0; i < sizeof(facts->stats.cpu_ns) / sizeof(*facts->stats.cpu_ns); i++)
		facts->cpu_ns += facts->stats.cpu_ns[i];
}

void run_facts_of_session(const struct session_stats *stats, struct run_facts *facts)
{
	const bool has_stack = stats->first_stack_ns > stats->opened_ns;
	*facts = (struct run_facts){
		.duration_ns = stats->end_ns - stats->start_ns,
		.first_stack_ns = has_stack ? stats->first_stack_ns - stats->opened_ns : 0,
		.stats = *stats,
		.unreadable = {.items = stats->unreadable, .nr = stats->nr_unreadable},
		.fallbacks = {.items = stats->late_fallbacks,
			      .nr = stats->nr_late_fallbacks,
			      .first = stats->nr_fallbacks_before},
	};
	sum_cpu(facts);
}

void run_facts_set_fallbacks(const struct session *session, struct run_facts *facts)
{
	struct fact_list *list = &facts->fallbacks;
	const size_t nr = session_nr_fallbacks(session);
	list->items = list->read;
	for (list->nr = list->first = 0; list->nr < nr && list->nr < FACT_LIST_MAX; list->nr++)
		list->read[list->nr] = session_fallback(session, list->nr);
}

/* ---- from a history ---- */

static uint64_t parse_number(const char *text)
{
	/* strtoull takes blanks and signs. */
	if (!text || *text < '0' || *text > '9')
		return 0;
	char *end;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

static double parse_share(const char *text)
{
	enum { PARTS = 1000000 };
	const uint64_t parts = parse_number(text);
	return parts <= PARTS ? (double)parts / PARTS : 0;
}

static void read_list(const struct history *history, const char *key, struct fact_list *list)
{
	char numbered[FACT_KEY_MAX];
	list->items = list->read;
	for (list->nr = list->first = 0; list->nr < FACT_LIST_MAX; list->nr++) {
		list->read[list->nr] = history_info(history, fact_key_of(numbered, key, list->nr));
		if (!list->read[list->nr])
			break;
	}
}

static void read_ends(const struct history *history, const char *key, uint64_t ends[NR_STACK_ENDS])
{
	char named[FACT_KEY_MAX];
	for (uint32_t end = 0; end < NR_STACK_ENDS; end++)
		ends[end] = parse_number(history_info(history, fact_key_of_end(named, key, end)));
}

/* Whether there is something of it. */
static bool read_fact(const struct history *history, const char *key, const struct fact_row *row,
		      void *base)
{
	const char *text = history_info(history, key);
	void *fact = (char *)base + row->offset;
	switch (row->kind) {
	case FACT_TEXT:
		*(const char **)fact = text;
		break;
	case FACT_NUMBER:
	case FACT_NS:
		*(uint64_t *)fact = parse_number(text);
		break;
	case FACT_SHARE:
		*(double *)fact = parse_share(text);
		break;
	case FACT_LIST:
		read_list(history, key, fact);
		break;
	case FACT_ENDS:
		read_ends(history, key, fact);
		break;
	case FACT_DECIMAL: /* of --stats alone */
		break;
	}
	return text != NULL;
}

static void read_events(const struct history *history, struct run_facts *facts)
{
	for (size_t event = 0; event < SAMPLER_MAX_EVENTS; event++) {
		for (size_t i = 0; i < nr_event_fact_rows; i++) {
			const struct fact_row *row = &event_fact_rows[i];
			char key[FACT_KEY_MAX];
			if (!row->key)
				continue;
			const bool has = read_fact(history, fact_key_of(key, row->key, event), row,
						   &facts->stats.events[event]);
			if (row->offset == offsetof(struct session_event, counted))
				facts->events[event].is_counted = has;
		}
	}
}

/* What is more than a CPU does in 146 years is nonsense. */
static bool are_possible(const struct cpu_times *times)
{
	const uint64_t most_ns = UINT64_C(1) << 62;
	return times->busy_ns < most_ns && times->idle_ns < most_ns && times->stolen_ns < most_ns;
}

void run_facts_read(const struct history *history, unsigned uses, struct run_facts *facts)
{
	for (size_t i = 0; i < nr_fact_rows; i++) {
		const struct fact_row *row = &fact_rows[i];
		if (row->key && row->uses & uses)
			facts->known[i] = read_fact(history, row->key, row, facts);
	}
	if (uses & FACT_AT_END)
		read_events(history, facts);
	if (!are_possible(&facts->stats.cpus))
		facts->stats.cpus = (struct cpu_times){0};
	sum_cpu(facts);
}

/* ---- looked up ---- */

bool run_facts_know(const struct run_facts *facts, const void *field)
{
	for (size_t i = 0; i < nr_fact_rows; i++)
		if (fact_at(&fact_rows[i], facts) == field)
			return facts->known[i];
	return false;
}

const struct session_event *run_facts_event(const struct run_facts *facts, size_t event)
{
	static const struct session_event none;
	return event < SAMPLER_MAX_EVENTS ? &facts->stats.events[event] : &none;
}

bool run_facts_describe(const struct run_facts *facts, const char *event)
{
	return !event || (facts->event.asked && !strcmp(facts->event.asked, event)) ||
	       (facts->event.opened && !strcmp(facts->event.opened, event));
}

uint64_t run_facts_dropped(const struct run_facts *facts)
{
	const struct session_stats *stats = &facts->stats;
	return stats->dropped_overrun + stats->dropped_disk + stats->dropped_crash +
	       stats->dropped_damaged;
}

const char *run_facts_problem(const struct run_facts *facts, size_t i, uint64_t *nr)
{
	for (size_t row = 0; row < nr_fact_rows; row++) {
		if (!fact_rows[row].problem || i--)
			continue;
		*nr = fact_number(&fact_rows[row], facts);
		return fact_rows[row].problem;
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/options/trigger.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/wait_kind.h>

#include "option_values.h"

static const double most_percent = 1e6;
/* Threads are looked at each 100 ms. */
#define LEAST_WAIT_NS (200 * NS_PER_MS)

struct place {
	const char *text, *at;
	struct error *error;
};

static int wrong(const struct place *place, const char *what)
{
	error_marked(place->error, place->text, (size_t)(place->at - place->text), "%s", what);
	return error_remedy(place->error,
			    "write cpu>150%% for 2s, wait>500ms for lock at NAME, "
			    "latency FUNCTION>20ms, event EVENT, file PATH or exit!=0");
}

static void skip_blanks(struct place *place)
{
	place->at += strspn(place->at, " \t");
}

/* Of a word that goes on it is not the beginning. */
static bool take_word(struct place *place, const char *word)
{
	const size_t size = strlen(word);
	skip_blanks(place);
	if (strncmp(place->at, word, size) != 0 || isalnum((unsigned char)place->at[size]))
		return false;
	place->at += size;
	return true;
}

static bool take_sign(struct place *place, const char *sign)
{
	skip_blanks(place);
	if (strncmp(place->at, sign, strlen(sign)) != 0)
		return false;
	place->at += strlen(sign);
	return true;
}

static int take_percent(struct place *place, double *cpus)
{
	char *end;
	skip_blanks(place);
	if (!isdigit((unsigned char)*place->at))
		return wrong(place, "no number");
	const double percent = strtod(place->at, &end);
	if (!(percent <= most_percent))
		return wrong(place, "the number is too high");
	place->at = end;
	*cpus = percent / 100;
	return take_sign(place, "%") ? 0 : wrong(place, "no %");
}

static int take_cpu(struct place *place, struct trigger *trigger)
{
	trigger->kind = TRIGGER_CPU;
	trigger->for_ns = NS_PER_SECOND;
	if (!take_sign(place, ">"))
		return wrong(place, "no >");
	int result = take_percent(place, &trigger->above_cpus);
	if (result || !take_word(place, "for"))
		return result;
	skip_blanks(place);
	const char *end = duration_of(place->at, &trigger->for_ns);
	if (!end || !trigger->for_ns)
		return wrong(place, "no time");
	place->at = end;
	return 0;
}

static int take_kinds(struct place *place, unsigned *kinds)
{
	static const struct {
		const char *word;
		enum wait_kind kind;
	} known[] = {{"lock", WAIT_LOCK},   {"io", WAIT_IO},	   {"poll", WAIT_POLL},
		     {"sleep", WAIT_SLEEP}, {"child", WAIT_CHILD}, {"fault", WAIT_FAULT},
		     {"other", WAIT_OTHER}};
	*kinds = 0;
	do {
		size_t i = 0;
		while (i < sizeof(known) / sizeof(*known) && !take_word(place, known[i].word))
			i++;
		if (i == sizeof(known) / sizeof(*known))
			return wrong(place, "none of lock, io, poll, sleep, child, fault, other");
		*kinds |= 1u << known[i].kind;
	} while (take_sign(place, ","));
	return 0;
}

static int take_wait(struct place *place, struct trigger *trigger)
{
	trigger->kind = TRIGGER_WAIT;
	trigger->wait_kinds = 1u << WAIT_LOCK | 1u << WAIT_IO | 1u << WAIT_CHILD | 1u << WAIT_FAULT;
	if (!take_sign(place, ">"))
		return wrong(place, "no >");
	skip_blanks(place);
	const char *end = duration_of(place->at, &trigger->for_ns);
	if (!end)
		return wrong(place, "no time");
	if (trigger->for_ns < LEAST_WAIT_NS)
		return wrong(place, "shorter than 200ms, between looks at threads");
	place->at = end;
	const int result = take_word(place, "for") ? take_kinds(place, &trigger->wait_kinds) : 0;
	if (result || !take_word(place, "at"))
		return result;
	skip_blanks(place);
	trigger->function = place->at;
	place->at += strlen(place->at);
	return trigger->function[0] ? 0 : wrong(place, "no function");
}

/* The last >: a file's name may have others. */
static int take_latency(struct place *place, struct trigger *trigger)
{
	trigger->kind = TRIGGER_LATENCY;
	skip_blanks(place);
	trigger->subject = place->at;
	const char *sign = strrchr(place->at, '>');
	size_t bytes = sign ? (size_t)(sign - place->at) : 0;
	while (bytes && (place->at[bytes - 1] == ' ' || place->at[bytes - 1] == '\t'))
		bytes--;
	if (!bytes)
		return wrong(place, "no FUNCTION>TIME");
	trigger->subject_bytes = bytes;
	place->at = sign + 1;
	skip_blanks(place);
	const char *end = duration_of(place->at, &trigger->for_ns);
	if (!end || !trigger->for_ns)
		return wrong(place, "no time");
	place->at = end;
	return 0;
}

static int take_subject(struct place *place, struct trigger *trigger, enum trigger_kind kind)
{
	trigger->kind = kind;
	skip_blanks(place);
	if (!*place->at)
		return wrong(place, kind == TRIGGER_FILE ? "no path" : "no event");
	trigger->subject = place->at;
	trigger->subject_bytes = strlen(place->at);
	place->at += trigger->subject_bytes;
	return kind == TRIGGER_FILE && place->at[-1] == '/' ? wrong(place, "a directory is no file")
							    : 0;
}

static int take_exit(struct place *place, struct trigger *trigger)
{
	trigger->kind = TRIGGER_EXIT;
	if (!take_sign(place, "!=") && !take_sign(place, "\u2260"))
		return wrong(place, "no !=");
	return take_word(place, "0") ? 0 : wrong(place, "no 0");
}

int trigger_parse(const char *text, struct trigger *trigger, struct error *error)
{
	struct place place = {text, text, error};
	*trigger = (struct trigger){.text = text};
	int result = take_word(&place, "cpu")	    ? take_cpu(&place, trigger)
		     : take_word(&place, "wait")    ? take_wait(&place, trigger)
		     : take_word(&place, "latency") ? take_latency(&place, trigger)
		     : take_word(&place, "event")   ? take_subject(&place, trigger, TRIGGER_EVENT)
		     : take_word(&place, "file")    ? take_subject(&place, trigger, TRIGGER_FILE)
		     : take_word(&place, "exit")    ? take_exit(&place, trigger)
						    : wrong(&place, "no such trigger");
	skip_blanks(&place);
	return result || !*place.at ? result : wrong(&place, "nothing may follow");
}

/* SPDX-License-Identifier: MIT */
#include "thread_text.h"

/* What has hardly begun is not worth a number. */
static const double LEAST_S = 1;

static const struct {
	double seconds;
	char letter;
	const char *word;
} units[] = {{86400, 'd', "day"}, {3600, 'h', "hour"}, {60, 'm', "minute"}, {1, 's', "second"}};

static size_t unit_of(double seconds)
{
	size_t i = 0;
	while (i + 1 < sizeof(units) / sizeof(*units) && seconds < units[i].seconds)
		i++;
	return i;
}

static void add_age(double seconds, struct text *out)
{
	const size_t unit = unit_of(seconds);
	if (seconds >= LEAST_S)
		text_addf(out, " ~%ld%c", (long)(seconds / units[unit].seconds),
			  units[unit].letter);
}

static void explain_age(double seconds, struct text *out)
{
	const size_t unit = unit_of(seconds);
	const long nr = (long)(seconds / units[unit].seconds);
	if (seconds >= LEAST_S)
		text_addf(out, " for about %ld %s%s", nr, units[unit].word, nr == 1 ? "" : "s");
}

/* What one word says of it; NULL: it waits, and where is worth more. */
static const char *word_of(char state)
{
	switch (state) {
	case 'R':
		return "runs";
	case 'T':
	case 't':
		return "stopped";
	case 'I':
		return "idle";
	case 'P':
		return "parked";
	case 0:
	case 'X':
	case 'Z':
		return "ended";
	default:
		return NULL;
	}
}

void thread_text_add(const struct ui_thread_now *now, struct text *out)
{
	const char *word = word_of(now->state);
	if (word) {
		text_add(out, word);
	} else {
		const char *where = now->call[0] ? now->call : now->place;
		text_add(out, now->state == 'D' ? where[0] ? "blocked: " : "blocked" : "");
		text_add_safe(out, where[0] || now->state == 'D' ? where : "sleeps");
	}
	if (now->state != 'R')
		add_age(now->still_s, out);
}

void thread_text_explain(const struct ui_thread_now *now, struct text *out)
{
	const char *word = word_of(now->state);
	text_add(out, word ? word : now->state == 'D' ? "is blocked" : "sleeps");
	if (now->state != 'R')
		explain_age(now->still_s, out);
	if (word)
		return;
	if (now->call[0]) {
		text_add(out, " in ");
		text_add_safe(out, now->call);
	}
	if (now->place[0]) {
		text_add(out, now->call[0] ? ", at " : " in ");
		text_add_safe(out, now->place);
	}
}

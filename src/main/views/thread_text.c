/* SPDX-License-Identifier: MIT */
#include "thread_text.h"

#include <ctop/base/function_name.h>

/* What has hardly begun is not worth a number. */
static const double LEAST_S = 1;

static const struct {
	double seconds;
	char letter;
	const char *word;
} units[] = {{86400, 'd', "day"}, {3600, 'h', "hour"}, {60, 'm', "minute"}, {1, 's', "second"}};
enum { SECONDS = 3 };

static size_t unit_of(double seconds)
{
	size_t i = 0;
	while (i + 1 < sizeof(units) / sizeof(*units) && seconds < units[i].seconds)
		i++;
	return i;
}

static void add_age(const struct ui_thread_now *now, struct text *out)
{
	const size_t unit = unit_of(now->still_s);
	const double number = now->still_s / units[unit].seconds;
	if (now->state == 'R' || now->still_s < LEAST_S)
		return;
	if (now->is_exact && unit == SECONDS)
		text_addf(out, " %.1fs", number);
	else
		text_addf(out, " %s%ld%c", now->is_exact ? "" : "~", (long)number,
			  units[unit].letter);
}

static void explain_age(const struct ui_thread_now *now, struct text *out)
{
	const size_t unit = unit_of(now->still_s);
	const long nr = (long)(now->still_s / units[unit].seconds);
	if (now->state == 'R' || now->still_s < LEAST_S)
		return;
	if (now->is_exact && unit == SECONDS)
		text_addf(out, " for %.1f seconds", now->still_s);
	else
		text_addf(out, " for %s%ld %s%s", now->is_exact ? "" : "about ", nr,
			  units[unit].word, nr == 1 ? "" : "s");
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

/* Where it waits. */
static void add_place(const struct ui_thread_now *now, struct text *out)
{
	const char *word = word_of(now->state);
	const char *where = now->call[0] ? now->call : now->place;
	if (word) {
		text_add(out, word);
		return;
	}
	text_add(out, now->state == 'D' ? where[0] ? "blocked: " : "blocked" : "");
	text_add_safe(out, where[0] || now->state == 'D' ? where : "sleeps");
}

void thread_text_add(const struct ui_thread_now *now, size_t cols, struct text *out)
{
	struct text place = {0}, age = {0};
	add_place(now, &place);
	add_age(now, &age);
	const size_t taken = text_cols(text_string(&age));
	name_add_elided(out, text_string(&place), cols > taken ? cols - taken : 0);
	text_add(out, text_string(&age));
	out->failed |= place.failed || age.failed;
	text_release(&place);
	text_release(&age);
}

static void explain_wait(const struct ui_thread_now *now, struct text *out)
{
	if (now->call[0]) {
		text_add(out, " in ");
		text_add_safe(out, now->call);
	}
	if (now->place[0]) {
		text_add(out, now->call[0] ? ", at " : " in ");
		text_add_safe(out, now->place);
	}
	if (now->waits_on[0])
		text_addf(out, ", for %s", now->waits_on);
}

void thread_text_explain(const struct ui_thread_now *now, struct text *out)
{
	const char *word = word_of(now->state);
	text_add(out, word ? word : now->state == 'D' ? "is blocked" : "sleeps");
	explain_age(now, out);
	if (!word)
		explain_wait(now, out);
	if (now->woken_by[0])
		text_addf(out, "; woken by %s", now->woken_by);
}

void thread_text_add_times(const struct ui_times *times, struct text *out)
{
	text_addf(out, "cpu %.1f%%, run-queue %.1f%%, waiting %.1f%%", times->running_percent,
		  times->runnable_percent, times->waiting_percent);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/base/fault.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"

/*
 * CTOP_FAULT=ROLE:FAULT[=ARGUMENT][+FAULT...][:[told-]WHERE[=WHAT]]
 *
 * A child in that role does these faults, one after the other, when it first comes to that place ("turn" if none is named);
 * with =WHAT only if that is the end of what the place is about. With told- not before SIGUSR2 has told it to, so that its
 * successors, whom nobody tells, are spared.
 */

enum { WORD_BYTES = 512 };

static struct {
	char role[WORD_BYTES], faults[WORD_BYTES], where[WORD_BYTES], what[WORD_BYTES];
	bool waits, is_over;
} asked = {.is_over = true};

static volatile sig_atomic_t is_told;

extern const struct fault_row *const __start_ctop_faults[], *const __stop_ctop_faults[];

/* A test that asks for what there is not is to fail. */
static void refuse(const char *what)
{
	dprintf(STDERR_FILENO, "there is no fault '%s'\n", what);
	_exit(1);
}

static const struct fault_row *find(const char *name)
{
	for (const struct fault_row *const *row = __start_ctop_faults; row < __stop_ctop_faults;
	     row++)
		if (!strcmp((*row)->name, name))
			return *row;
	refuse(name);
	return NULL;
}

static void tell(int number)
{
	(void)number;
	is_told = 1;
}

/* Copies up to one of the characters in `ends`, or to the end; returns what is behind it. */
static const char *take(const char *text, const char *ends, char *word)
{
	size_t length = strcspn(text, ends);
	if (length >= WORD_BYTES)
		refuse(text);
	memcpy(word, text, length);
	word[length] = '\0';
	return text[length] ? text + length + 1 : text + length;
}

void fault_begin(const char *role)
{
	static const char waits[] = "told-";
	const char *text = getenv(FAULT_VARIABLE);
	if (!text)
		return;
	text = take(text, ":", asked.role);
	text = take(text, ":", asked.faults);
	asked.is_over = strcmp(asked.role, role) != 0;
	if (asked.is_over)
		return;
	asked.waits = !strncmp(text, waits, strlen(waits));
	if (asked.waits)
		text += strlen(waits);
	text = take(*text ? text : "turn", "=", asked.where);
	take(text, "", asked.what);
	const struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
	sigaction(SIGUSR2, &action, NULL);
	fault_at("start", "", NULL);
}

bool fault_kills(void)
{
	const char *text = getenv(FAULT_VARIABLE);
	return text && strstr(text, "kill");
}

static bool counts_deaths(const char *which)
{
	const char *asked_for = getenv(FAULT_VARIABLE "_DEATHS");
	return asked_for && strcmp(asked_for, which) == 0;
}

bool fault_counts_all_deaths(void)
{
	return counts_deaths("all");
}

bool fault_gives_up(void)
{
	return counts_deaths("first");
}

size_t fault_waiting_max(size_t bytes)
{
	const char *asked_for = getenv(FAULT_VARIABLE "_WAITING");
	return asked_for ? strtoul(asked_for, NULL, 10) : bytes;
}

bool fault_unwinds_all(void)
{
	const char *text = getenv(FAULT_VARIABLE);
	return text && strstr(text, "unwinds-all");
}

static bool is_about(const char *what)
{
	size_t length = strlen(what), wanted = strlen(asked.what);
	return length >= wanted && !strcmp(what + length - wanted, asked.what);
}

void fault_at(const char *where, const char *what, struct channel *channel)
{
	if (asked.is_over || strcmp(where, asked.where) != 0 || !is_about(what) ||
	    (asked.waits && !is_told))
		return;
	asked.is_over = true;
	for (const char *text = asked.faults; *text;) {
		char word[WORD_BYTES], name[WORD_BYTES], argument[WORD_BYTES];
		text = take(text, "+", word);
		take(take(word, "=", name), "", argument);
		const struct fault fault = {asked.role, where, argument, channel};
		find(name)->happen(&fault);
	}
}

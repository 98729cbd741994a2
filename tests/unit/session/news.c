/* SPDX-License-Identifier: MIT */
/* What a session says of its own processes that died: main may want one dead that is dying by itself. */
#include "main/session/session_internal.h"

#include <signal.h>
#include <stdlib.h>

#include <ctop/jail/jail.h>

#include "test.h"

/* As waitpid() tells: ended by a signal; as the first process of a pid namespace tells; exited. */
#define SIGNALLED(signal)    (signal)
#define OF_NAMESPACE(signal) ((JAIL_SIGNALLED + (signal)) << 8)
#define EXITED(status)	     ((status) << 8)

static void check_news(struct worker worker, int wait_status, const char *wanted)
{
	struct session *session = calloc(1, sizeof(*session));
	CHECK(session);
	session->symbolizer = worker;
	session_note_death(session, &session->symbolizer, wait_status, false);
	CHECK_EQ(session_nr_news(session), 1);
	CHECK_STR(session_news(session, 0), wanted);
	free(session);
}

static void what_it_died_of(void)
{
	const struct worker by_itself = {.ended = false};
	check_news(by_itself, SIGNALLED(SIGSEGV),
		   "the process that reads names was killed by signal 11");
	check_news(by_itself, OF_NAMESPACE(SIGSEGV),
		   "the process that reads names was killed by signal 11");
	check_news(by_itself, EXITED(3), "the process that reads names exited with status 3");
}

static void what_it_was_ended_for(void)
{
	const struct worker of_nonsense = {.ended = true};
	const struct worker hung = {.ended = true, .why = "hung and was killed"};
	check_news(of_nonsense, SIGNALLED(SIGKILL),
		   "the process that reads names sent invalid messages and was killed");
	const struct worker stopped = {.why = "was stopped by a signal and was killed"};
	check_news(stopped, SIGNALLED(SIGKILL),
		   "the process that reads names was stopped by a signal and was killed");
	check_news((struct worker){0}, SIGNALLED(SIGKILL),
		   "the process that reads names was killed by signal 9");
	check_news(hung, SIGNALLED(SIGKILL), "the process that reads names hung and was killed");
}

/* The kernel closes its channel before it tells of its end: main may come to end it in between. */
static void a_signal_of_its_own_comes_before_what_it_was_ended_for(void)
{
	const struct worker ended = {.ended = true};
	const struct worker hung_up = {.ended = true, .why = "closed its channel and was killed"};
	check_news(ended, SIGNALLED(SIGSEGV),
		   "the process that reads names was killed by signal 11");
	check_news(hung_up, OF_NAMESPACE(SIGSEGV),
		   "the process that reads names was killed by signal 11");
}

int main(void)
{
	RUN(what_it_died_of);
	RUN(what_it_was_ended_for);
	RUN(a_signal_of_its_own_comes_before_what_it_was_ended_for);
	return test_done();
}

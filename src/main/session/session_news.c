/* SPDX-License-Identifier: MIT */
/* What has happened to a session's own processes, in words. */
#include "session_internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <ctop/jail/jail.h>

static const char *what_it_does(const struct session *session, const struct worker *worker)
{
	if (worker == &session->symbolizer)
		return "the process that reads names";
	return session->path ? "the process that reads the file" : "the collector";
}

/* The first process of a pid namespace ends by no signal of its own accord: it tells which it was (jail/jail.h). */
static int signal_of(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status) > JAIL_SIGNALLED ? WEXITSTATUS(wait_status) - JAIL_SIGNALLED
							 : 0;
}

static void describe_end(const struct worker *worker, int wait_status, char *text, size_t size)
{
	const int signal = signal_of(wait_status);
	/* Main ends with SIGKILL alone: any other is its own, even if main came to end it meanwhile. */
	const bool is_own = signal && signal != SIGKILL;
	if (worker->why && !is_own)
		snprintf(text, size, "%s", worker->why);
	else if (worker->ended && !is_own)
		snprintf(text, size, "sent invalid messages and was killed");
	else if (signal)
		snprintf(text, size, "was killed by signal %d", signal);
	else
		snprintf(text, size, "exited with status %d", WEXITSTATUS(wait_status));
	size_t used = strlen(text);
	if (worker->last_words[0])
		snprintf(text + used, size - used, " (%s)", worker->last_words);
}

void session_note_death(struct session *session, const struct worker *worker, int wait_status,
			bool is_replaced)
{
	char how[160];
	if (worker->last_words[0])
		snprintf(session->last_words, sizeof(session->last_words), "%s said: %s",
			 what_it_does(session, worker), worker->last_words);
	if (session->nr_news == SESSION_NEWS_MAX)
		return; /* their number stands in the statistics */
	char *news = session->news[session->nr_news++];
	describe_end(worker, wait_status, how, sizeof(how));
	if (session->nr_news == SESSION_NEWS_MAX)
		snprintf(news, sizeof(session->news[0]), "helper processes keep crashing");
	else
		snprintf(news, sizeof(session->news[0]), "%s %s%s%s", what_it_does(session, worker),
			 how, is_replaced ? "; restarted" : "",
			 is_replaced && worker_fell(worker, wait_status)
				 ? ", skipping the input it crashed on"
				 : "");
}

const char *session_last_words(const struct session *session)
{
	return session->last_words;
}

size_t session_nr_news(const struct session *session)
{
	return session->nr_news;
}

const char *session_news(const struct session *session, size_t i)
{
	return session->news[i];
}

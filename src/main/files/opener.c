/* SPDX-License-Identifier: MIT */
#include <ctop/files/opener.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/ipc/datagram.h>
#include <ctop/system/budget.h>
#include <ctop/system/own_process.h>
#include <ctop/system/patience.h>

#include "opener_protocol.h"

#define PATIENCE_NS (2 * NS_PER_SECOND)
/* Requests under way at a time: enough that it never waits for main. */
enum { SENT_MAX = 8, WAITING_MAX = 8192 };

struct waiting {
	struct waiting *prev, *next;
	opener_taker *taker; /* NULL: forgotten */
	void *context;
	struct opener_message message;
};

struct opener {
	struct own_process process;
	struct waiting *first; /* the first nr_sent are under way */
	size_t nr, nr_sent;
	struct patience patience; /* since the first came to be the first */
};

struct opener *opener_new(void)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	if (opener)
		opener->process = OWN_PROCESS_NONE;
	return opener;
}

/* ---- the process ---- */

static void serve(void *context)
{
	(void)context;
	opener_run(OWN_PROCESS_FD);
}

static int start(struct opener *opener)
{
	return own_process_start(&opener->process, "ctop-opener", serve, NULL);
}

static void end(struct opener *opener)
{
	if (!opener->process.pid)
		return;
	own_process_end(&opener->process);
	opener->nr_sent = 0;
}

/* ---- requests ---- */

static void drop_first(struct opener *opener)
{
	struct waiting *first = opener->first;
	DL_DELETE(opener->first, first);
	free(first);
	opener->nr--;
	if (opener->nr_sent)
		opener->nr_sent--;
	if (opener->first)
		opener->patience = patience_with(opener->process.pid, PATIENCE_NS);
}

void opener_free(struct opener *opener)
{
	if (!opener)
		return;
	own_process_release(&opener->process);
	while (opener->first)
		drop_first(opener);
	free(opener);
}

static void answer_first(struct opener *opener, const struct opener_answer *answer, int fd)
{
	opener_taker *taker = opener->first->taker;
	void *context = opener->first->context;
	drop_first(opener);
	if (taker)
		taker(context, answer, fd);
	else if (fd >= 0)
		close(fd);
}

static void send_some(struct opener *opener)
{
	size_t at = 0;
	struct waiting *waiting;
	DL_FOREACH(opener->first, waiting)
	{
		if (at++ < opener->nr_sent)
			continue;
		if (opener->nr_sent == SENT_MAX ||
		    send(opener->process.fd, &waiting->message, sizeof(waiting->message),
			 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
		opener->nr_sent++;
	}
}

int opener_ask(struct opener *opener, const struct opener_request *request, opener_taker *taker,
	       void *context)
{
	if (opener->nr == WAITING_MAX)
		return -ENOBUFS;
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	int result = opener_message_fill(&waiting->message, request);
	if (!result)
		result = start(opener);
	if (result) {
		free(waiting);
		return result;
	}
	waiting->taker = taker;
	waiting->context = context;
	if (!opener->first)
		opener->patience = patience_with(opener->process.pid, PATIENCE_NS);
	DL_APPEND(opener->first, waiting);
	opener->nr++;
	send_some(opener);
	return 0;
}

void opener_forget(struct opener *opener, const void *context)
{
	struct waiting *waiting;
	DL_FOREACH(opener->first, waiting)
	if (waiting->context == context)
		waiting->taker = NULL;
}

int opener_fd(const struct opener *opener)
{
	return opener->first ? opener->process.fd : -1;
}

int opener_timeout_ms(const struct opener *opener)
{
	return opener->first ? patience_timeout_ms(&opener->patience, opener->process.pid) : -1;
}

int32_t opener_pid(const struct opener *opener)
{
	return (int32_t)opener->process.pid;
}

static void drop_forgotten(struct opener *opener)
{
	struct waiting *waiting, *next;
	DL_FOREACH_SAFE(opener->first, waiting, next)
	{
		if (waiting->taker)
			continue;
		DL_DELETE(opener->first, waiting);
		free(waiting);
		opener->nr--;
	}
}

/* The first is not to be had; the others, if anybody still waits for them, are asked for again. */
static void give_up_first(struct opener *opener, int error)
{
	end(opener);
	answer_first(opener, &(struct opener_answer){.error = error}, -1);
	if (!opener->nr_sent)
		drop_forgotten(opener);
}

/* 1: an answer was taken; 0: none is there; -errno: the process has ended, or talks nonsense. */
static int take_one(struct opener *opener)
{
	struct opener_reply reply;
	int fd = -1;
	ssize_t got = datagram_receive(opener->process.fd, &reply, sizeof(reply), MSG_DONTWAIT, &fd,
				       NULL);
	if (got == -EAGAIN)
		return 0;
	if (got != (int)sizeof(reply) || !opener->nr_sent || (fd < 0) != (reply.error < 0)) {
		if (fd >= 0)
			close(fd);
		return -EIO;
	}
	answer_first(opener,
		     &(struct opener_answer){reply.error, reply.by_name, reply.identity,
					     reply.written_ns, reply.whole_bytes,
					     reply.kernel_names},
		     fd);
	return 1;
}

void opener_serve(struct opener *opener)
{
	int got = 0;
	own_process_reap(&opener->process);
	struct budget budget = budget_of((unsigned)opener->nr);
	while (opener->process.pid && budget_take(&budget) && (got = take_one(opener)) > 0)
		;
	if (!opener->first)
		return;
	/* Killed by somebody while it had nothing to do: that was not the request's fault. */
	if (got < 0 && !opener->nr_sent)
		end(opener);
	else if (got < 0)
		give_up_first(opener, -EIO);
	else if (opener_timeout_ms(opener) == 0)
		give_up_first(opener, -ETIMEDOUT);
	if (!opener->first)
		return;
	int error = start(opener);
	if (error)
		give_up_first(opener, error);
	else
		send_some(opener);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/files/prober.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/base/clock.h>
#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>
#include <ctop/system/patience.h>

#define START_PATIENCE_NS (10 * NS_PER_SECOND) /* until it is jailed */
#define PATIENCE_NS	  (2 * NS_PER_SECOND)
enum { WAITING_MAX = 1024 };

struct waiting {
	struct waiting *prev, *next;
	prober_taker *taker; /* NULL: forgotten */
	void *context;
	int fd; /* our duplicate */
	struct prober_question question;
};

struct prober {
	struct waiting *first;
	size_t nr;
	/* The child that was asked the first question. */
	struct jail_child child; /* pid 0: it does not run */
	struct patience patience;
};

struct prober *prober_new(void)
{
	return calloc(1, sizeof(struct prober));
}

static void end(struct prober *prober)
{
	if (prober->child.pid)
		jail_end(&prober->child);
}

static void drop_first(struct prober *prober)
{
	struct waiting *first = prober->first;
	DL_DELETE(prober->first, first);
	close(first->fd);
	free(first);
	prober->nr--;
}

void prober_free(struct prober *prober)
{
	if (!prober)
		return;
	end(prober);
	while (prober->first)
		drop_first(prober);
	free(prober);
}

static int start(struct prober *prober)
{
	int result = jail_spawn("prober", &prober->child);
	if (result)
		return result;
	prober->patience = patience_with(prober->child.pid, START_PATIENCE_NS);
	result = channel_send(prober->child.channel, &prober->first->question,
			      sizeof(prober->first->question), prober->first->fd);
	if (result)
		end(prober);
	return result;
}

static void answer_first(struct prober *prober, const struct prober_answer *answer)
{
	prober_taker *taker = prober->first->taker;
	void *context = prober->first->context;
	end(prober);
	drop_first(prober);
	if (taker)
		taker(context, answer);
}

/* Until there is a child for the first question, or none is left. */
static void go_on(struct prober *prober)
{
	while (prober->first && !prober->child.pid) {
		int result = prober->first->taker ? start(prober) : -ECANCELED;
		if (result)
			answer_first(prober, &(struct prober_answer){.error = result});
	}
}

int prober_ask(struct prober *prober, int fd, const struct prober_question *question,
	       prober_taker *taker, void *context)
{
	if (prober->nr == WAITING_MAX)
		return -ENOBUFS;
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	*waiting = (struct waiting){
		.taker = taker,
		.context = context,
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
		.question = *question,
	};
	int result = waiting->fd < 0 ? -errno : 0;
	if (!result && !prober->first) {
		DL_APPEND(prober->first, waiting);
		result = start(prober);
		if (result)
			DL_DELETE(prober->first, waiting);
	} else if (!result) {
		DL_APPEND(prober->first, waiting);
	}
	if (!result) {
		prober->nr++;
		return 0;
	}
	if (waiting->fd >= 0)
		close(waiting->fd);
	free(waiting);
	return result;
}

void prober_forget(struct prober *prober, const void *context)
{
	struct waiting *waiting;
	DL_FOREACH(prober->first, waiting)
	if (waiting->context == context)
		waiting->taker = NULL;
}

int prober_fd(const struct prober *prober)
{
	return prober->child.pid ? channel_fd(prober->child.channel) : -1;
}

int prober_timeout_ms(const struct prober *prober)
{
	return prober->child.pid ? patience_timeout_ms(&prober->patience, prober->child.pid) : -1;
}

/* What came is a child's, and may be anything of that size. */
static bool is_plausible(struct prober_answer *answer)
{
	answer->debuglink[sizeof(answer->debuglink) - 1] = '\0';
	answer->common[sizeof(answer->common) - 1] = '\0';
	answer->split_name[sizeof(answer->split_name) - 1] = '\0';
	return answer->build_id_size <= sizeof(answer->build_id) &&
	       answer->common_build_id_size <= sizeof(answer->common_build_id) &&
	       answer->error <= 0 && answer->error > -4096;
}

void prober_serve(struct prober *prober)
{
	struct prober_answer answer = {0};
	int unused = -1;
	if (!prober->child.pid)
		return;
	const bool starts = channel_held(prober->child.channel);
	ssize_t got = channel_receive(prober->child.channel, &answer, sizeof(answer), &unused);
	if (starts && !channel_held(prober->child.channel))
		prober->patience = patience_with(prober->child.pid, PATIENCE_NS);
	if (got == -EAGAIN && prober_timeout_ms(prober))
		return;
	if (got == -EAGAIN)
		answer = (struct prober_answer){.error = -ETIMEDOUT};
	else if (got != (ssize_t)sizeof(answer) || !is_plausible(&answer))
		answer = (struct prober_answer){.error = -EIO};
	answer_first(prober, &answer);
	go_on(prober);
}

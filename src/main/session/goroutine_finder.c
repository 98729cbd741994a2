/* SPDX-License-Identifier: MIT */
#include "goroutine_finder.h"

#include <errno.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/ipc/channel.h>

/* DWARF of the largest programs takes some seconds on a busy machine. */
#define PATIENCE_NS (60 * NS_PER_SECOND)

static void take(void *context, const struct opener_answer *answer, int fd)
{
	struct goroutine_finder *finder = context;
	finder->is_opening = false;
	if (fd >= 0 && answer->by_name) /* another file has its name now */
		close(fd);
	else
		finder->fd = fd;
}

int goroutine_finder_ask(struct goroutine_finder *finder, struct broker *broker, int32_t pid)
{
	if (finder->pid)
		return -EBUSY;
	*finder = (struct goroutine_finder){.pid = pid, .is_opening = true, .fd = -1};
	const int result = broker_open_program(broker, pid, take, finder);
	if (result)
		finder->pid = 0;
	return result;
}

static void end_child(struct goroutine_finder *finder)
{
	if (finder->has_child)
		jail_end(&finder->child);
	finder->has_child = false;
}

static bool start_child(struct goroutine_finder *finder, uint64_t now_ns)
{
	static const char question = '?';
	if (finder->fd < 0 || jail_spawn("goroutines", &finder->child))
		return false;
	finder->has_child = true;
	finder->until_ns = now_ns + PATIENCE_NS;
	return channel_send(finder->child.channel, &question, sizeof(question), finder->fd) == 0;
}

/* -EAGAIN: not yet. */
static int hear(struct goroutine_finder *finder, struct goroutines_answer *answer)
{
	struct channel *channel = finder->child.channel;
	int unused = -1;
	if (channel_held(channel)) {
		const int result = channel_await_hello(channel, 0);
		if (result)
			return result == -ETIMEDOUT ? -EAGAIN : result;
	}
	if (channel_waiting(channel) && channel_flush(channel))
		return -EPIPE;
	const ssize_t got = channel_receive(channel, answer, sizeof(*answer), &unused);
	if (got == -EAGAIN)
		return -EAGAIN;
	return got == (ssize_t)sizeof(*answer) ? 0 : -EIO;
}

/* What it says is looked at before anybody believes it. */
static void check(struct goroutines_answer *answer)
{
	if (answer->refusal >= NR_GOROUTINE_REFUSALS ||
	    (answer->refusal == GOROUTINES_SHOWN && !goroutine_layout_is_sane(&answer->layout)))
		answer->refusal = GOROUTINES_DAMAGED;
}

int32_t goroutine_finder_serve(struct goroutine_finder *finder, uint64_t now_ns,
			       struct goroutines_answer *answer)
{
	*answer = (struct goroutines_answer){.refusal = GOROUTINES_DAMAGED};
	if (!finder->pid || finder->is_opening)
		return 0;
	int result = -EIO;
	if (finder->has_child || start_child(finder, now_ns))
		result = hear(finder, answer);
	if (result == -EAGAIN && now_ns < finder->until_ns)
		return 0;
	if (result)
		answer->refusal = GOROUTINES_DAMAGED;
	check(answer);
	end_child(finder);
	if (finder->fd >= 0)
		close(finder->fd);
	const int32_t pid = finder->pid;
	*finder = (struct goroutine_finder){.fd = -1};
	return pid;
}

void goroutine_finder_end(struct goroutine_finder *finder, struct broker *broker)
{
	if (finder->is_opening)
		broker_forget_program(broker, finder);
	end_child(finder);
	if (finder->fd >= 0)
		close(finder->fd);
	*finder = (struct goroutine_finder){.fd = -1};
}

/* SPDX-License-Identifier: MIT */
/* Ways to keep main busy. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>

#include "faults.h"

static void take_answers(struct channel *channel)
{
	struct message message;
	int fd;
	while (protocol_receive(channel, &message, &fd) == 1)
		if (fd >= 0)
			close(fd);
}

/* Asks for a process, as long as there is somebody to ask. */
static void ask_for_ever(const struct fault *fault, bool takes_answers)
{
	const struct message message = {
		.kind = MESSAGE_NEED_PROCESS,
		.process = {.pid = atoi(fault->argument)},
	};
	int result = 0;
	while (!result || result == -ENOBUFS) {
		result = protocol_send(fault->channel, &message, -1);
		if (!result || result == -ENOBUFS)
			result = channel_flush(fault->channel);
		if (takes_answers)
			take_answers(fault->channel);
	}
}

FAULT(flood)
{
	ask_for_ever(fault, true);
}

/* The same, but nobody listens. */
FAULT(deaf)
{
	ask_for_ever(fault, false);
}

/* Nothing more is said or heard, and yet it goes on. */
FAULT(hang_up)
{
	close(channel_fd(fault->channel));
	for (;;)
		pause();
}

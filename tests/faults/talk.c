/* SPDX-License-Identifier: MIT */
/* What a child should not say to main. */
#include <stdlib.h>
#include <string.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>

#include "faults.h"

/* A message of that kind, by its number, with nothing else in it. */
FAULT(say)
{
	const struct message message = {.kind = (uint32_t)atoi(fault->argument)};
	protocol_send(fault->channel, &message, -1);
}

/* The same, but full of the letter M. */
FAULT(babble)
{
	struct message message;
	memset(&message, 'M', sizeof(message));
	message.kind = (uint32_t)atoi(fault->argument);
	protocol_send(fault->channel, &message, -1);
}

/* No message at all: so many Ms. */
FAULT(noise)
{
	char bytes[CHANNEL_MESSAGE_MAX];
	memset(bytes, 'M', sizeof(bytes));
	channel_send(fault->channel, bytes, strtoul(fault->argument, NULL, 10), -1);
}

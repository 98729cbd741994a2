/* SPDX-License-Identifier: MIT */
/* What the child that speaks HTTP may ask main for, of its own accord. */
#include <stdlib.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/http_protocol.h>

#include "faults.h"

/* A profile of that process. */
FAULT(ask_profile)
{
	const struct http_ask ask = {
		.kind = HTTP_ASK_ANSWER,
		.endpoint = HTTP_PROFILE,
		.id = UINT64_MAX,
		.duration_ms = HTTP_LEAST_MS,
		.hz = 1,
		.pid = atoi(fault->argument),
	};
	channel_send(fault->channel, &ask, sizeof(ask), -1);
}

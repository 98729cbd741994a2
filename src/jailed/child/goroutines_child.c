/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>

#include <ctop/base/fault.h>
#include <ctop/elf/go_goroutines.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/goroutines_protocol.h>

int goroutines_child_run(struct channel *channel)
{
	char question[8];
	int fd = -1;
	int result = child_await_question(channel);
	const ssize_t got =
		result ? result : channel_receive(channel, question, sizeof(question), &fd);
	fault_at("turn", "", channel);
	if (got > 0 && fd >= 0) {
		struct goroutines_answer answer = {0};
		answer.refusal = go_goroutines_find(fd, &answer.layout);
		result = channel_send(channel, &answer, sizeof(answer), -1);
	} else {
		result = -EPROTO;
	}
	channel_free(channel);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>

#include <ctop/base/fault.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/uprobe_protocol.h>
#include <ctop/symbol/function_offset.h>

int uprobe_child_run(struct channel *channel)
{
	char name[UPROBE_FUNCTION_MAX + 1] = "";
	int fd = -1;
	int result = child_await_question(channel);
	ssize_t got = result ? result : channel_receive(channel, name, sizeof(name) - 1, &fd);
	fault_at("turn", "", channel);
	if (got > 0 && fd >= 0) {
		struct uprobe_answer answer = {0};
		name[got] = '\0';
		answer.error = function_offset(fd, name, &answer.place);
		result = channel_send(channel, &answer, sizeof(answer), -1);
	} else {
		result = -EPROTO;
	}
	channel_free(channel);
	return result;
}

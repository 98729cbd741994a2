/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <inttypes.h>

#include <ctop/flight/recorders.h>
#include <ctop/output/say.h>

int command_dump(const struct options *options, struct error *error)
{
	int32_t pid = options->recorder_pid;
	int result = pid ? 0 : recorder_choose(&pid, error);
	if (!result)
		result = recorder_ask(pid, error);
	if (!result && !options->quiet)
		say("asked process %" PRId32 ", which says where it writes", pid);
	return result;
}

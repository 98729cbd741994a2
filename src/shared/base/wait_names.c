/* SPDX-License-Identifier: MIT */
#include <ctop/wait_kind.h>

#include <string.h>

static const struct {
	const char *name, *frame;
} words[NR_WAIT_KINDS] = {
	[WAIT_UNSEEN] = {"not seen", "[wait, not seen]"},
	[WAIT_LOCK] = {"lock", "[lock]"},
	[WAIT_IO] = {"I/O", "[io]"},
	[WAIT_POLL] = {"poll", "[poll]"},
	[WAIT_SLEEP] = {"sleep", "[sleep]"},
	[WAIT_CHILD] = {"child", "[child]"},
	[WAIT_FAULT] = {"page fault", "[page fault]"},
	[WAIT_OTHER] = {"other", "[wait]"},
};

const char *wait_kind_name(enum wait_kind kind)
{
	return words[kind].name;
}

const char *wait_kind_frame(enum wait_kind kind)
{
	return words[kind].frame;
}

bool wait_is_frame(const char *name)
{
	for (enum wait_kind kind = 0; kind < NR_WAIT_KINDS; kind++)
		if (!strcmp(name, words[kind].frame))
			return true;
	return !strcmp(name, WAIT_FRAME_FOR_CPU);
}

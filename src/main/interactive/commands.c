/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

/* Servers tell in theirs what they do. */
#define AGAIN_AFTER_NS (2 * NS_PER_SECOND)
/* /proc has start times by ticks of 10 ms. */
#define SAME_START_NS (20 * NS_PER_MS)

void commands_release(struct commands *commands)
{
	opener_free(commands->opener);
	free(commands->items);
	*commands = (struct commands){0};
}

void commands_serve(struct commands *commands, struct session *session)
{
	if (!commands->opener)
		return;
	opener_serve(commands->opener);
	const int32_t pid = opener_pid(commands->opener);
	if (session && pid && pid != commands->opener_pid)
		session_leave_out(session, pid);
	commands->opener_pid = pid;
}

static bool is_same_start(uint64_t a_ns, uint64_t b_ns)
{
	const uint64_t apart_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
	return !a_ns || !b_ns || apart_ns <= SAME_START_NS;
}

static struct command_line *find(const struct commands *commands, int32_t pid, uint64_t started_ns)
{
	for (size_t i = 0; i < commands->nr; i++)
		if (commands->items[i].pid == pid &&
		    is_same_start(commands->items[i].started_ns, started_ns))
			return &commands->items[i];
	return NULL;
}

/* A free one, or who was not used for longest. NULL: out of memory. */
static struct command_line *make_room(struct commands *commands)
{
	if (!commands->items)
		commands->items = calloc(COMMANDS_MAX, sizeof(*commands->items));
	if (!commands->items)
		return NULL;
	if (commands->nr < COMMANDS_MAX)
		return &commands->items[commands->nr++];
	struct command_line *oldest = commands->items;
	for (size_t i = 1; i < commands->nr; i++)
		if (commands->items[i].used < oldest->used)
			oldest = &commands->items[i];
	if (commands->opener) /* none, as long as all had ended */
		opener_forget(commands->opener, oldest);
	return oldest;
}

/* Words end in NULs, the last one too. */
static void take(void *context, const struct opener_answer *answer, int fd)
{
	struct command_line *command = context;
	char text[COMMAND_BYTES];
	command->hangs |= answer->error == -ETIMEDOUT;
	if (answer->error || fd < 0)
		return;
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	while (size > 0 && !text[size - 1])
		size--;
	if (size <= 0) /* it has ended, or hides it: what is known stays */
		return;
	for (ssize_t i = 0; i < size; i++)
		command->text[i] = text[i] ? text[i] : ' ';
	command->text[size] = '\0';
}

static void ask(struct commands *commands, struct command_line *command)
{
	const uint64_t now_ns = clock_now_ns();
	const struct opener_request request = {.kind = OPENER_COMMAND,
					       .request = {.pid = command->pid}};
	if (command->hangs || (command->asked_ns && now_ns - command->asked_ns < AGAIN_AFTER_NS))
		return;
	command->asked_ns = now_ns;
	/* Somebody else's by now? */
	const uint64_t started_ns = proc_start_ns(command->pid);
	if (!started_ns || !is_same_start(started_ns, command->started_ns))
		return;
	command->started_ns = started_ns;
	if (!commands->opener)
		commands->opener = opener_new();
	if (commands->opener)
		opener_ask(commands->opener, &request, take, command);
}

void commands_add(struct commands *commands, int32_t pid, uint64_t started_ns, struct text *out)
{
	struct command_line *command = find(commands, pid, started_ns);
	if (!command) {
		command = make_room(commands);
		if (!command)
			return;
		*command = (struct command_line){.pid = pid, .started_ns = started_ns};
	}
	command->used = ++commands->uses;
	ask(commands, command);
	text_add_safe(out, command->text);
}

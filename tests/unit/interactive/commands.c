/* SPDX-License-Identifier: MIT */
/* Command lines of more processes than are remembered. */
#include "main/interactive/commands.h"

#include "test.h"

/* No process has such a number. */
enum { FIRST_PID = 1 << 30 };

static void all_have_ended(void)
{
	struct commands commands = {0};
	struct text out = {0};
	for (int32_t i = 0; i < 2 * COMMANDS_MAX; i++)
		commands_add(&commands, FIRST_PID + i, 0, &out);
	CHECK_EQ(out.size, 0);
	commands_serve(&commands, NULL);
	text_release(&out);
	commands_release(&commands);
}

int main(void)
{
	RUN(all_have_ended);
	return test_done();
}

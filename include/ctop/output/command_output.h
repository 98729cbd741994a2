/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OUTPUT_COMMAND_OUTPUT_H
#define CTOP_OUTPUT_COMMAND_OUTPUT_H

/*
 * What a command of ours writes while the interface has the terminal: a process of its own takes it from a pipe, always
 * and at once, so that the command neither waits nor fails whatever becomes of ctop. It keeps the first and the last
 * megabyte; when the terminal is free again it writes these, and from then on passes everything on, until the command
 * and all that inherited its output have closed it. It does so as well when main is killed.
 */

#include <ctop/base/error.h>

struct command_output {
	int write_fd; /* for the command */
	int held_fd;  /* its closing says: the terminal is free */
	int done_fd;  /* ends when what was kept is written */
};

/* Before the terminal is taken. input_fd: what the command reads, which that process shall not hold; 0: none. 0 or -errno with error; then nothing is open. */
int command_output_open(struct command_output *output, int input_fd, struct error *error);
/* The terminal is free. Returns when what the command has written so far stands on it. */
void command_output_close(struct command_output *output);

#endif

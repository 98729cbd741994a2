/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_OWN_PROCESS_H
#define CTOP_SYSTEM_OWN_PROCESS_H

/*
 * A process that main forks off, with main's own privileges, for what may hang: it executes nothing and has no descriptor but its end of a
 * socket, whose other end is main's. It ends with main. What hangs is killed and left, and waited for now and then. Main only.
 */

#include <sys/types.h>

/* Its end of the socket, which is SOCK_SEQPACKET. */
enum { OWN_PROCESS_FD = 3 };
/* That hang in the kernel past SIGKILL: no more are started then. */
enum { OWN_PROCESS_HUNG_MAX = 16 };

struct own_process {
	pid_t pid; /* 0: it does not run */
	int fd;	   /* -1 then */
	pid_t hung[OWN_PROCESS_HUNG_MAX];
	unsigned nr_hung;
};

#define OWN_PROCESS_NONE                                                                           \
	(struct own_process)                                                                       \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Unless it runs already: run(context), and then its end, in the new process. 0 or -errno; -ETIMEDOUT: too many hang. */
int own_process_start(struct own_process *process, const char *name, void (*run)(void *context),
		      void *context);
/* Whatever it does. */
void own_process_end(struct own_process *process);
/* Takes away those that have come to their ends. */
void own_process_reap(struct own_process *process);
/* Ends it, and waits a moment for it: nearly all end at once; one that hangs is left to whoever reaps after us. */
void own_process_release(struct own_process *process);

#endif

/* SPDX-License-Identifier: MIT */
#include <ctop/base/end_pending.h>

#include <signal.h>

bool end_pending(void)
{
	sigset_t pending;
	/* An ignored one never is. */
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

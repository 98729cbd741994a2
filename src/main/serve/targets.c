/* SPDX-License-Identifier: MIT */
#include "targets.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int targets_open(struct targets *targets, const struct int32_list *pids, struct error *error)
{
	*targets = (struct targets){.pids = pids};
	targets->fds = calloc(pids->nr + 1, sizeof(*targets->fds));
	targets->chosen.items = calloc(pids->nr + 1, sizeof(*targets->chosen.items));
	if (!targets->fds || !targets->chosen.items)
		return error_set(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < pids->nr; i++)
		targets->fds[i] = -1;
	for (size_t i = 0; i < pids->nr; i++) {
		targets->fds[i] = (int)syscall(SYS_pidfd_open, pids->items[i], 0);
		if (targets->fds[i] >= 0)
			continue;
		const int code = -errno;
		error_set(error, code, "cannot serve process %" PRId32 ": %s", pids->items[i],
			  strerror(-code));
		return error_remedy(error, "give -p the PIDs of processes that run");
	}
	return 0;
}

void targets_release(struct targets *targets)
{
	for (size_t i = 0; targets->fds && i < targets->pids->nr; i++)
		if (targets->fds[i] >= 0)
			close(targets->fds[i]);
	free(targets->fds);
	free(targets->chosen.items);
	*targets = (struct targets){.fds = NULL};
}

static bool runs(const struct targets *targets, size_t i)
{
	struct pollfd poll_fd = {.fd = targets->fds[i], .events = POLLIN};
	return poll(&poll_fd, 1, 0) == 0;
}

int targets_choose(struct targets *targets, int32_t pid)
{
	bool found = !pid;
	targets->chosen.nr = 0;
	for (size_t i = 0; i < targets->pids->nr; i++) {
		if (pid && targets->pids->items[i] != pid)
			continue;
		found = true;
		if (runs(targets, i))
			targets->chosen.items[targets->chosen.nr++] = targets->pids->items[i];
	}
	if (!found)
		return -ENOENT;
	return targets->pids->nr && !targets->chosen.nr ? -ESRCH : 0;
}

size_t targets_nr_running(const struct targets *targets)
{
	size_t nr = 0;
	for (size_t i = 0; i < targets->pids->nr; i++)
		nr += runs(targets, i);
	return nr;
}

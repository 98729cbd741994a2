/* SPDX-License-Identifier: MIT */
/* The program of a process of the profile, for main itself, who has a child look at it: as the kernel named it, by its inode. */
#include "broker_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

int broker_open_program(struct broker *broker, int32_t pid, opener_taker *taker, void *context)
{
	char link[32], path[PATH_MAX];
	struct mapped_file file;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t size = readlink(link, path, sizeof(path) - 1);
	privilege_restore(&before);
	path[size > 0 ? size : 0] = '\0';
	if (!is_in_profile(broker, pid) ||
	    !mapped_files_find(broker->mapped, path, 0, pid, 0, &file))
		return -ENOENT;
	const struct opener_request request = {.kind = OPENER_MODULE, .request = request_of(&file)};
	return opener_ask(broker->opener, &request, taker, context);
}

void broker_forget_program(struct broker *broker, const void *context)
{
	opener_forget(broker->opener, context);
}

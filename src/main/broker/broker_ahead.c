/* SPDX-License-Identifier: MIT */
/*
 * Files opened as soon as the kernel says that they are mapped: a program that is deleted and ends within milliseconds is gone
 * when its first sample is looked at. Who maps files by the thousand costs so many opens a second and no more, and what
 * nobody asks for is closed again.
 */
#include "broker_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/base/clock.h>

/* Programs that start and have files of their own: more than any build's tests do. */
enum { A_SECOND = 256, UNDER_WAY_MAX = 64 };

struct ahead {
	struct ahead *prev, *next;
	struct broker *broker;
	struct file_key key;
};

static void end(struct ahead *ahead)
{
	DL_DELETE(ahead->broker->ahead.first, ahead);
	ahead->broker->ahead.nr--;
	free(ahead);
}

void ahead_free(struct broker *broker)
{
	while (broker->ahead.first) {
		opener_forget(broker->opener, broker->ahead.first);
		end(broker->ahead.first);
	}
}

static void take(void *context, const struct opener_answer *answer, int fd)
{
	struct ahead *ahead = context;
	struct broker *broker = ahead->broker;
	const struct kept_file *known = find_kept(broker, &ahead->key);
	struct kept_file *file = NULL;
	if (fd >= 0 && !answer->by_name && !known)
		file = keep_ahead(broker, &ahead->key, fd);
	if (file)
		file->identity = answer->identity;
	else if (fd >= 0)
		close(fd);
	end(ahead);
}

/* A part of a second's for each part of a second. */
static bool may_open(struct broker *broker)
{
	const uint64_t now = clock_now_ns(), each = NS_PER_SECOND / A_SECOND;
	uint64_t *spent = &broker->ahead.spent_ns;
	if (*spent + NS_PER_SECOND < now)
		*spent = now - NS_PER_SECOND;
	if (broker->ahead.nr >= UNDER_WAY_MAX || *spent + each > now)
		return false;
	*spent += each;
	return true;
}

void broker_open_ahead(struct broker *broker, const struct mapped_file *file)
{
	const struct module_identity identity = {
		.device_major = file->device_major,
		.device_minor = file->device_minor,
		.inode = file->inode,
		.generation = file->generation,
	};
	struct file_key key;
	memset(&key, 0, sizeof(key)); /* uthash compares padding too */
	key.kind = MODULE_FILE;
	module_identity_file_key(&identity, &key.file);
	if (find_kept(broker, &key) || !may_open(broker))
		return;
	struct ahead *ahead = calloc(1, sizeof(*ahead));
	if (!ahead)
		return;
	*ahead = (struct ahead){.broker = broker, .key = key};
	DL_APPEND(broker->ahead.first, ahead);
	broker->ahead.nr++;
	const struct opener_request request = {.kind = OPENER_MODULE, .request = request_of(file)};
	if (opener_ask(broker->opener, &request, take, ahead))
		end(ahead);
}

/* SPDX-License-Identifier: MIT */
#include "uprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/channel.h>
#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/jail.h>
#include <ctop/base/uprobe_protocol.h>

#include "probe_file.h"

_Static_assert((int)EVENT_TEXT_BYTES <= (int)UPROBE_FUNCTION_MAX,
	       "every function's name can be asked about");

/* Reading the symbols of the largest programs takes a second or two. */
enum { PATIENCE_MS = 30000, SLICE_MS = 100 };

static int wait_for(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int got;
	do
		got = poll(&poll_fd, 1, timeout_ms);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got ? 0 : -ETIMEDOUT;
}

/* Only what a program can be mapped from: opening a device might set it going. */
static int open_program(const char *path)
{
	struct stat status;
	if (stat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int await_answer(struct channel *channel, int timeout_ms)
{
	return wait_for(channel_fd(channel), timeout_ms);
}

/* As long as the user has patience, too. 0 or -errno: -EINTR when ctop is told to end. */
static int await(struct channel *channel, int (*what)(struct channel *, int))
{
	const uint64_t until_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
	int result = -ETIMEDOUT;
	while (result == -ETIMEDOUT && clock_now_ns() < until_ns)
		result = end_pending() ? -EINTR : what(channel, SLICE_MS);
	return result;
}

static int ask(struct channel *channel, const char *function, int fd, struct function_place *place)
{
	struct uprobe_answer answer;
	int unused = -1;
	int result = channel_send(channel, function, strlen(function), fd);
	if (!result)
		result = await(channel, channel_await_hello);
	if (!result)
		result = await(channel, await_answer);
	if (result)
		return result;
	ssize_t got = channel_receive(channel, &answer, sizeof(answer), &unused);
	if (got != (ssize_t)sizeof(answer))
		return -EIO; /* it died, or talks nonsense */
	*place = answer.place;
	return answer.error < 0 && answer.error > -4096 ? answer.error : answer.error ? -EIO : 0;
}

/* Starts the child, asks, ends it. 0 or -errno. */
static int find_place(const char *function, int fd, struct function_place *place)
{
	struct jail_child child;
	int result = jail_spawn("uprobe", &child);
	if (result)
		return result;
	result = ask(child.channel, function, fd, place);
	jail_end(&child);
	return result;
}

static int explain(const struct event *event, int code, struct error *error)
{
	if (code == -EINTR) {
		error_set(error, code, "interrupted before '%s' was found in '%s'", event->function,
			  event->probe);
		error_remedy(error, "nothing was sampled: start it again, and let it begin");
	} else if (code == -ENOENT) {
		error_set(error, code, "'%s' has no function '%s'", event->probe, event->function);
		error_remedy(error,
			     "readelf -Ws --dyn-syms %s lists them; a file without symbols "
			     "takes an offset: uprobe:%s+0x...",
			     event->probe, event->probe);
	} else if (code == -ENOTUNIQ) {
		error_set(error, code, "'%s' has several functions '%s'", event->probe,
			  event->function);
		error_remedy(error, "name one with its parameters, or as nm %s | grep lists them",
			     event->probe);
	} else if (code == -ENOEXEC) {
		error_set(error, code, "'%s' is no program or library", event->probe);
		error_remedy(error, "a uprobe goes into an ELF file");
	} else {
		error_set(error, code, "cannot look for '%s' in '%s': %s", event->function,
			  event->probe, strerror(-code));
		error_remedy(error, "an offset in the file needs no symbols: uprobe:%s+0x...",
			     event->probe);
	}
	return code;
}

/* A library or program that was named without its folder: which that is, is said. */
static int find_file(struct event *event, struct error *error)
{
	char path[sizeof(event->probe)];
	char name[sizeof(event->name)];
	int result = probe_file_find(event->probe, path, sizeof(path));
	if (result) {
		error_set(error, result, "no library or program is called '%s'", event->probe);
		error_remedy(error, "name its file, as in uprobe:/bin/bash:readline");
		return result;
	}
	const char *place = strchr(event->name, ':') + 1;
	if (snprintf(name, sizeof(name), "%.*s%s%s", (int)(place - event->name), event->name, path,
		     place + strlen(event->probe)) < (int)sizeof(name))
		memcpy(event->name, name, sizeof(name));
	memcpy(event->probe, path, sizeof(path));
	return 0;
}

/* Behind the end of a function another one begins, or the middle of an instruction. */
static int outside(const struct event *event, const struct function_place *place,
		   struct error *error)
{
	error_set(error, -ERANGE,
		  "'%s' of '%s' is %" PRIu64 " bytes long: +%" PRIu64 " is behind its end",
		  event->function, event->probe, place->size, event->config2);
	error_remedy(error,
		     "name the function that is meant, or an offset in the file: uprobe:%s+0x...",
		     event->probe);
	return -ERANGE;
}

static int resolve(struct event *event, struct error *error)
{
	struct function_place place = {0};
	int fd = open_program(event->probe);
	if (fd < 0) {
		error_set(error, fd, "cannot open '%s': %s", event->probe,
			  fd == -EINVAL ? "not a file" : strerror(-fd));
		error_remedy(error, "a uprobe is written as in uprobe:/bin/bash:readline");
		return fd;
	}
	int result = find_place(event->function, fd, &place);
	close(fd);
	if (result)
		return explain(event, result, error);
	if (place.size && event->config2 >= place.size)
		return outside(event, &place, error);
	if (__builtin_add_overflow(place.offset, event->config2, &event->config2))
		return explain(event, -EOVERFLOW, error);
	event->function[0] = '\0';
	return 0;
}

int uprobes_resolve(struct event *events, size_t nr_events, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < nr_events; i++) {
		struct event *event = &events[i];
		if (event->probe[0] && event->happens_in_user && !strchr(event->probe, '/'))
			result = find_file(event, error);
		if (!result && event->function[0])
			result = resolve(event, error);
	}
	return result;
}

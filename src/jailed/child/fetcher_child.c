/* SPDX-License-Identifier: MIT */
/*
 * Asks debuginfod servers for one debug file, or one source file, by the client library, where that is installed: ctop is not linked with it. Runs as the
 * user who called ctop, writes nothing but that client's cache and the one file that main gave it.
 */
#include "child_link.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/library.h>
#include <ctop/base/write_all.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/fetcher_protocol.h>
#include <ctop/jail/jail.h>

/* Reports so often at most; less than 100 KiB in so many seconds is a server that stalls. */
enum { REPORT_MS = 250, STALL_S = 10 };

/* What its header declares: that need not be there where ctop is built. */
struct debuginfod_client;
typedef int progress_function(struct debuginfod_client *client, long done, long total);

struct library {
	struct debuginfod_client *(*begin)(void);
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int size,
		    char **path);
	int (*find_source)(struct debuginfod_client *client, const unsigned char *build_id,
			   int size, const char *source, char **path);
	void (*set_progress)(struct debuginfod_client *client, progress_function *progress);
	void (*set_user_data)(struct debuginfod_client *client, void *data);
};

struct fetch {
	struct library library;
	struct channel *channel;
	uint64_t until_ns, reported_ns, most_bytes;
	int error; /* why it was given up; 0 */
};

static bool open_library(struct library *library)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
	return handle && library_find(handle, "debuginfod_begin", &library->begin) &&
	       library_find(handle, "debuginfod_find_debuginfo", &library->find) &&
	       library_find(handle, "debuginfod_find_source", &library->find_source) &&
	       library_find(handle, "debuginfod_set_progressfn", &library->set_progress) &&
	       library_find(handle, "debuginfod_set_user_data", &library->set_user_data);
}

static int report(struct fetch *fetch, const struct fetch_report *report)
{
	return channel_send(fetch->channel, report, sizeof(*report), -1);
}

static int progress_of(struct fetch *fetch, long done, long total)
{
	const uint64_t now = clock_now_ns();
	const uint64_t bytes = done > 0 ? (uint64_t)done : 0;
	if (bytes > fetch->most_bytes || (total > 0 && (uint64_t)total > fetch->most_bytes))
		fetch->error = -EFBIG;
	else if (now > fetch->until_ns)
		fetch->error = -ETIMEDOUT;
	if (fetch->error || now - fetch->reported_ns < REPORT_MS * NS_PER_MS)
		return fetch->error;
	fetch->reported_ns = now;
	const struct fetch_report so_far = {.done = bytes,
					    .total = total > 0 ? (uint64_t)total : 0};
	return report(fetch, &so_far);
}

/* Called by the library again and again while it waits: what it returns ends that. The library is global, so that this finds it. */
static int progress(struct debuginfod_client *client, long done, long total)
{
	void *(*get_user_data)(struct debuginfod_client *);
	if (!library_find(RTLD_DEFAULT, "debuginfod_get_user_data", &get_user_data))
		return 0;
	return progress_of(get_user_data(client), done, total);
}

/* ---- the cache ---- */

/* A directory that is ours alone to write to; made where it is missing. A descriptor or -errno. */
static int open_own(int parent_fd, const char *name, int follow)
{
	struct stat status;
	if (mkdirat(parent_fd, name, 0700) && errno != EEXIST)
		return -errno;
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && status.st_uid == getuid() &&
	    !(status.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

/* The user's directory of caches, and in it that of every debuginfod client. */
static int open_cache(const char *cache)
{
	char path[FETCH_CACHE_MAX];
	const struct passwd *user = cache[0] ? NULL : getpwuid(getuid());
	if (cache[0])
		snprintf(path, sizeof(path), "%s", cache);
	else if (!user || user->pw_dir[0] != '/' ||
		 (size_t)snprintf(path, sizeof(path), "%s/.cache", user->pw_dir) >= sizeof(path))
		return -ENOENT;
	int parent_fd = open_own(AT_FDCWD, path, 0);
	if (parent_fd < 0)
		return parent_fd;
	int fd = open_own(parent_fd, "debuginfod_client", O_NOFOLLOW);
	close(parent_fd);
	return fd;
}

/* ---- the file ---- */

static int copy(struct fetch *fetch, int from, int to)
{
	static char bytes[256 << 10];
	struct stat status;
	uint64_t size = 0;
	ssize_t got = 0;
	if (fstat(from, &status) || !S_ISREG(status.st_mode))
		return -EINVAL;
	while ((got = pread(from, bytes, sizeof(bytes), (off_t)size)) > 0) {
		size += (size_t)got;
		if (size > fetch->most_bytes)
			return -EFBIG;
		if (clock_now_ns() > fetch->until_ns)
			return -ETIMEDOUT;
		int result = write_all(to, bytes, (size_t)got);
		if (result)
			return result;
	}
	return got < 0 ? -errno : 0;
}

/* What the client reads; of the caller's environment nothing has come here. */
static void set_environment(const struct fetch_question *question, int cache_fd)
{
	char text[64];
	setenv("DEBUGINFOD_URLS", question->urls, 1);
	snprintf(text, sizeof(text), "/proc/self/fd/%d", cache_fd);
	setenv("DEBUGINFOD_CACHE_PATH", text, 1);
	snprintf(text, sizeof(text), "%d", STALL_S);
	setenv("DEBUGINFOD_TIMEOUT", text, 1);
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 1); /* else it waits three times */
	snprintf(text, sizeof(text), "%u", question->patience_s);
	setenv("DEBUGINFOD_MAXTIME", text, 1);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)question->most_bytes);
	setenv("DEBUGINFOD_MAXSIZE", text, 1);
}

static int fetch_file(struct fetch *fetch, const struct fetch_question *question, int to)
{
	int cache_fd = open_cache(question->cache);
	if (cache_fd < 0) /* that something is not there is said of the servers alone */
		return cache_fd == -ENOENT ? -EACCES : cache_fd;
	if (!open_library(&fetch->library))
		return -ENOSYS;
	int result = jail_write_below(cache_fd, question->most_bytes);
	if (result)
		return result;
	set_environment(question, cache_fd);
	struct debuginfod_client *client = fetch->library.begin();
	if (!client)
		return -ENOMEM;
	fetch->library.set_user_data(client, fetch);
	fetch->library.set_progress(client, progress);
	const int size = (int)question->build_id_size;
	int fd = question->source[0] ? fetch->library.find_source(client, question->build_id, size,
								  question->source, NULL)
				     : fetch->library.find(client, question->build_id, size, NULL);
	if (fd < 0)
		return fetch->error ? fetch->error : fd == -ETIME ? -ETIMEDOUT : fd;
	return copy(fetch, fd, to);
}

int fetcher_child_run(struct channel *channel)
{
	struct fetch_question question;
	struct fetch fetch = {.channel = channel};
	struct fetch_report last = {.is_last = 1};
	int fd = -1;
	int result = child_await_question(channel);
	if (!result && (channel_receive(channel, &question, sizeof(question), &fd) !=
				(ssize_t)sizeof(question) ||
			fd < 0 || question.build_id_size > sizeof(question.build_id)))
		result = -EPROTO;
	if (!result) {
		question.urls[sizeof(question.urls) - 1] = '\0';
		question.cache[sizeof(question.cache) - 1] = '\0';
		question.source[sizeof(question.source) - 1] = '\0';
		fetch.until_ns = clock_now_ns() + question.patience_s * NS_PER_SECOND;
		fetch.most_bytes = question.most_bytes;
		last.error = fetch_file(&fetch, &question, fd);
		result = report(&fetch, &last);
	}
	channel_free(channel);
	return result;
}

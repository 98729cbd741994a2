/* SPDX-License-Identifier: MIT */
#include <ctop/files/fetcher.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/base/clock.h>
#include <ctop/files/locate.h>
#include <ctop/files/opener.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/fetcher_protocol.h>
#include <ctop/jail/jail.h>

/* Of a session: who asks for more has fallen, or asks servers for more than anybody wants. */
enum { WAITING_MAX = 1024, ASKED_MAX = 4096 };
/* For one file. The child ends by itself sooner than main ends it. */
enum { PATIENCE_S = 120, PATIENCE_MORE_S = 10 };
/* It reports four times a second at most: one that says more has fallen, and would keep us busy. */
enum { REPORTS_MAX = 1024 };
/* Servers that did not answer so often, one time after the other, are asked no more: whoever waits would wait for each file. */
enum { SILENT_MAX = 2 };
/* Debug files of the largest programs are hundreds of MiB. */
#define MOST_BYTES (UINT64_C(1) << 30)
/* Source files are small, and may be many. */
enum { SOURCE_PATIENCE_S = 20 };
#define SOURCE_MOST_BYTES ((uint64_t)OPENER_SOURCE_MAX)

struct waiting {
	struct waiting *prev, *next;
	fetcher_taker *taker; /* NULL: forgotten */
	void *context;
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_size;
	char *source; /* its path; NULL: it is a debug file */
};

struct fetcher {
	char urls[FETCH_URLS_MAX];
	struct waiting *first;
	size_t nr, nr_asked;
	/* The child that was asked for the first. */
	struct jail_child child; /* pid 0: it does not run */
	int fd;			 /* what it writes to; -1 */
	unsigned nr_reports;
	uint64_t since_ns;
	uint64_t done, total;
	unsigned nr_silent;
};

struct fetcher *fetcher_new(const char *urls)
{
	struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
	if (!fetcher)
		return NULL;
	snprintf(fetcher->urls, sizeof(fetcher->urls), "%s", urls);
	fetcher->fd = -1;
	return fetcher;
}

static void end(struct fetcher *fetcher)
{
	if (fetcher->child.pid)
		jail_end(&fetcher->child);
	if (fetcher->fd >= 0)
		close(fetcher->fd);
	fetcher->fd = -1;
}

static void drop_first(struct fetcher *fetcher)
{
	struct waiting *first = fetcher->first;
	DL_DELETE(fetcher->first, first);
	free(first->source);
	free(first);
	fetcher->nr--;
}

void fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	end(fetcher);
	while (fetcher->first)
		drop_first(fetcher);
	free(fetcher);
}

/* A file without a name: on a disk, since it may be large. */
static int open_unnamed(void)
{
	static const char *const directories[] = {"/var/tmp", "/tmp"};
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		int fd = open(directories[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
	}
	int fd = memfd_create("debug", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What the environment says of the user's caches, if it is his whose privileges we have. */
static void set_cache(char cache[FETCH_CACHE_MAX])
{
	const char *own = invoking_uid() == geteuid() ? getenv("XDG_CACHE_HOME") : NULL;
	cache[0] = '\0';
	if (own && own[0] == '/' && strlen(own) < FETCH_CACHE_MAX)
		strcpy(cache, own);
}

static bool is_silence(int error)
{
	return error == -ETIMEDOUT || error == -ECONNREFUSED || error == -EHOSTUNREACH;
}

static unsigned patience_s(const struct fetcher *fetcher)
{
	return fetcher->first->source ? SOURCE_PATIENCE_S : PATIENCE_S;
}

static int start(struct fetcher *fetcher)
{
	const char *source = fetcher->first->source;
	char role[64];
	if (fetcher->nr_silent >= SILENT_MAX)
		return -ECANCELED;
	struct fetch_question question = {
		.build_id_size = fetcher->first->build_id_size,
		.patience_s = patience_s(fetcher),
		.most_bytes = source ? SOURCE_MOST_BYTES : MOST_BYTES,
	};
	snprintf(question.source, sizeof(question.source), "%s", source ? source : "");
	memcpy(question.build_id, fetcher->first->build_id, sizeof(question.build_id));
	memcpy(question.urls, fetcher->urls, sizeof(question.urls));
	set_cache(question.cache);
	fetcher->done = fetcher->total = 0;
	fetcher->nr_reports = 0;
	fetcher->since_ns = clock_now_ns();
	fetcher->fd = open_unnamed();
	if (fetcher->fd < 0)
		return fetcher->fd;
	snprintf(role, sizeof(role), "fetcher:%u:%u", invoking_uid(), invoking_gid());
	int result = jail_spawn(role, &fetcher->child);
	if (!result)
		result = channel_send(fetcher->child.channel, &question, sizeof(question),
				      fetcher->fd);
	if (result)
		end(fetcher);
	return result;
}

/* It cannot write to the file any more when somebody reads that. */
static void answer_first(struct fetcher *fetcher, int error)
{
	fetcher_taker *taker = fetcher->first->taker;
	void *context = fetcher->first->context;
	int fd = error ? -1 : fetcher->fd;
	if (fd >= 0)
		fetcher->fd = -1;
	end(fetcher);
	drop_first(fetcher);
	if (error != -ECANCELED)
		fetcher->nr_silent = is_silence(error) ? fetcher->nr_silent + 1 : 0;
	if (taker)
		taker(context, error, fd);
	else if (fd >= 0)
		close(fd);
}

/* Until there is a child for the first one, or none is left. */
static void go_on(struct fetcher *fetcher)
{
	while (fetcher->first && !fetcher->child.pid) {
		int result = fetcher->first->taker ? start(fetcher) : -ECANCELED;
		if (result)
			answer_first(fetcher, result);
	}
}

/* source: NULL, or taken over if that succeeds. */
static int ask(struct fetcher *fetcher, const uint8_t *build_id, size_t build_id_size, char *source,
	       fetcher_taker *taker, void *context)
{
	if (build_id_size < 8 || build_id_size > BUILD_ID_MAX)
		return -EINVAL;
	if (fetcher->nr == WAITING_MAX || fetcher->nr_asked == ASKED_MAX)
		return -ENOBUFS;
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	waiting->source = source;
	waiting->taker = taker;
	waiting->context = context;
	waiting->build_id_size = (uint32_t)build_id_size;
	memcpy(waiting->build_id, build_id, build_id_size);
	DL_APPEND(fetcher->first, waiting);
	fetcher->nr++;
	fetcher->nr_asked++;
	int result = fetcher->first == waiting ? start(fetcher) : 0;
	if (!result)
		return 0;
	waiting->source = NULL;
	drop_first(fetcher);
	return result;
}

int fetcher_ask(struct fetcher *fetcher, const uint8_t *build_id, size_t build_id_size,
		fetcher_taker *taker, void *context)
{
	return ask(fetcher, build_id, build_id_size, NULL, taker, context);
}

/* The client escapes what has a meaning in addresses; but a program says what is in the path. */
static int check_source(const char *path)
{
	if (strlen(path) >= FETCH_SOURCE_MAX)
		return -ENAMETOOLONG;
	for (const char *at = path; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return -EILSEQ;
	return path[0] == '/' ? 0 : -EILSEQ;
}

int fetcher_ask_source(struct fetcher *fetcher, const uint8_t *build_id, size_t build_id_size,
		       const char *path, fetcher_taker *taker, void *context)
{
	int result = check_source(path);
	char *source = result ? NULL : strdup(path);
	if (!result)
		result = source ? ask(fetcher, build_id, build_id_size, source, taker, context)
				: -ENOMEM;
	if (result)
		free(source);
	return result;
}

void fetcher_forget(struct fetcher *fetcher, const void *context)
{
	struct waiting *waiting;
	DL_FOREACH(fetcher->first, waiting)
	if (waiting->context == context)
		waiting->taker = NULL;
}

int fetcher_fd(const struct fetcher *fetcher)
{
	return fetcher->child.pid ? channel_fd(fetcher->child.channel) : -1;
}

int fetcher_timeout_ms(const struct fetcher *fetcher)
{
	if (!fetcher->child.pid)
		return -1;
	const uint64_t now = clock_now_ns();
	const uint64_t until =
		fetcher->since_ns + (patience_s(fetcher) + PATIENCE_MORE_S) * NS_PER_SECOND;
	if (!fetcher->first->taker || now >= until)
		return 0;
	return (int)((until - now) / NS_PER_MS) + 1;
}

/* What came is a child's, and may be anything of that size. */
static bool is_plausible(const struct fetch_report *report)
{
	return report->is_last <= 1 && report->error <= 0 && report->error > -4096 &&
	       report->done <= MOST_BYTES;
}

void fetcher_serve(struct fetcher *fetcher)
{
	struct fetch_report report;
	int unused = -1;
	while (fetcher->child.pid) {
		const ssize_t got =
			channel_receive(fetcher->child.channel, &report, sizeof(report), &unused);
		if (got == -EAGAIN && fetcher_timeout_ms(fetcher))
			return;
		if (got == -EAGAIN) {
			answer_first(fetcher, fetcher->first->taker ? -ETIMEDOUT : -ECANCELED);
		} else if (got != (ssize_t)sizeof(report) || !is_plausible(&report) ||
			   fetcher->nr_reports++ == REPORTS_MAX) {
			answer_first(fetcher, -EIO);
		} else if (report.is_last) {
			answer_first(fetcher, report.error);
		} else {
			fetcher->done = report.done;
			fetcher->total = report.total;
			continue;
		}
		go_on(fetcher);
	}
}

void fetcher_tell(const struct fetcher *fetcher, struct text *out)
{
	const double mib = 1 << 20;
	if (!fetcher->child.pid)
		return;
	text_addf(out, "debuginfod: %.1f", (double)fetcher->done / mib);
	if (fetcher->total)
		text_addf(out, " of %.1f", (double)fetcher->total / mib);
	text_add(out, " MiB of ");
	if (fetcher->first->source)
		text_add_safe(out, strrchr(fetcher->first->source, '/') + 1);
	else
		text_add_hex(out, fetcher->first->build_id, 4);
	if (fetcher->nr > 1)
		text_addf(out, ", %zu wait", fetcher->nr - 1);
}

const char *fetcher_why(int error)
{
	switch (error) {
	case -ENOENT:
		return "debuginfod has none";
	case -ENOSYS:
		return "libdebuginfod.so.1 is not installed";
	case -ETIMEDOUT:
	case -ECANCELED:
		return "debuginfod did not answer in time";
	case -EFBIG:
		return "what debuginfod has is too large";
	case -ENAMETOOLONG:
	case -EILSEQ:
		return "its name is none that debuginfod is asked for";
	case -ENOBUFS:
		return "debuginfod was asked for too many already";
	case -EPERM:
	case -EACCES:
		return "there is no cache of debuginfod's clients that is ours alone";
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return "the debuginfod servers cannot be reached";
	default:
		return "debuginfod failed";
	}
}

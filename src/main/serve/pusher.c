/* SPDX-License-Identifier: MIT */
#include "pusher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/write_all.h>
#include <ctop/files/locate.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/pusher_protocol.h>
#include <ctop/output/say.h>

#include "seal.h"

enum { PATIENCE_S = 30, PATIENCE_MORE_S = 10 };
#define QUEUE_BYTES_MOST ((uint64_t)64 << 20)
/* Doubled with each failure. */
#define FIRST_WAIT_NS (1 * NS_PER_SECOND)
#define MOST_WAIT_NS  (300 * NS_PER_SECOND)

static const char content_type[] =
	"Content-Type: multipart/form-data; boundary=ctop-3f6c1b0e5d9a4872";
/* Of what a profile has, samples are shown: Pyroscope knows how long each is by the profile's period. */
static const char before_profile[] =
	"--ctop-3f6c1b0e5d9a4872\r\n"
	"Content-Disposition: form-data; name=\"sample_type_config\"; filename=\"types.json\"\r\n"
	"Content-Type: application/json\r\n\r\n"
	"{\"samples\": {\"units\": \"samples\", \"aggregation\": \"sum\", \"display-name\": "
	"\"cpu\", "
	"\"sampled\": true}}\r\n"
	"--ctop-3f6c1b0e5d9a4872\r\n"
	"Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
	"Content-Type: application/octet-stream\r\n\r\n";
static const char behind_profile[] = "\r\n--ctop-3f6c1b0e5d9a4872--\r\n";

void pusher_init(struct pusher *pusher, const char *url)
{
	*pusher = (struct pusher){.url = url};
}

/* ---- the queue ---- */

static void drop_first(struct pusher *pusher)
{
	close(pusher->queue[0].fd);
	pusher->bytes -= pusher->queue[0].bytes;
	memmove(pusher->queue, pusher->queue + 1, --pusher->nr * sizeof(*pusher->queue));
}

/* The machine's name, of characters that a URL and a label may have. */
static void set_query(struct push_waiting *waiting, int64_t from_s, int64_t until_s)
{
	struct utsname machine = {.nodename = ""};
	char host[65];
	uname(&machine);
	snprintf(host, sizeof(host), "%s", machine.nodename);
	for (char *at = host; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_",
			    *at))
			*at = '_';
	snprintf(waiting->query, sizeof(waiting->query),
		 "name=ctop%%7Bhostname%%3D%s%%7D&from=%" PRId64 "&until=%" PRId64
		 "&format=pprof&spyName=ctop",
		 host, from_s, until_s);
}

static int make_body(int profile_fd, uint64_t *bytes)
{
	struct stat status;
	off_t at = 0;
	if (fstat(profile_fd, &status))
		return -errno;
	const int fd = memfd_create("push", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = fd < 0 ? -errno : write_all(fd, before_profile, sizeof(before_profile) - 1);
	while (!result && at < status.st_size)
		if (sendfile(fd, profile_fd, &at, (size_t)(status.st_size - at)) <= 0)
			result = -EIO;
	if (!result)
		result = write_all(fd, behind_profile, sizeof(behind_profile) - 1);
	if (!result)
		result = seal_written(fd);
	*bytes = (uint64_t)status.st_size + sizeof(before_profile) + sizeof(behind_profile) - 2;
	if (result && fd >= 0)
		close(fd);
	return result ? result : fd;
}

static void say_dropped(struct pusher *pusher)
{
	if (pusher->counts.dropped == pusher->told_dropped)
		return;
	say("%" PRIu64 " profiles were dropped before they were pushed",
	    pusher->counts.dropped - pusher->told_dropped);
	pusher->told_dropped = pusher->counts.dropped;
}

/* The first that is lost is said at once; how many they were, once it goes on. */
static void count_dropped(struct pusher *pusher, const char *why)
{
	if (pusher->counts.dropped++ == pusher->told_dropped)
		say("a profile is dropped before it was pushed: %s", why);
}

void pusher_add(struct pusher *pusher, int profile_fd, int64_t from_s, int64_t until_s)
{
	struct push_waiting waiting;
	waiting.fd = make_body(profile_fd, &waiting.bytes);
	if (waiting.fd < 0) {
		count_dropped(pusher, strerror(-waiting.fd));
		return;
	}
	set_query(&waiting, from_s, until_s);
	/* Of what is under way the child has a descriptor of its own. */
	while (pusher->nr && (pusher->nr == PUSH_QUEUE_MOST ||
			      pusher->bytes + waiting.bytes > QUEUE_BYTES_MOST)) {
		if (pusher->child.pid)
			jail_end(&pusher->child);
		drop_first(pusher);
		count_dropped(pusher, "too many wait for the server");
	}
	pusher->queue[pusher->nr++] = waiting;
	pusher->bytes += waiting.bytes;
}

/* ---- its child ---- */

static int start(struct pusher *pusher)
{
	static struct push_question question;
	char role[64];
	const size_t size = strlen(pusher->url);
	const char *path = size > 7 && !strcmp(pusher->url + size - 7, "/ingest") ? "" : "/ingest";
	snprintf(question.url, sizeof(question.url), "%.1500s%s?%s", pusher->url, path,
		 pusher->queue[0].query);
	snprintf(question.type, sizeof(question.type), "%s", content_type);
	question.patience_s = PATIENCE_S;
	snprintf(role, sizeof(role), "pusher:%u:%u", invoking_uid(), invoking_gid());
	int result = jail_spawn(role, &pusher->child);
	if (result)
		return result;
	pusher->until_ns = clock_now_ns() + (PATIENCE_S + PATIENCE_MORE_S) * NS_PER_SECOND;
	result = channel_send(pusher->child.channel, &question, sizeof(question),
			      pusher->queue[0].fd);
	if (result)
		jail_end(&pusher->child);
	return result;
}

/* Twice as long each time, and up to a quarter more, so that a fleet does not come back at once. */
static void wait_longer(struct pusher *pusher, const char *why)
{
	uint64_t wait_ns = FIRST_WAIT_NS;
	uint8_t chance = 0;
	for (unsigned i = 0; i < pusher->nr_failed && wait_ns < MOST_WAIT_NS; i++)
		wait_ns *= 2;
	wait_ns = wait_ns > MOST_WAIT_NS ? MOST_WAIT_NS : wait_ns;
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) == (ssize_t)sizeof(chance))
		wait_ns += wait_ns / 4 * chance / 256;
	if (!pusher->nr_failed++)
		say("cannot push to %s: %s; profiles wait, and it is tried again", pusher->url,
		    why);
	pusher->counts.retried++;
	pusher->due_ns = clock_now_ns() + wait_ns;
}

static void take_report(struct pusher *pusher, struct push_report *report)
{
	enum { TIMED_OUT = 408, TOO_MANY = 429, FIRST_GOOD = 200, FIRST_OTHER = 300 };
	const unsigned status = report->status;
	report->why[sizeof(report->why) - 1] = '\0';
	if (status >= FIRST_GOOD && status < FIRST_OTHER) {
		pusher->counts.sent++;
		if (pusher->nr_failed)
			say("%s takes profiles again", pusher->url);
		say_dropped(pusher);
		pusher->nr_failed = 0;
		drop_first(pusher);
	} else if (status >= FIRST_OTHER && status < 500 && status != TIMED_OUT &&
		   status != TOO_MANY) {
		/* It would say the same again. */
		if (!pusher->counts.refused++)
			say("%s refuses profiles with status %u: they are dropped", pusher->url,
			    status);
		drop_first(pusher);
	} else {
		if (status)
			snprintf(report->why, sizeof(report->why), "status %u", status);
		wait_longer(pusher, report->why[0] ? report->why : "it does not answer");
	}
}

static int hear(struct pusher *pusher, struct error *error)
{
	struct push_report report = {.why = ""};
	int fd = -1;
	const ssize_t got = channel_receive(pusher->child.channel, &report, sizeof(report), &fd);
	if (got == -EAGAIN && clock_now_ns() < pusher->until_ns)
		return 0;
	jail_end(&pusher->child);
	if (got != (ssize_t)sizeof(report))
		report = (struct push_report){.why = "ctop's own process for it died"};
	if (got == (ssize_t)sizeof(report) && report.error == -ENOSYS) {
		error_set(error, -ENOSYS, "libcurl, which --push needs, is not installed");
		return error_remedy(error, "install it: apt-get install libcurl4");
	}
	take_report(pusher, &report);
	return 0;
}

int pusher_serve(struct pusher *pusher, struct error *error)
{
	if (pusher->child.pid)
		return hear(pusher, error);
	if (!pusher->nr || clock_now_ns() < pusher->due_ns)
		return 0;
	const int result = start(pusher);
	if (result)
		wait_longer(pusher, strerror(-result));
	return 0;
}

int pusher_fd(const struct pusher *pusher)
{
	return pusher->child.pid ? channel_fd(pusher->child.channel) : -1;
}

int pusher_timeout_ms(const struct pusher *pusher)
{
	const uint64_t now = clock_now_ns();
	const uint64_t until = pusher->child.pid ? pusher->until_ns : pusher->due_ns;
	if (!pusher->child.pid && !pusher->nr)
		return -1;
	return now >= until ? 0 : (int)((until - now) / NS_PER_MS) + 1;
}

void pusher_release(struct pusher *pusher)
{
	if (pusher->child.pid)
		jail_end(&pusher->child);
	say_dropped(pusher);
	if (pusher->nr)
		say("%zu profiles were not pushed to %s", pusher->nr, pusher->url);
	while (pusher->nr)
		drop_first(pusher);
}

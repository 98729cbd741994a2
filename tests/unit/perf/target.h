/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PERF_TARGET_H
#define CTOP_TEST_PERF_TARGET_H

/*
 * What the sampler's tests share: options, child processes to sample, other ids, limits and capabilities, and reading
 * samples back through ring.h and record.h.
 */

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/kernel/ring.h>
#include <ctop/perf/sampler.h>

#include "in_child.h"
#include "test.h"

enum { PATIENCE_MS = 120000, RINGS_MAX = 1024 };

static inline struct event event_of(const char *text)
{
	struct event event;
	struct error error;
	CHECK_EQ(event_parse(text, strlen(text), &event, &error), 0);
	return event;
}

/* One process, one event each millisecond, small rings. */
static inline struct sampler_options options_for(const int32_t *pid, const char *event)
{
	struct sampler_options options = {
		.pids = pid,
		.nr_pids = pid ? 1 : 0,
		.inherit = true,
		.frequency_hz = 999,
		.ring_pages = 64,
		.max_overhead_percent = 0,
		.nr_events = 1,
	};
	options.events[0] = event_of(event);
	return options;
}

static inline struct sampler *open_or_explain(const struct sampler_options *options)
{
	struct error error = {0};
	struct sampler *sampler = sampler_open(options, &error);
	if (!sampler)
		printf("# %s; %s\n", error.cause, error.remedy);
	CHECK(sampler != NULL);
	return sampler;
}

static inline void check_refused(const struct sampler_options *options, struct error *error)
{
	*error = (struct error){0};
	CHECK(sampler_open(options, error) == NULL);
	if (!error->cause[0] || !error->remedy[0])
		printf("# cause '%s', remedy '%s'\n", error->cause, error->remedy);
	CHECK(error->cause[0] != '\0');
	CHECK(error->remedy[0] != '\0');
}

static inline bool has_fallback(const struct sampler *sampler, const char *words)
{
	for (size_t i = 0; i < sampler_nr_fallbacks(sampler); i++)
		if (strstr(sampler_fallback(sampler, i), words))
			return true;
	for (size_t i = 0; i < sampler_nr_fallbacks(sampler); i++)
		printf("# fallback: %s\n", sampler_fallback(sampler, i));
	return false;
}

static inline void require_root(void)
{
	if (geteuid() != 0)
		SKIP("not root");
}

/* ---- processes ---- */

/* A child that computes for ever, and ends with us. It can be sampled when this returns. */
static inline int32_t start_spinning(void)
{
	int pipe_fds[2];
	char byte;
	CHECK_EQ(pipe(pipe_fds), 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1); /* cleared by a change of ids */
		if (write(pipe_fds[1], "r", 1) != 1)
			_exit(1);
		for (volatile unsigned i = 0;; i++)
			;
	}
	close(pipe_fds[1]);
	CHECK_EQ(read(pipe_fds[0], &byte, 1), 1);
	close(pipe_fds[0]);
	return pid;
}

static inline void end_process(int32_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Nobody's locked memory is charged for the rings of every jailed child; this user's for those of this process. */
static inline void become_other_user(void)
{
	const uid_t user = 100000 + 2 * (uid_t)getpid() + 1;
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(setresgid(user, user, user), 0);
	CHECK_EQ(setresuid(user, user, user), 0);
	prctl(PR_SET_DUMPABLE, 1);
}

static inline void drop_capability(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
	data[CAP_TO_INDEX(capability)].permitted &= ~CAP_TO_MASK(capability);
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
}

/* ---- what the kernel wrote ---- */

struct rings {
	struct ring rings[RINGS_MAX];
	struct pollfd polls[RINGS_MAX];
	size_t nr;
};

/* As the collector does it: maps them, after which the events are redirected. */
static inline void rings_map(struct rings *rings, struct sampler *sampler)
{
	rings->nr = sampler_nr_rings(sampler);
	CHECK(rings->nr >= 1 && rings->nr <= RINGS_MAX);
	for (size_t i = 0; i < rings->nr; i++) {
		int fd = sampler_rings(sampler)[i].fd;
		CHECK_EQ(ring_map(&rings->rings[i], fd, sampler_ring_pages(sampler)), 0);
		rings->polls[i] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	CHECK_EQ(sampler_redirect(sampler), 0);
}

static inline void rings_unmap(struct rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++)
		ring_unmap(&rings->rings[i]);
	rings->nr = 0;
}

/* Hands every record to take(), and counts the samples. */
static inline size_t
rings_drain(struct rings *rings, const struct record_format *format,
	    void (*take)(void *context, const struct record *record, size_t ring), void *context)
{
	size_t nr_samples = 0;
	for (size_t i = 0; i < rings->nr; i++) {
		struct ring *ring = &rings->rings[i];
		const struct perf_event_header *header;
		bool damaged = false;
		ring_refresh(ring);
		while ((header = ring_peek(ring, &damaged))) {
			struct record record;
			int result = record_parse(header, header->size, format, &record);
			CHECK(result == 0 || result == -ENOTSUP);
			if (result == 0 && take)
				take(context, &record, i);
			nr_samples += result == 0 && record.type == PERF_RECORD_SAMPLE;
			ring_consume(ring);
		}
		CHECK(!damaged);
		ring_publish_tail(ring);
	}
	return nr_samples;
}

/* Waits for the watermark of any ring. */
static inline void rings_wait(struct rings *rings)
{
	CHECK(poll(rings->polls, rings->nr, PATIENCE_MS) > 0);
}

#endif

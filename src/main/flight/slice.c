/* SPDX-License-Identifier: MIT */
#include <ctop/flight/slice.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/metadata/timeline_facts.h>

/* ---- facts ---- */

static int keep_fact(void *context, const char *key, const char *value)
{
	struct slice_facts *facts = context;
	if (vec_reserve(facts, facts->nr + 1))
		return -ENOMEM;
	struct slice_fact fact = {strdup(key), strdup(value)};
	if (!fact.key || !fact.value) {
		free(fact.key);
		free(fact.value);
		return -ENOMEM;
	}
	facts->items[facts->nr++] = fact;
	return 0;
}

int slice_facts_take(struct slice_facts *facts, const struct session *session,
		     const struct options *options)
{
	const struct metadata_sink sink = {facts, keep_fact};
	return metadata_start(session, options, &sink);
}

void slice_facts_release(struct slice_facts *facts)
{
	for (size_t i = 0; i < facts->nr; i++) {
		free(facts->items[i].key);
		free(facts->items[i].value);
	}
	free(facts->items);
	*facts = (struct slice_facts){0};
}

static int add_number(struct recording_writer *writer, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return recording_add_info(writer, key, text);
}

static int add_info(void *context, const char *key, const char *value)
{
	return recording_add_info(context, key, value);
}

/* Of what is known at the end of a run, what holds for a part of it. */
static int add_of_part(void *context, const char *key, const char *value)
{
	const bool is_counted = !strcmp(key, "stats.samples") || !strcmp(key, "duration_ns");
	return is_counted || metadata_holds_for_part(key) ? recording_add_info(context, key, value)
							  : 0;
}

/* What went wrong since the oldest sample that is there; of counts from before nothing is said. */
static struct session_stats stats_of_part(const struct slice_request *request, uint64_t samples)
{
	static const size_t counts[] = {
		offsetof(struct session_stats, lost),
		offsetof(struct session_stats, late),
		offsetof(struct session_stats, throttled),
		offsetof(struct session_stats, hurried),
		offsetof(struct session_stats, lost_sideband),
		offsetof(struct session_stats, dropped_overrun),
		offsetof(struct session_stats, dropped_disk),
		offsetof(struct session_stats, dropped_crash),
		offsetof(struct session_stats, dropped_damaged),
		offsetof(struct session_stats, dropped_double),
		offsetof(struct session_stats, dropped_own),
		offsetof(struct session_stats, dropped_foreign),
		offsetof(struct session_stats, dropped_comm),
		offsetof(struct session_stats, dropped_uid),
		offsetof(struct session_stats, restarts),
	};
	const struct session_stats *before = stretch_before(request->stretch);
	struct session_stats part = *request->stats;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t now, then;
		memcpy(&now, (const char *)&part + counts[i], sizeof(now));
		memcpy(&then, (const char *)before + counts[i], sizeof(then));
		now = now > then ? now - then : 0;
		memcpy((char *)&part + counts[i], &now, sizeof(now));
	}
	part.samples = samples;
	part.start_ns = request->from_ns;
	part.end_ns = request->to_ns;
	return part;
}

static int add_facts(const struct slice *slice, const struct slice_request *request)
{
	const struct slice_facts *facts = request->facts;
	const struct metadata_sink sink = {slice->writer, add_of_part};
	const struct metadata_sink whole = {slice->writer, add_info};
	int result = 0;
	for (size_t i = 0; !result && i < facts->nr; i++)
		result = recording_add_info(slice->writer, facts->items[i].key,
					    facts->items[i].value);
	if (!result)
		result = add_number(slice->writer, "start_ns", request->from_ns);
	if (!result)
		result = add_number(slice->writer, "start_wall_ns", request->from_wall_ns);
	if (!result)
		result = recording_add_info(slice->writer, "excerpt", request->excerpt);
	const struct session_stats part = stats_of_part(request, slice->samples);
	if (!result)
		result = metadata_end(&part, &sink);
	return result ? result : timeline_facts_add(request->timeline, 1, &whole);
}

/* ---- on its way ---- */

static int start_writing(struct slice *slice, const struct slice_request *request)
{
	int pipe_fd;
	const int fd = fcntl(slice->output.fd, F_DUPFD_CLOEXEC, 0); /* the disk closes its own */
	if (fd < 0)
		return -errno;
	int result = disk_start(&slice->disk, fd, &pipe_fd);
	if (result)
		return result;
	slice->writer = recording_writer_new(pipe_fd);
	if (!slice->writer) {
		close(pipe_fd);
		return -ENOMEM;
	}
	slice->samples = stretch_count(request->stretch, request->from_ns, request->to_ns);
	result = stretch_write(request->stretch, request->from_ns, request->to_ns, slice->writer);
	return result ? result : add_facts(slice, request);
}

int slice_begin(struct slice *slice, const struct slice_request *request, pid_t *writer_pid,
		struct error *error)
{
	*slice = (struct slice){.state = SLICE_DATA};
	disk_init(&slice->disk);
	int result = output_open(&slice->output, &request->output, error);
	if (result) {
		slice->state = SLICE_NONE;
		return result;
	}
	result = start_writing(slice, request);
	*writer_pid = slice->disk.writer.pid;
	if (!result)
		return 0;
	slice_release(slice);
	if (result == -EAGAIN) {
		error_set(error, result, "a slice is larger than what may wait for the disk");
		return error_remedy(error, "keep less: --last-size 64M, or a shorter --last");
	}
	return error_set(error, result, "cannot write '%s': %s", request->output.path,
			 strerror(-result));
}

/* A pipe that is broken has a cause, which the process on its other end knows. */
static int failed(struct slice *slice, int result)
{
	recording_close(slice->writer);
	const int of_disk = disk_wait(&slice->disk, -1);
	slice_release(slice);
	return of_disk && of_disk != -EAGAIN ? of_disk : result == -EAGAIN ? -EIO : result;
}

int slice_go_on(struct slice *slice)
{
	if (slice->state == SLICE_NONE)
		return 0;
	if (slice->state != SLICE_DISK) {
		int result = recording_push(slice->writer);
		if (!result && recording_waiting_bytes(slice->writer))
			return -EAGAIN;
		if (!result && slice->state == SLICE_DATA) {
			slice->state = SLICE_END;
			result = recording_end(slice->writer);
			return result ? failed(slice, result) : slice_go_on(slice);
		}
		if (result)
			return failed(slice, result);
		slice->bytes = recording_bytes(slice->writer);
		recording_abandon(slice->writer); /* the pipe's end is the recording's */
		slice->writer = NULL;
		slice->state = SLICE_DISK;
	}
	if (!disk_has_ended(&slice->disk))
		return -EAGAIN;
	int result = disk_wait(&slice->disk, -1);
	result = output_end(&slice->output, result == -EAGAIN ? -EIO : result);
	slice->state = SLICE_NONE;
	disk_release(&slice->disk);
	return result;
}

int slice_wait(const struct slice *slice, int wake_fd)
{
	enum { LOOK_MS = 20 }; /* what the process says comes by its end, or its word in memory */
	struct pollfd fds[] = {
		{.fd = wake_fd, .events = POLLIN},
		{.fd = slice->disk.writer.pid_fd, .events = POLLIN},
	};
	if (poll(fds, 2, LOOK_MS) < 0 && errno != EINTR)
		return -errno;
	return fds[0].revents ? -EINTR : 0;
}

void slice_release(struct slice *slice)
{
	if (slice->state == SLICE_NONE)
		return;
	recording_abandon(slice->writer);
	slice->writer = NULL;
	output_end(&slice->output, -ECANCELED);
	worker_end(&slice->disk.writer); /* the file is gone: it would write for nobody */
	disk_release(&slice->disk);
	slice->state = SLICE_NONE;
}

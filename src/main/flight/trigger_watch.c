/* SPDX-License-Identifier: MIT */
#include <ctop/flight/trigger_watch.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/wait_kind.h>

#include "call_times.h"
#include "long_waits.h"

/* Row 0 of the events is none; a trigger's time is looked at in so many steps. */
enum { FIRST_EVENT = 1, STEPS = 32 };

struct watched {
	const struct trigger *trigger;
	/* TRIGGER_CPU: what was used at the last steps, the oldest first. */
	struct session_used steps[STEPS + 1];
	size_t nr_steps;
	uint64_t looked_ns;	       /* TRIGGER_WAIT: waits were looked at then */
	struct session_long_wait wait; /* the same: that met it */
	struct long_waits *waits;      /* the same, at a function; else NULL */
	uint32_t event; /* TRIGGER_EVENT, TRIGGER_LATENCY: as samples have it; where calls begin */
	uint32_t at_return;	  /* TRIGGER_LATENCY: where they end */
	struct call_times *calls; /* the same */
	uint64_t took_ns;	  /* the same: that met it */
	uint64_t met_ns;	  /* when it was met; 0: not since the last look */
	int directory;		  /* TRIGGER_FILE: its watch */
	const char *name;
};

struct trigger_watch {
	int inotify_fd;
	size_t nr;
	struct watched items[TRIGGERS_MAX];
};

static int cannot_watch(const char *path, struct error *error)
{
	error_set(error, -errno, "cannot watch for '%s': %s", path, strerror(errno));
	return error_remedy(error, "its directory must be there, and readable");
}

static int watch_file(struct trigger_watch *watch, struct watched *file, struct error *error)
{
	const char *path = file->trigger->subject, *slash = strrchr(path, '/');
	char directory[PATH_MAX] = ".";
	file->name = slash ? slash + 1 : path;
	if (slash)
		snprintf(directory, sizeof(directory), "%.*s",
			 slash == path ? 1 : (int)(slash - path), path);
	if (watch->inotify_fd < 0)
		watch->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->inotify_fd < 0)
		return cannot_watch(path, error);
	file->directory = inotify_add_watch(watch->inotify_fd, directory,
					    IN_ONLYDIR | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE |
						    IN_MODIFY | IN_ATTRIB);
	return file->directory < 0 ? cannot_watch(path, error) : 0;
}

/* Named by the trigger, behind a prefix. trigger_check.c has seen that there is one. */
static uint32_t event_of(const struct options *options, const char *prefix,
			 const struct trigger *trigger)
{
	const size_t bytes = strlen(prefix);
	for (size_t i = 0; i < options->nr_events; i++) {
		const char *asked = options->events[i].asked;
		if (!strncmp(asked, prefix, bytes) &&
		    strlen(asked + bytes) == trigger->subject_bytes &&
		    !memcmp(asked + bytes, trigger->subject, trigger->subject_bytes))
			return FIRST_EVENT + (uint32_t)i;
	}
	return 0;
}

static int watch_calls(const struct options *options, struct watched *item, struct error *error)
{
	item->event = event_of(options, TRIGGER_AT_ENTRY, item->trigger);
	item->at_return = event_of(options, TRIGGER_AT_RETURN, item->trigger);
	item->calls = calloc(1, sizeof(*item->calls));
	return item->calls ? 0 : error_set(error, -ENOMEM, "out of memory");
}

struct trigger_watch *trigger_watch_new(const struct options *options, struct error *error)
{
	struct trigger_watch *watch = calloc(1, sizeof(*watch));
	if (!watch) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	watch->inotify_fd = -1;
	for (size_t i = 0; i < options->nr_triggers; i++) {
		struct watched *item = &watch->items[watch->nr++];
		item->trigger = &options->triggers[i];
		if (item->trigger->kind == TRIGGER_EVENT)
			item->event = event_of(options, "", item->trigger);
		if (item->trigger->kind == TRIGGER_WAIT && item->trigger->function &&
		    !(item->waits = calloc(1, sizeof(*item->waits)))) {
			error_set(error, -ENOMEM, "out of memory");
			trigger_watch_free(watch);
			return NULL;
		}
		if ((item->trigger->kind == TRIGGER_LATENCY && watch_calls(options, item, error)) ||
		    (item->trigger->kind == TRIGGER_FILE && watch_file(watch, item, error))) {
			trigger_watch_free(watch);
			return NULL;
		}
	}
	return watch;
}

void trigger_watch_free(struct trigger_watch *watch)
{
	if (!watch)
		return;
	if (watch->inotify_fd >= 0)
		close(watch->inotify_fd);
	for (size_t i = 0; i < watch->nr; i++) {
		free(watch->items[i].calls);
		free(watch->items[i].waits);
	}
	free(watch);
}

static void take_call(struct watched *item, const struct sample *sample)
{
	uint64_t took_ns;
	if (sample->event == item->event) {
		call_times_enter(item->calls, sample->task.index, sample->time_ns);
	} else if (sample->event == item->at_return &&
		   call_times_leave(item->calls, sample->task.index, sample->time_ns, &took_ns) &&
		   took_ns > item->trigger->for_ns && !item->met_ns) {
		item->met_ns = sample->time_ns;
		item->took_ns = took_ns;
	}
}

void trigger_watch_begin_epoch(struct trigger_watch *watch, const struct tables *tables,
			       const struct symbols *symbols)
{
	for (size_t i = 0; i < watch->nr; i++)
		if (watch->items[i].waits)
			long_waits_begin_epoch(watch->items[i].waits, tables, symbols);
}

void trigger_watch_samples(struct trigger_watch *watch, const struct sample *samples, size_t nr)
{
	for (size_t i = 0; i < watch->nr; i++) {
		struct watched *item = &watch->items[i];
		for (size_t at = 0; item->waits && at < nr; at++)
			long_waits_take(item->waits, &samples[at]);
		for (size_t at = 0; item->event && at < nr; at++)
			if (item->calls)
				take_call(item, &samples[at]);
			else if (!item->met_ns && samples[at].event == item->event)
				item->met_ns = samples[at].time_ns;
	}
}

/* From the newest step that is long enough ago on. Steps behind it are for later. */
static bool uses_too_much(struct watched *cpu, const struct session_used *now)
{
	const struct trigger *trigger = cpu->trigger;
	const struct session_used *last = cpu->nr_steps ? &cpu->steps[cpu->nr_steps - 1] : NULL;
	if (!last || now->until_ns >= last->until_ns + trigger->for_ns / STEPS) {
		if (cpu->nr_steps > STEPS)
			memmove(cpu->steps, cpu->steps + 1, --cpu->nr_steps * sizeof(*cpu->steps));
		cpu->steps[cpu->nr_steps++] = *now;
	}
	for (size_t i = cpu->nr_steps; i-- > 0;) {
		const struct session_used *from = &cpu->steps[i];
		if (now->until_ns < from->until_ns + trigger->for_ns)
			continue;
		const double ns = (double)(now->until_ns - from->until_ns);
		const bool is_met = now->cpu_ns > from->cpu_ns &&
				    (double)(now->cpu_ns - from->cpu_ns) > trigger->above_cpus * ns;
		if (is_met)
			cpu->nr_steps = 0; /* the next one begins here */
		return is_met;
	}
	return false;
}

/* Where the kernel could not keep up, it may have been any of them. */
static bool is_of_file(const struct watched *item, const struct inotify_event *event)
{
	return item->trigger->kind == TRIGGER_FILE &&
	       (event->mask & IN_Q_OVERFLOW ||
		(event->wd == item->directory && event->len && !strcmp(event->name, item->name)));
}

static void read_files(struct trigger_watch *watch, uint64_t now_ns)
{
	union {
		struct inotify_event event;
		char bytes[4096];
	} read_in;
	ssize_t got;
	while (watch->inotify_fd >= 0 &&
	       (got = read(watch->inotify_fd, &read_in, sizeof(read_in))) > 0) {
		for (size_t at = 0; at + sizeof(struct inotify_event) <= (size_t)got;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)(read_in.bytes + at);
			for (size_t i = 0; i < watch->nr; i++)
				if (is_of_file(&watch->items[i], event))
					watch->items[i].met_ns = now_ns;
			at += sizeof(*event) + event->len;
		}
	}
}

/* Each wait once, when it has become so long. */
static bool waits_too_long(struct watched *item, const struct session *session, uint64_t now_ns)
{
	const struct trigger *trigger = item->trigger;
	if (item->waits)
		return long_waits_find(item->waits, session, trigger, now_ns, &item->wait);
	const uint64_t after_ns = item->looked_ns;
	item->looked_ns = now_ns;
	return session_find_wait(session, trigger->wait_kinds, trigger->for_ns, after_ns, now_ns,
				 &item->wait);
}

static void describe(const struct watched *item, struct trigger_met *met)
{
	if (item->trigger->kind == TRIGGER_WAIT)
		snprintf(met->why, sizeof(met->why), "%.100s (%s, %s[%d])", item->trigger->text,
			 wait_kind_name(item->wait.kind), item->wait.name, item->wait.tid);
	else if (item->trigger->kind == TRIGGER_LATENCY)
		snprintf(met->why, sizeof(met->why), "%.100s (a call took %.1f ms)",
			 item->trigger->text, (double)item->took_ns / (double)NS_PER_MS);
	else
		snprintf(met->why, sizeof(met->why), "%s", item->trigger->text);
}

bool trigger_watch_look(struct trigger_watch *watch, struct session *session,
			struct trigger_met *met)
{
	const uint64_t now_ns = clock_now_ns();
	const struct session_used used = session_used(session);
	read_files(watch, now_ns);
	for (size_t i = 0; i < watch->nr; i++) {
		struct watched *item = &watch->items[i];
		if ((item->trigger->kind == TRIGGER_CPU && uses_too_much(item, &used)) ||
		    (item->trigger->kind == TRIGGER_WAIT && waits_too_long(item, session, now_ns)))
			item->met_ns = now_ns;
	}
	for (size_t i = 0; i < watch->nr; i++) {
		struct watched *item = &watch->items[i];
		met->moment_ns = item->met_ns;
		item->met_ns = 0;
		if (!met->moment_ns)
			continue;
		describe(item, met);
		return true;
	}
	return false;
}

bool trigger_watch_needs_switches(const struct trigger_watch *watch)
{
	for (size_t i = 0; i < watch->nr; i++)
		if (watch->items[i].trigger->kind == TRIGGER_WAIT)
			return true;
	return false;
}

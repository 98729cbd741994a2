/* SPDX-License-Identifier: MIT */
/* Whether a trigger can come true, and which events it needs for that. */
#include "options_parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

#include "option_values.h"

/* What is sampled besides. */
static int add_default_event(struct parse *parse)
{
	struct options *options = parse->options;
	return options->nr_events ? 0 : options_add_event("cycles", options, parse->error);
}

/* Each call counts: what is asked of all events, and the guard, are not for these. */
static int add_probe(struct parse *parse, const char *kind, const struct trigger *trigger)
{
	struct options *options = parse->options;
	char text[EVENT_TEXT_BYTES];
	if ((size_t)snprintf(text, sizeof(text), "%s%.*s", kind, (int)trigger->subject_bytes,
			     trigger->subject) >= sizeof(text)) {
		error_usage(parse->error, "--trigger %.40s...: the name is too long",
			    trigger->text);
		return error_remedy(parse->error, "give a shorter path, as a link's");
	}
	for (size_t i = 0; i < options->nr_events; i++)
		if (!strcmp(options->events[i].asked, text))
			return 0;
	const int code = options_add_event(text, options, parse->error);
	if (!code)
		options->events[options->nr_events - 1].period = 1;
	return code;
}

/* Of a target that is one program: its file, as the command or /proc/PID/exe names it. 0; -ENOENT: it is none; -errno. */
static int own_program(const struct options *options, char path[PATH_MAX])
{
	char link[48];
	if (options->argv)
		return snprintf(path, PATH_MAX, "%s", options->argv[0]) < PATH_MAX ? 0
										   : -ENAMETOOLONG;
	if (options->pids.nr != 1)
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/%d/exe", options->pids.items[0]);
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t size = readlink(link, path, PATH_MAX - 1);
	const int why = errno;
	privilege_restore(&before);
	path[size > 0 ? size : 0] = '\0';
	return size > 0 ? 0 : why == ENOENT ? -ESRCH : -why;
}

/* A colon that is no half of a "::". */
static bool names_file(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		const size_t nr = strspn(text + i, ":");
		if (nr == 1)
			return true;
		i += nr;
	}
	return false;
}

/* A function without a file is the target's own. */
static int add_file(struct parse *parse, struct trigger *trigger)
{
	char path[PATH_MAX];
	if (names_file(trigger->subject, trigger->subject_bytes))
		return 0;
	const int result = own_program(parse->options, path);
	if (result == -ENOENT) {
		error_usage(parse->error, "--trigger %s: the function of which file is not said",
			    trigger->text);
		return error_remedy(parse->error, "name it, as in latency /usr/bin/redis-server:"
						  "call>20ms, or one target with -p PID or -- CMD");
	}
	if (result) {
		error_usage(parse->error, "--trigger %s: the target's program is not known: %s",
			    trigger->text, strerror(-result));
		return error_remedy(parse->error, "name its file, as in latency "
						  "/usr/bin/redis-server:call>20ms");
	}
	const int size = asprintf(&trigger->owned_subject, "%s:%.*s", path,
				  (int)trigger->subject_bytes, trigger->subject);
	if (size < 0) {
		trigger->owned_subject = NULL;
		return error_set(parse->error, -ENOMEM, "out of memory");
	}
	trigger->subject = trigger->owned_subject;
	trigger->subject_bytes = (size_t)size;
	return 0;
}

static int check_latency(struct parse *parse, struct trigger *trigger)
{
	int code = add_file(parse, trigger);
	if (!code)
		code = add_default_event(parse);
	if (!code)
		code = add_probe(parse, TRIGGER_AT_ENTRY, trigger);
	return code ? code : add_probe(parse, TRIGGER_AT_RETURN, trigger);
}

static bool has_event(const struct options *options, const char *name)
{
	for (size_t i = 0; i < options->nr_events; i++)
		if (!strcmp(options->events[i].asked, name))
			return true;
	return false;
}

/* Where a count is asked for (-c) it is not meant for one that is added here. */
static int check_event(struct parse *parse, const struct trigger *trigger)
{
	struct options *options = parse->options;
	int code = add_default_event(parse);
	if (code || has_event(options, trigger->subject))
		return code;
	const size_t before = options->nr_events;
	code = options_add_event(trigger->subject, options, parse->error);
	if (code)
		return code;
	if (!has_event(options, trigger->subject) || options->nr_events != before + 1) {
		error_usage(parse->error, "--trigger %s: that is more than one event",
			    trigger->text);
		return error_remedy(parse->error, "give --trigger for each of them: ctop list %s",
				    trigger->subject);
	}
	if (options->count && !options->events[before].period)
		options->events[before].period = 1;
	return 0;
}

int trigger_check(struct parse *parse, struct trigger *trigger)
{
	const struct options *options = parse->options;
	if (trigger->kind == TRIGGER_LATENCY)
		return check_latency(parse, trigger);
	if (trigger->kind == TRIGGER_EXIT && !options->argv) {
		error_usage(parse->error, "--trigger %s: only a command's exit status is known",
			    trigger->text);
		return error_remedy(parse->error,
				    "let ctop start it: ctop record --last 30s --trigger 'exit!=0' "
				    "-- CMD");
	}
	if (trigger->kind == TRIGGER_WAIT && (options->system_wide || options->cgroup) &&
	    !options_follow_all(options)) {
		error_usage(parse->error,
			    "--trigger %s: of some of all processes waits are not known",
			    trigger->text);
		return error_remedy(parse->error,
				    "name processes, as with -p PID, or give -a alone");
	}
	/* Where they wait is known where waits are recorded alone. */
	if (trigger->kind == TRIGGER_WAIT && trigger->function && !options->time)
		parse->options->time = TIME_SHOWN_WAIT;
	return trigger->kind == TRIGGER_EVENT ? check_event(parse, trigger) : 0;
}

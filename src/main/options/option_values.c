/* SPDX-License-Identifier: MIT */
#include "option_values.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/ipc/protocol.h>

enum {
	MAX_RING_PAGES = 1 << 20, /* 4 GiB a CPU */
	MAX_DUMP_BYTES =
		65528, /* perf_event_attr.sample_stack_user: below 64 KiB, a multiple of 8 */
	MAX_CPU = 65535,
	MAX_ID = INT32_MAX
};

/* strtoull and strtod also take signs, blanks, hexadecimal, "inf" and "nan": no numbers here. */
static bool looks_decimal(const char *text)
{
	return (isdigit((unsigned char)text[0]) || text[0] == '.') &&
	       text[strspn(text, "0123456789.eE+-")] == '\0';
}

static bool whole_number(const char *text, uint64_t *value)
{
	if (!looks_decimal(text))
		return false;
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (!*end)
		return errno == 0;
	double decimal = strtod(text, &end);
	/* Beyond 2^53 a double does not hold every whole number. */
	if (end == text || *end || !(decimal >= 0 && decimal <= 0x1p53))
		return false;
	*value = (uint64_t)decimal;
	return (double)*value == decimal;
}

int parse_number(const char *option, const char *text, uint64_t least, uint64_t most,
		 uint64_t *value, struct error *error)
{
	if (!whole_number(text, value)) {
		error_usage(error, "%s requires an integer, not '%s'", option, text);
		return error_remedy(error,
				    "give a number of at least %" PRIu64 ", as in %s %" PRIu64,
				    least, option, least ? least : 1);
	}
	if (*value < least) {
		error_usage(error, "%s %s is too low", option, text);
		return error_remedy(error, "minimum is %" PRIu64, least);
	}
	if (*value > most) {
		error_usage(error, "%s %s is too high", option, text);
		return error_remedy(error, "maximum is %" PRIu64, most);
	}
	return 0;
}

int parse_decimal(const char *option, const char *text, double least, double most, double *value,
		  struct error *error)
{
	char *end = NULL;
	if (looks_decimal(text))
		*value = strtod(text, &end);
	bool is_number = end && end != text && !*end;
	if (is_number && *value >= least && *value <= most)
		return 0;
	int code = is_number ? error_usage(error, "%s %s is out of range", option, text)
			     : error_usage(error, "%s requires a number, not '%s'", option, text);
	error_remedy(error, "give a number from %.12g to %.12g, as in %s 2.5", least, most, option);
	return code;
}

int parse_share(const char *option, const char *text, double *share, struct error *error)
{
	static const double least = 1e-4, most = 100;
	const size_t digits = strspn(text, "0123456789.");
	char *end;
	const double percent = strtod(text, &end);
	const bool is_one = digits && end == text + digits && !strcmp(end, "%");
	*share = percent / 100;
	if (is_one && percent >= least && percent <= most)
		return 0;
	int code = is_one ? error_usage(error, "%s %s is out of range", option, text)
			  : error_usage(error, "%s requires a percentage, not '%s'", option, text);
	error_remedy(error, "give one from %.12g%% to %.12g%% of the machine, as in %s 1%%", least,
		     most, option);
	return code;
}

const char *duration_of(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"", 1e9}};
	const size_t digits = strspn(text, "0123456789.");
	char *end;
	const double value = strtod(text, &end);
	if (!digits || end != text + digits || !(value <= 1e9))
		return NULL;
	const size_t letters = strspn(end, "abcdefghijklmnopqrstuvwxyz");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (letters != strlen(units[i].name) || strncmp(end, units[i].name, letters) != 0)
			continue;
		/* What is longer no number holds, nor a sum with a clock's time. */
		const double all_ns = value * units[i].ns;
		*ns = all_ns < (double)INT64_MAX ? (uint64_t)all_ns : (uint64_t)INT64_MAX;
		return end + letters;
	}
	return NULL;
}

int parse_duration(const char *option, const char *text, uint64_t least_ns, uint64_t most_ns,
		   uint64_t *ns, struct error *error)
{
	const char *end = duration_of(text, ns);
	const bool is_one = end && !*end;
	if (is_one && *ns >= least_ns && *ns <= most_ns)
		return 0;
	int code = is_one ? error_usage(error, "%s %s is out of range", option, text)
			  : error_usage(error, "%s requires a time, not '%s'", option, text);
	error_remedy(error, "give one from %gs to %gs, as in %s 30s", (double)least_ns / 1e9,
		     (double)most_ns / 1e9, option);
	return code;
}

int parse_size(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *bytes,
	       struct error *error)
{
	static const char units[] = "KMGT";
	const size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
	const bool is_one = digits && digits < 16 && (!text[digits] || (unit && !text[digits + 1]));
	*bytes = is_one ? strtoull(text, NULL, 10) : 0;
	for (const char *at = units; unit && at <= unit; at++)
		*bytes = *bytes > UINT64_MAX / 1024 ? UINT64_MAX : *bytes * 1024;
	if (is_one && *bytes >= least && *bytes <= most)
		return 0;
	int code = is_one ? error_usage(error, "%s %s is out of range", option, text)
			  : error_usage(error, "%s requires a size, not '%s'", option, text);
	error_remedy(error, "give one from %" PRIu64 "M to %" PRIu64 "M, as in %s 64M", least >> 20,
		     most >> 20, option);
	return code;
}

int parse_frequency(const char *option, const char *text, uint64_t *hz, struct error *error)
{
	int code = parse_number(option, text, 1, MAX_FREQUENCY_HZ, hz, error);
	if (code && *hz > MAX_FREQUENCY_HZ)
		error_remedy(error,
			     "maximum is %d samples per second; for more, give a count (-c COUNT)",
			     MAX_FREQUENCY_HZ);
	return code;
}

int parse_ring_pages(const char *option, const char *text, uint32_t *pages, struct error *error)
{
	uint64_t value = 0;
	int code = parse_number(option, text, 1, MAX_RING_PAGES, &value, error);
	if (code)
		return code;
	if (value & (value - 1)) {
		uint64_t below = 1;
		while (below * 2 < value)
			below *= 2;
		code = error_usage(error, "%s %s is not a power of two", option, text);
		error_remedy(error, "use %" PRIu64 " or %" PRIu64, below, below * 2);
		return code;
	}
	*pages = (uint32_t)value;
	return 0;
}

static int parse_dump_bytes(const char *option, const char *text, uint32_t *dump_bytes,
			    struct error *error)
{
	uint64_t bytes = 0;
	if (whole_number(text, &bytes) && bytes && bytes <= MAX_DUMP_BYTES && bytes % 8 == 0) {
		*dump_bytes = (uint32_t)bytes;
		return 0;
	}
	error_usage(error, "%s dwarf,%s: invalid size of a stack copy", option, text);
	return error_remedy(error, "BYTES is a multiple of 8, at most %d, as in %s dwarf,8192",
			    MAX_DUMP_BYTES, option);
}

int parse_call_graph(const char *option, const char *text, enum call_graph *mode,
		     uint32_t *dump_bytes, struct error *error)
{
	static const char with_bytes[] = "dwarf,";
	*dump_bytes = 0;
	if (!strcmp(text, "auto")) {
		*mode = CALL_GRAPH_AUTO;
	} else if (!strcmp(text, "dwarf")) {
		*mode = CALL_GRAPH_DWARF;
	} else if (!strcmp(text, "fp")) {
		*mode = CALL_GRAPH_FP;
	} else if (!strcmp(text, "no")) {
		*mode = CALL_GRAPH_NO;
	} else if (!strncmp(text, with_bytes, strlen(with_bytes))) {
		*mode = CALL_GRAPH_DWARF;
		return parse_dump_bytes(option, text + strlen(with_bytes), dump_bytes, error);
	} else {
		error_usage(error, "invalid call-graph mode '%s'", text);
		return error_remedy(error, "use auto, dwarf, dwarf,BYTES, fp or no");
	}
	return 0;
}

/* Which of the words it is; nr: none. */
static size_t find_word(const char *const *words, size_t nr, const char *text)
{
	size_t i = 0;
	while (i < nr && strcmp(words[i], text) != 0)
		i++;
	return i;
}

int parse_theme(const char *text, enum theme *theme, struct error *error)
{
	static const char *const words[] = {"auto", "dark", "light", "mono"};
	enum { NR = sizeof(words) / sizeof(*words) };
	*theme = (enum theme)find_word(words, NR, text);
	if ((size_t)*theme < NR)
		return 0;
	error_usage(error, "invalid theme '%s'", text);
	return error_remedy(error, "use auto, dark, light or mono");
}

int parse_group(const char *text, enum grouping *grouping, struct error *error)
{
	const char *words[NR_GROUPINGS];
	for (size_t i = 0; i < NR_GROUPINGS; i++)
		words[i] = grouping_name((enum grouping)i);
	*grouping = (enum grouping)find_word(words, NR_GROUPINGS, text);
	if (*grouping < NR_GROUPINGS)
		return 0;
	error_usage(error, "invalid group '%s'", text);
	return error_remedy(error,
			    "use function, inline, line, address, module, thread or process");
}

int parse_time(const char *text, enum time_shown *time, struct error *error)
{
	for (*time = 0; *time < NR_TIMES_SHOWN; ++*time)
		if (!strcmp(time_shown_name(*time), text))
			return 0;
	error_usage(error, "invalid time '%s'", text);
	return error_remedy(error, "use cpu, wait, wall, goroutines or wakeups");
}

int parse_state_frames(const char *text, enum state_frames *state_frames, struct error *error)
{
	static const char *const words[NR_STATE_FRAMES] = {"leaf", "root", "none"};
	*state_frames = (enum state_frames)find_word(words, NR_STATE_FRAMES, text);
	if (*state_frames < NR_STATE_FRAMES)
		return 0;
	error_usage(error, "invalid place for state frames, '%s'", text);
	return error_remedy(error, "use leaf, root or none");
}

static int add_once(struct int32_list *list, int32_t value, struct error *error)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->items[i] == value)
			return 0;
	if (vec_reserve(list, list->nr + 1))
		return error_set(error, -ENOMEM, "out of memory");
	list->items[list->nr++] = value;
	return 0;
}

/* Reads digits at *at and moves past them; false when there are none or the value is past most. */
static bool take_id(const char **at, int32_t most, int32_t *value)
{
	if (!isdigit((unsigned char)**at))
		return false;
	int64_t sum = 0;
	for (; isdigit((unsigned char)**at); ++*at) {
		sum = sum * 10 + (**at - '0');
		if (sum > most)
			return false;
	}
	*value = (int32_t)sum;
	return true;
}

int parse_ids(const char *option, const char *text, int32_t least, struct int32_list *list,
	      struct error *error)
{
	const char *at = text;
	for (;;) {
		int32_t id = 0;
		if (!take_id(&at, MAX_ID, &id) || id < least || (*at && *at != ',')) {
			error_marked(error, text, (size_t)(at - text), "%s requires IDs", option);
			return error_remedy(
				error,
				"give one number, or several separated by commas, as in %s "
				"1234,1235",
				option);
		}
		int code = add_once(list, id, error);
		if (code)
			return code;
		if (!*at)
			return 0;
		at++;
	}
}

int parse_cpus(const char *option, const char *text, struct int32_list *list, struct error *error)
{
	const char *at = text;
	for (;;) {
		int32_t first = 0, last = 0;
		bool good = take_id(&at, MAX_CPU, &first);
		last = first;
		if (good && *at == '-') {
			at++;
			good = take_id(&at, MAX_CPU, &last) && last >= first;
		}
		if (!good || (*at && *at != ',')) {
			error_marked(error, text, (size_t)(at - text), "%s requires a list of CPUs",
				     option);
			return error_remedy(error, "give numbers and ranges, as in %s 0,2-3",
					    option);
		}
		for (int32_t cpu = first; cpu <= last; cpu++) {
			int code = add_once(list, cpu, error);
			if (code)
				return code;
		}
		if (!*at)
			return 0;
		at++;
	}
}

/* Where a path leaves what it is below: at a "..", else NULL. */
static const char *way_out(const char *path)
{
	for (const char *at = path; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
			return at;
	}
	return NULL;
}

int parse_cgroup(const char *option, const char *text, const char **path, struct error *error)
{
	const char *out = way_out(text);
	int code = 0;
	if (!*text)
		code = error_usage(error, "%s requires the path of a cgroup", option);
	else if (out)
		code = error_marked(error, text, (size_t)(out - text),
				    "%s does not accept .. in a path", option);
	else if (strlen(text) >= PATH_MAX)
		code = error_marked(error, text, PATH_MAX - 1, "%s requires a shorter path",
				    option);
	else if (*path && strcmp(*path, text) != 0)
		code = error_usage(error, "two cgroups: %s %.100s and %.100s", option, *path, text);
	*path = text;
	if (code)
		error_remedy(error,
			     "name one as in /proc/PID/cgroup behind 0::, as in %s "
			     "/system.slice/cron.service",
			     option);
	return code;
}

int parse_comm(const char *option, const char *text, const char **comm, struct error *error)
{
	size_t size = strlen(text);
	if (size && size < COMM_MAX) {
		*comm = text;
		return 0;
	}
	int code = size ? error_marked(error, text, COMM_MAX - 1,
				       "%s: the kernel keeps at most %d bytes of a name", option,
				       COMM_MAX - 1)
			: error_usage(error, "%s requires a name", option);
	error_remedy(error, "give it as ps -eL -o comm shows it");
	return code;
}

int parse_user(const char *option, const char *text, uint32_t *uid, struct error *error)
{
	int32_t id = 0;
	const char *at = text;
	if (take_id(&at, MAX_ID, &id) && !*at) {
		*uid = (uint32_t)id;
		return 0;
	}
	const struct passwd *user = getpwnam(text);
	if (user) {
		*uid = user->pw_uid;
		return 0;
	}
	int code = isdigit((unsigned char)text[0])
			   ? error_marked(error, text, (size_t)(at - text), "%s requires a user",
					  option)
			   : error_usage(error, "%s: there is no user '%s'", option, text);
	error_remedy(error, "give a number, or a name as in /etc/passwd: %s 1000", option);
	return code;
}

/*
 * Bytes of the event at text: up to a comma, or the brace that ends its group. Between two slashes are terms, whose commas are
 * their own; of probes and breakpoints slashes are a path's, or stand before a length. A uprobe's function may have parameters,
 * and those of templates.
 */
static size_t event_size(const char *text, bool in_group)
{
	bool between_slashes = false;
	size_t size = 0, depth = 0;
	const bool is_probe = !strncmp(text, "uprobe:", strlen("uprobe:")) ||
			      !strncmp(text, "uretprobe:", strlen("uretprobe:"));
	const bool has_terms = !is_probe && strncmp(text, "mem:", strlen("mem:")) != 0;
	for (; text[size]; size++) {
		depth += is_probe && (text[size] == '(' || text[size] == '<');
		depth -= depth && (text[size] == ')' || text[size] == '>');
		if (depth)
			continue;
		if (text[size] == '/' && has_terms)
			between_slashes = !between_slashes;
		else if (!between_slashes && (text[size] == ',' || (in_group && text[size] == '}')))
			break;
	}
	return size;
}

static int bad_list(const char *text, size_t at, const char *what, struct error *error)
{
	error_marked(error, text, at, "%s", what);
	return error_remedy(error,
			    "events are separated by commas, and counted together between braces, "
			    "as in cycles,page-faults or {cycles,instructions}:u");
}

/* What was typed may stand for several events. */
static int add_events(const char *text, size_t size, struct options *options, uint8_t group,
		      struct error *error)
{
	const size_t room = SAMPLER_MAX_EVENTS - options->nr_events;
	size_t nr = 0;
	if (!room) {
		error_usage(error, "more than %d events", SAMPLER_MAX_EVENTS);
		return error_remedy(error, "sample fewer events at once");
	}
	struct event *events = &options->events[options->nr_events];
	int result = event_parse_all(text, size, events, room, &nr, error);
	for (size_t i = 0; !result && i < nr; i++)
		events[i].group = group;
	options->nr_events += result ? 0 : nr;
	return result;
}

int options_add_event(const char *text, struct options *options, struct error *error)
{
	return add_events(text, strlen(text), options, 0, error);
}

/* Behind a group's brace, ":letters" goes for all of its events. *at moves to what follows. */
static int end_group(const char *text, size_t *at, struct options *options, uint8_t group,
		     struct error *error)
{
	if (text[*at] != ':')
		return 0;
	size_t nr = strcspn(text + *at + 1, ",");
	for (size_t i = 0; i < options->nr_events; i++) {
		if (options->events[i].group != group)
			continue;
		int bad = event_add_modifiers(&options->events[i], text + *at + 1, nr);
		if (bad >= 0 || !nr)
			return bad_list(text, *at + 1 + (size_t)(bad < 0 ? 0 : bad),
					"bad modifiers", error);
	}
	*at += 1 + nr;
	return 0;
}

int parse_events(const char *option, const char *text, struct options *options, struct error *error)
{
	uint8_t group = 0; /* by its first event, from 1; 0: none */
	for (size_t at = 0;; at++) {
		if (!group && text[at] == '{') {
			group = (uint8_t)(options->nr_events + 1);
			at++;
		}
		size_t size = event_size(text + at, group);
		if (!size) {
			error_marked(error, text, at, "%s has an empty event", option);
			return error_remedy(error, "name an event, as in %s cycles", option);
		}
		int code = add_events(text + at, size, options, group, error);
		if (code)
			return code;
		at += size;
		if (group && text[at] == '}') {
			at++;
			code = end_group(text, &at, options, group, error);
			if (code)
				return code;
			group = 0;
		}
		if (!text[at])
			return group ? bad_list(text, at, "a } is missing", error) : 0;
		if (text[at] != ',')
			return bad_list(text, at, "a comma is missing", error);
	}
}

int parse_trace_filter(const char *option, const char *text, struct options *options,
		       struct error *error)
{
	if (!options->nr_events) {
		error_usage(error, "%s applies to the events before it, and there are none",
			    option);
		return error_remedy(error, "as in -e sched:sched_switch %s 'prev_prio < 120'",
				    option);
	}
	int result = 0;
	for (size_t i = options->first_filtered; !result && i < options->nr_events; i++)
		result = event_set_filter(&options->events[i], text, error);
	return result;
}

int parse_label(const char *option, const char *text, struct options *options, struct error *error)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const size_t size = strspn(text, letters);
	if (!size || size >= LABEL_KEY_MAX || text[size] != '=' || !text[size + 1] ||
	    strlen(text) >= LABEL_MAX) {
		error_usage(error, "%s: invalid label '%s'", option, text);
		return error_remedy(
			error,
			"write KEY=VALUE, as in env=test; KEY has up to %d letters, digits, "
			"-, _ and ., both together up to %d bytes",
			LABEL_KEY_MAX - 1, LABEL_MAX - 1);
	}
	if (options->nr_labels == OPTIONS_LABELS_MAX) {
		error_usage(error, "too many labels");
		return error_remedy(error, "give at most %d", OPTIONS_LABELS_MAX);
	}
	options->labels[options->nr_labels++] = text;
	return 0;
}

int parse_source_dir(const char *option, const char *text, struct options *options,
		     struct error *error)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text || !equals[1]) {
		error_usage(error, "%s: '%s' says not which directory is where", option, text);
		return error_remedy(error, "write OLD=NEW, as in /build/app=$HOME/src/app");
	}
	if (options->nr_source_dirs == OPTIONS_SOURCE_DIRS_MAX) {
		error_usage(error, "too many source directories");
		return error_remedy(error, "give at most %d", OPTIONS_SOURCE_DIRS_MAX);
	}
	options->source_dirs[options->nr_source_dirs++] = text;
	return 0;
}

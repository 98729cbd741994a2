/* SPDX-License-Identifier: MIT */
#include <ctop/perf/pmu.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what sysfs says ---- */

/* A counter's, an event's or a term's name: nothing that leads out of its directory. */
static size_t word_size(const char *text)
{
	size_t size = 0;
	while (isalnum((unsigned char)text[size]) || (text[size] && strchr("_-.", text[size])))
		size++;
	return text[0] == '.' ? 0 : size;
}

static bool is_word(const char *text)
{
	size_t size = word_size(text);
	return size && !text[size];
}

/* The first line of devices/pmu/directory/file. 0 or -errno. */
static int read_line(const char *devices, const char *pmu, const char *directory, const char *file,
		     char *line, size_t size)
{
	char path[PATH_MAX];
	if (!is_word(pmu) || !is_word(file))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s%s%s/%s", devices, pmu, *directory ? "/" : "", directory,
		 file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, line, size - 1);
	int error = errno;
	close(fd);
	if (got < 0)
		return -error;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

int pmu_type(const char *devices, const char *name)
{
	char line[32], *end;
	int result = read_line(devices, name, "", "type", line, sizeof(line));
	if (result)
		return result;
	long type = strtol(line, &end, 10);
	return end == line || *end || type < 0 || type > INT_MAX ? -EINVAL : (int)type;
}

/* "0-7,32-35" as a mask; 0 when it is not one. */
static uint64_t parse_bits(const char *text)
{
	uint64_t mask = 0;
	for (;;) {
		char *end;
		if (!isdigit((unsigned char)*text))
			return 0;
		unsigned long first = strtoul(text, &end, 10), last = first;
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (first > last || last > 63)
			return 0;
		for (unsigned long bit = first; bit <= last; bit++)
			mask |= UINT64_C(1) << bit;
		if (!*end)
			return mask;
		if (*end != ',')
			return 0;
		text = end + 1;
	}
}

/* "config", "config1", "config2": which, and how long the word is; 0 when it is none. */
static size_t parse_config(const char *text, unsigned *which)
{
	static const char config[] = "config";
	size_t size = strlen(config);
	if (strncmp(text, config, size) != 0)
		return 0;
	*which = text[size] == '1' ? 1 : text[size] == '2' ? 2 : 0;
	return *which ? size + 1 : size;
}

int pmu_term(const char *devices, const char *name, const char *term, struct pmu_bits *bits)
{
	char line[256];
	/* Whole words need no description. */
	size_t whole = parse_config(term, &bits->which);
	if (whole && !term[whole]) {
		bits->mask = UINT64_MAX;
		return 0;
	}
	int result = read_line(devices, name, "format", term, line, sizeof(line));
	if (result)
		return result;
	size_t size = parse_config(line, &bits->which);
	if (!size || line[size] != ':')
		return -ENOTSUP;
	bits->mask = parse_bits(line + size + 1);
	return bits->mask ? 0 : -ENOTSUP;
}

/* ---- terms ---- */

struct terms {
	const char *devices, *pmu;
	struct event *event;
	struct error *error;
	bool in_event; /* of an event of sysfs: it stands for no further one */
};

/* The value's bits, spread over the mask's; false when there are more. */
static bool spread(uint64_t value, uint64_t mask, uint64_t *bits)
{
	*bits = 0;
	for (unsigned i = 0; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		*bits |= (value & 1) << i;
		value >>= 1;
	}
	return value == 0;
}

static bool parse_value(const char *text, uint64_t *value)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	if (is_hex && !isxdigit((unsigned char)text[2]))
		return false;
	*value = strtoull(text, &end, is_hex ? 16 : 10);
	return !errno && !*end;
}

/* What a counter knows by name, for a remedy. */
static void list_directory(const struct terms *terms, const char *directory, char *list,
			   size_t size)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s/%s", terms->devices, terms->pmu, directory);
	DIR *dir = opendir(path);
	size_t used = strlen(list);
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.' || strchr(entry->d_name, '.'))
			continue;
		int added =
			snprintf(list + used, size - used, "%s%s", used ? ", " : "", entry->d_name);
		if (added < 0 || (size_t)added >= size - used) {
			list[used] = '\0';
			break;
		}
		used += (size_t)added;
	}
	if (dir)
		closedir(dir);
}

/* at: of what is wrong, in the event as typed; an event of sysfs is wrong as a whole. */
static int unknown_term(const struct terms *terms, const char *term, size_t at)
{
	char known[320] = "";
	if (!terms->pmu[0]) {
		error_marked(terms->error, terms->event->asked, at, "unknown term '%.64s'", term);
		return error_remedy(terms->error, "there are period, freq and name");
	}
	int code = error_marked(terms->error, terms->event->asked, at, "'%s' has no term '%.64s'",
				terms->pmu, term);
	list_directory(terms, "events", known, sizeof(known));
	list_directory(terms, "format", known, sizeof(known));
	error_remedy(terms->error, "it has: %s%sconfig, config1, config2, period, freq, name",
		     known, known[0] ? ", " : "");
	return code;
}

static int bad_value(const struct terms *terms, const char *term, size_t at, const char *why)
{
	error_marked(terms->error, terms->event->asked, at, "%s for term '%.64s'", why, term);
	return error_remedy(terms->error, "a value is a number as in %.64s=0x3c or %.64s=60", term,
			    term);
}

static int set_term(const struct terms *terms, const char *term, const char *value,
		    const struct pmu_bits *bits, size_t at)
{
	uint64_t number = 1, filled;
	if (value && !parse_value(value, &number))
		return bad_value(terms, term, at, "no number");
	if (!spread(number, bits->mask, &filled))
		return bad_value(terms, term, at, "too large a number");
	uint64_t *config = bits->which == 0   ? &terms->event->config
			   : bits->which == 1 ? &terms->event->config1
					      : &terms->event->config2;
	*config = (*config & ~bits->mask) | filled;
	return 0;
}

static int take_terms(const struct terms *terms, char *text, size_t at);

/* An event with a name: its terms. 1: there is none of that name. */
static int take_event(const struct terms *terms, const char *name, size_t at)
{
	char line[1024];
	if (terms->in_event || !terms->pmu[0] || strchr(name, '.') ||
	    read_line(terms->devices, terms->pmu, "events", name, line, sizeof(line)))
		return 1;
	struct terms inner = *terms;
	inner.in_event = true;
	return take_terms(&inner, line, at);
}

/* Not of what is counted but of how often it is sampled, as perf has it. */
static int take_rate(const struct terms *terms, const char *term, const char *value, size_t at)
{
	uint64_t number;
	if (!parse_value(value, &number))
		return bad_value(terms, term, at, "no number");
	if (!number || number > INT64_MAX)
		return bad_value(terms, term, at, number ? "too large a number" : "nothing");
	const bool is_period = term[0] == 'p';
	terms->event->period = is_period ? number : 0;
	terms->event->frequency_hz = is_period ? 0 : number;
	return 0;
}

static int take_term(const struct terms *terms, char *term, size_t at)
{
	char *value = strchr(term, '=');
	if (value)
		*value++ = '\0';
	size_t value_at = terms->in_event || !value ? at : at + strlen(term) + 1;
	if (!*term)
		return unknown_term(terms, term, at);
	if (!value) {
		int result = take_event(terms, term, at);
		if (result <= 0)
			return result;
	} else if (!strcmp(term, "name")) {
		if (!*value)
			return bad_value(terms, term, value_at, "nothing");
		snprintf(terms->event->name, sizeof(terms->event->name), "%s", value);
		return 0;
	}
	struct pmu_bits bits;
	const bool is_known = terms->pmu[0] && !pmu_term(terms->devices, terms->pmu, term, &bits);
	const bool is_rate = !strcmp(term, "period") || !strcmp(term, "freq");
	if (!is_known && is_rate && value && !terms->in_event)
		return take_rate(terms, term, value, value_at);
	if (!is_known)
		return unknown_term(terms, term, at);
	return set_term(terms, term, value, &bits, value_at);
}

/* at: where the text stands in the event as typed. */
static int take_terms(const struct terms *terms, char *text, size_t at)
{
	for (;;) {
		size_t size = strcspn(text, ",");
		bool is_last = !text[size];
		text[size] = '\0';
		int result = take_term(terms, text, at);
		if (result || is_last)
			return result;
		text += size + 1;
		at += terms->in_event ? 0 : size + 1;
	}
}

/* ---- the whole ---- */

static int no_such_pmu(const char *devices, const char *name, struct event *event,
		       struct error *error)
{
	const struct terms top = {.devices = devices, .pmu = "."};
	char known[256] = "";
	int code = error_marked(error, event->asked, 0, "this machine has no PMU '%.64s'", name);
	list_directory(&top, ".", known, sizeof(known));
	error_remedy(error, "it has: %s", known[0] ? known : "none listed in sysfs");
	return code;
}

static int take_modifiers(struct event *event, size_t at, struct error *error)
{
	const char *letters = event->asked + at;
	size_t nr = strlen(letters);
	bool has_colon = *letters == ':';
	int bad = event_add_modifiers(event, letters + has_colon, nr - has_colon);
	if (bad < 0 && !(has_colon && nr == 1))
		return 0;
	error_marked(error, event->asked, at + has_colon + (size_t)(bad < 0 ? 0 : bad),
		     "bad modifiers");
	return error_remedy(
		error,
		"modifiers are u (user code), k (kernel), h (hypervisor), H (no guests), P "
		"(most precise) and up to three p, as in %s/.../u",
		"cpu");
}

int pmu_parse_terms(struct event *event, struct error *error)
{
	char text[EVENT_TEXT_BYTES];
	const char *asked = event->asked, *slash = strchr(asked, '/'), *last = strrchr(asked, '/');
	if (last == slash) {
		error_marked(error, asked, strlen(asked), "a second / is missing");
		return error_remedy(error, "terms stand between two, as in cycles/period=100000/");
	}
	snprintf(text, sizeof(text), "%.*s", (int)(last - slash - 1), slash + 1);
	snprintf(event->name, sizeof(event->name), "%.*s", (int)(slash - asked), asked);
	const struct terms terms = {.devices = "", .pmu = "", .event = event, .error = error};
	int result = take_terms(&terms, text, (size_t)(slash + 1 - asked));
	return result ? result : take_modifiers(event, (size_t)(last + 1 - asked), error);
}

int pmu_parse(const char *devices, struct event *event, struct error *error)
{
	char pmu[NAME_MAX + 1], text[EVENT_TEXT_BYTES];
	const char *asked = event->asked, *slash = strchr(asked, '/'), *last = strrchr(asked, '/');
	size_t pmu_size = slash ? (size_t)(slash - asked) : strlen(asked);
	if (!pmu_size || word_size(asked) != pmu_size) {
		error_marked(error, asked, pmu_size ? word_size(asked) : 0, "no name of a PMU");
		return error_remedy(error, "an event of one is written as in cpu/event=0x3c/");
	}
	if (!slash || last == slash) {
		error_marked(error, asked, strlen(asked), "a second / is missing");
		return error_remedy(error, "an event of a PMU is written as in cpu/event=0x3c/");
	}
	snprintf(pmu, sizeof(pmu), "%.*s", (int)pmu_size, asked);
	int type = pmu_type(devices, pmu);
	if (type < 0)
		return no_such_pmu(devices, pmu, event, error);
	event->type = (uint32_t)type;
	snprintf(event->name, sizeof(event->name), "%.*s", (int)(last + 1 - asked), asked);
	snprintf(text, sizeof(text), "%.*s", (int)(last - slash - 1), slash + 1);
	const struct terms terms = {.devices = devices, .pmu = pmu, .event = event, .error = error};
	int result = take_terms(&terms, text, pmu_size + 1);
	return result ? result : take_modifiers(event, (size_t)(last + 1 - asked), error);
}

static void tell_events(const char *devices, const char *pmu,
			void (*event)(void *context, const char *name), void *context)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s/events", devices, pmu);
	DIR *dir = opendir(path);
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		char name[2 * sizeof(entry->d_name) + 3];
		/* NAME.scale and NAME.unit are about NAME. */
		if (strchr(entry->d_name, '.'))
			continue;
		snprintf(name, sizeof(name), "%s/%s/", pmu, entry->d_name);
		event(context, name);
	}
	if (dir)
		closedir(dir);
}

int pmu_each_event(const char *devices, void (*event)(void *context, const char *name),
		   void *context)
{
	DIR *dir = opendir(devices);
	if (!dir)
		return -errno;
	for (const struct dirent *entry; (entry = readdir(dir));)
		if (is_word(entry->d_name))
			tell_events(devices, entry->d_name, event, context);
	closedir(dir);
	return 0;
}

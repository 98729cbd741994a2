/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ctop/perf/pmu.h>

/*
 * KIND:PLACE with KIND uprobe and PLACE file:function, file:function+offset or file+offset, file a path or the name of a
 * library or program, function as in the symbol table or as C++ and Rust have it; KIND kprobe and
 * PLACE function or function+offset. uretprobe and kretprobe hit where the function returns.
 */
static const struct probe_kind {
	const char *prefix, *pmu;
	bool in_user, at_return;
	const char *example;
} probe_kinds[] = {
	{"uprobe:", "uprobe", true, false, "uprobe:/bin/bash:readline"},
	{"uretprobe:", "uprobe", true, true, "uretprobe:/bin/bash:readline"},
	{"kprobe:", "kprobe", false, false, "kprobe:vfs_read"},
	{"kretprobe:", "kprobe", false, true, "kretprobe:vfs_read"},
};
enum { NR_PROBE_KINDS = sizeof(probe_kinds) / sizeof(probe_kinds[0]) };

static const struct probe_kind *find_kind(const char *text)
{
	for (size_t i = 0; i < NR_PROBE_KINDS; i++)
		if (!strncmp(text, probe_kinds[i].prefix, strlen(probe_kinds[i].prefix)))
			return &probe_kinds[i];
	return NULL;
}

bool probe_is(const char *text)
{
	return find_kind(text) != NULL;
}

static int malformed(const struct probe_kind *kind, const struct event *event, size_t at,
		     const char *what, struct error *error)
{
	error_marked(error, event->asked, at, "%s", what);
	return error_remedy(error, "write it as in %s%s", kind->example,
			    kind->in_user ? " or uprobe:/bin/bash+0x4f310 (an offset in the file)"
					  : "");
}

/* A colon that is no half of a "::". */
static char *next_colon(char *text)
{
	for (char *at = text; (at = strchr(at, ':')); at += strspn(at, ":"))
		if (at[1] != ':')
			return at;
	return NULL;
}

static bool is_file(const char *text, size_t size)
{
	char path[EVENT_TEXT_BYTES];
	struct stat status;
	snprintf(path, sizeof(path), "%.*s", (int)size, text);
	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/*
 * The colon between a file and its function: a path may have colons, too, and a function has them in pairs. The first one
 * behind a file that there is, else behind the last of the directories. NULL: there is no function.
 */
static char *end_of_file(char *place)
{
	char *colon = next_colon(place);
	for (; colon; colon = next_colon(colon + 1))
		if (is_file(place, (size_t)(colon - place)))
			return colon;
	const size_t before_parameters = strcspn(place, "(");
	char *name = memrchr(place, '/', before_parameters);
	return next_colon(name ? name : place);
}

/* Whether a plus and a number are the end of a text. */
static bool ends_with_offset(const char *text, size_t size)
{
	const char *plus = memrchr(text, '+', size);
	return plus && plus + 1 < text + size && isdigit((unsigned char)plus[1]) &&
	       plus + 1 + strspn(plus + 1, "0123456789abcdefABCDEFxX") == text + size;
}

/*
 * Where the colon of ":letters" is; NULL: there are none. Behind a file and its function, or behind a file and an offset;
 * a function may be called as modifiers are.
 */
static char *find_modifiers(const struct probe_kind *kind, char *place)
{
	char *first = kind->in_user ? end_of_file(place) : NULL;
	if (!kind->in_user)
		return strrchr(place, ':');
	if (!first || ends_with_offset(place, (size_t)(first - place)))
		return first;
	char *last = NULL;
	for (char *colon = first; (colon = next_colon(colon + 1));)
		last = colon;
	return last;
}

static int take_modifiers(const struct probe_kind *kind, struct event *event, struct error *error)
{
	char *place = event->name + strlen(kind->prefix);
	char *colon = find_modifiers(kind, place);
	if (!colon)
		return 0;
	size_t nr = strlen(colon + 1);
	int bad = event_add_modifiers(event, colon + 1, nr);
	if (bad >= 0 || !nr)
		return malformed(kind, event,
				 (size_t)(colon + 1 - event->name) + (size_t)(bad < 0 ? 0 : bad),
				 "bad modifiers", error);
	*colon = '\0';
	return 0;
}

/* Takes "+number" off the end; a plus of the name has none behind it. False: the number is too large. */
static bool take_offset(char *place, uint64_t *offset, bool *is_given)
{
	char *plus = strrchr(place, '+'), *end;
	*offset = 0;
	*is_given = plus && isdigit((unsigned char)plus[1]);
	if (!*is_given)
		return true;
	errno = 0;
	bool is_hex = plus[1] == '0' && (plus[2] == 'x' || plus[2] == 'X');
	*offset = strtoull(plus + 1, &end, is_hex ? 16 : 10);
	if (*end) {
		*is_given = false;
		return true;
	}
	*plus = '\0';
	return !errno;
}

static int parse_place(const struct probe_kind *kind, struct event *event, struct error *error)
{
	char place[EVENT_TEXT_BYTES];
	size_t at = strlen(kind->prefix);
	bool has_offset;
	snprintf(place, sizeof(place), "%s", event->name + at);
	if (!take_offset(place, &event->config2, &has_offset) || event->config2 > INT64_MAX)
		return malformed(kind, event, at + strlen(place), "too large an offset", error);
	if (!kind->in_user) {
		size_t size = strspn(place, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789_.$");
		if (!size || place[size])
			return malformed(kind, event, at + size, "no function of the kernel",
					 error);
		snprintf(event->probe, sizeof(event->probe), "%s", place);
		return 0;
	}
	char *colon = end_of_file(place);
	if (!place[0] || colon == place)
		return malformed(kind, event, at, "a file is missing", error);
	if (colon)
		*colon = '\0';
	if (colon ? !colon[1] : !has_offset)
		return malformed(kind, event, strlen(event->asked),
				 "a function or an offset is missing", error);
	/* The kernel looks the path up later, and others may read it elsewhere. */
	char *whole = strchr(place, '/') ? realpath(place, NULL) : NULL;
	const bool fits = whole && strlen(whole) < sizeof(event->probe);
	snprintf(event->probe, sizeof(event->probe), "%s", fits && place[0] != '/' ? whole : place);
	free(whole);
	if (colon)
		snprintf(event->function, sizeof(event->function), "%s", colon + 1);
	return 0;
}

static int find_pmu(const struct probe_kind *kind, struct event *event, struct error *error)
{
	struct pmu_bits bits;
	int type = pmu_type(PMU_DEVICES, kind->pmu);
	if (type < 0) {
		error_set(error, -ENODEV, "this kernel has no %ss", kind->pmu);
		return error_remedy(error, "it needs CONFIG_%s_EVENTS (Linux 4.17 or later)",
				    kind->in_user ? "UPROBE" : "KPROBE");
	}
	event->type = (uint32_t)type;
	if (kind->at_return && !pmu_term(PMU_DEVICES, kind->pmu, "retprobe", &bits))
		event->config = bits.mask;
	return 0;
}

int probe_parse(struct event *event, struct error *error)
{
	const struct probe_kind *kind = find_kind(event->asked);
	assert(kind); /* probe_is() said so */
	int result = take_modifiers(kind, event, error);
	if (!result)
		result = parse_place(kind, event, error);
	event->happens_in_user = kind->in_user;
	event->happens_in_kernel = !kind->in_user;
	return result ? result : find_pmu(kind, event, error);
}

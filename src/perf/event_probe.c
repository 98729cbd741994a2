/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/perf/pmu.h>

/*
 * KIND:PLACE with KIND uprobe and PLACE /file:function, /file:function+offset or /file+offset; KIND kprobe and
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
	int code = error_marked(error, event->asked, at, "%s", what);
	error_remedy(error, "write it as in %s%s", kind->example,
		     kind->in_user ? " or uprobe:/bin/bash+0x4f310 (an offset in the file)" : "");
	return code;
}

/*
 * Takes ":letters" off the end. A file's name and a function come first: with fewer colons in front of it the
 * last word is the function, whatever its letters.
 */
static int take_modifiers(const struct probe_kind *kind, struct event *event, struct error *error)
{
	char *place = event->name + strlen(kind->prefix), *colon = strrchr(place, ':');
	if (!colon)
		return 0;
	bool is_behind = !kind->in_user || memchr(place, ':', (size_t)(colon - place)) ||
			 memchr(place, '+', (size_t)(colon - place));
	size_t nr = strlen(colon + 1);
	if (kind->in_user && (!is_behind || !nr || strspn(colon + 1, "ukhp") != nr))
		return 0;
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
	if (place[0] != '/')
		return malformed(kind, event, at, "a file's path, beginning with /, is missing",
				 error);
	char *colon = strrchr(place, ':');
	if (colon && strchr(colon, '/'))
		colon = NULL; /* of a folder's name */
	if (colon)
		*colon = '\0';
	if (colon ? !colon[1] : !has_offset)
		return malformed(kind, event, strlen(event->asked),
				 "a function or an offset is missing", error);
	snprintf(event->probe, sizeof(event->probe), "%s", place);
	if (colon)
		snprintf(event->function, sizeof(event->function), "%s", colon + 1);
	return 0;
}

static int find_pmu(const struct probe_kind *kind, struct event *event, struct error *error)
{
	struct pmu_bits bits;
	int type = pmu_type(PMU_DEVICES, kind->pmu);
	if (type < 0) {
		int code = error_set(error, -ENODEV, "this kernel has no %ss", kind->pmu);
		error_remedy(error, "it needs CONFIG_%s_EVENTS (Linux 4.17 or later)",
			     kind->in_user ? "UPROBE" : "KPROBE");
		return code;
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

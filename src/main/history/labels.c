/* SPDX-License-Identifier: MIT */
/*
 * Labels of runs: what a user said of a run when recording it, as facts "label.KEY". A recording that was merged from several has those
 * of its sources, "source.N.label.KEY", and says in each epoch, before its samples, which source they are of: "source". Machines are numbered in "machine":
 * addresses of one kernel mean nothing in another, and files without a build-id may be any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { KEY_MAX = HISTORY_LABEL_MAX + 48 };

/* What a run has for "KEY=..."; the name of its machine, where it has no label "host". NULL: nothing. */
static const char *label_of(const struct history *history, const char *prefix, const char *wanted,
			    int size)
{
	char key[KEY_MAX];
	snprintf(key, sizeof(key), "%slabel.%.*s", prefix, size, wanted);
	const char *value = history_info(history, key);
	if (value || size != 4 || strncmp(wanted, "host", 4) != 0)
		return value;
	snprintf(key, sizeof(key), "%shostname", prefix);
	return history_info(history, key);
}

static bool labels_pass(const struct history *history)
{
	char prefix[40] = "";
	const char *source = history_info(history, "source");
	if (source)
		snprintf(prefix, sizeof(prefix), "source.%.20s.", source);
	for (size_t i = 0; i < history->filter.nr_labels; i++) {
		const char *wanted = history->filter.labels[i];
		const char *equals = strchr(wanted, '=');
		const char *value =
			equals ? label_of(history, prefix, wanted, (int)(equals - wanted)) : NULL;
		if (!value || strcmp(value, equals + 1) != 0)
			return false;
	}
	return true;
}

/* A file may say anything. */
static uint32_t number_of(const struct history *history, const char *key)
{
	enum { MOST = 1 << 20 };
	const char *text = history_info(history, key);
	const unsigned long number = text ? strtoul(text, NULL, 10) : 0;
	return number < MOST ? (uint32_t)number : 0;
}

void history_follow_run(struct history *history)
{
	const uint32_t machine = number_of(history, "machine");
	history->labels_pass = labels_pass(history);
	history->run = number_of(history, "source");
	history->machine = machine > 1 ? (int32_t)machine : 0;
}

/* ---- all labels ---- */

struct listing {
	const struct history *history;
	int (*each)(void *context, uint32_t run, const char *key, const char *value);
	void *context;
};

static int list_label(void *context, const char *key, const char *value)
{
	static const char source[] = "source.", label[] = "label.", host[] = "hostname";
	const struct listing *listing = context;
	char *rest = NULL, own[KEY_MAX];
	unsigned long run = 0;
	if (!strncmp(key, source, sizeof(source) - 1)) {
		run = strtoul(key + sizeof(source) - 1, &rest, 10);
		key = *rest == '.' ? rest + 1 : "";
	}
	if (!strncmp(key, label, sizeof(label) - 1))
		return listing->each(listing->context, (uint32_t)run, key + sizeof(label) - 1,
				     value);
	if (!run || strcmp(key, host) != 0)
		return 0;
	snprintf(own, sizeof(own), "source.%lu.label.host", run);
	return history_info(listing->history, own)
		       ? 0
		       : listing->each(listing->context, (uint32_t)run, "host", value);
}

int history_each_label(const struct history *history,
		       int (*each)(void *context, uint32_t run, const char *key, const char *value),
		       void *context)
{
	struct listing listing = {history, each, context};
	return history_each_info(history, list_label, &listing);
}

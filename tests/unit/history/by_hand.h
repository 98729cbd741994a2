/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PROFILE_BY_HAND_H
#define CTOP_TEST_PROFILE_BY_HAND_H

/* What a selection shows of a random profile, asked of every single sample. */

#include "random_profile.h"

/* A sample as it is shown: functions by the names they have now, below what ended the stack. */
struct shown {
	int nr;
	int keys[DEPTH_MOST + 1];
};

static inline int end_key(enum stack_end end)
{
	return end == STACK_TRUNCATED  ? TRUNCATED
	       : end == STACK_BROKEN   ? BROKEN
	       : end == STACK_SWITCHED ? SWITCHED
				       : 0;
}

static inline struct shown shown_whole(const struct profile *profile, const struct raw *raw)
{
	struct shown shown = {0};
	if (end_key(raw->end))
		shown.keys[shown.nr++] = end_key(raw->end);
	for (int i = 0; i < raw->nr; i++)
		shown.keys[shown.nr++] =
			profile->named[raw->functions[i]] ? raw->functions[i] : UNNAMED;
	return shown;
}

static inline const char *key_name(int key)
{
	return key == TRUNCATED	 ? "[truncated]"
	       : key == BROKEN	 ? "[broken]"
	       : key == SWITCHED ? "[switched]"
				 : names[key];
}

static inline int key_of_name(const char *name)
{
	for (int key = SWITCHED; key <= UNNAMED; key++)
		if (!strcmp(key_name(key), name))
			return key;
	printf("# no such name: %s\n", name);
	CHECK(false);
	return 0;
}

static inline int key_of(const struct profile *profile, struct function_id function)
{
	return key_of_name(history_function_name(profile->history, function));
}

/* The path of a SELECTION_SUBTREE, as the test remembers it. */
struct remembered {
	uint64_t id;
	struct shown path;
};
static struct remembered remembered;

static inline bool begins_with(const struct shown *shown, const struct shown *path)
{
	if (shown->nr < path->nr)
		return false;
	for (int i = 0; i < path->nr; i++)
		if (shown->keys[i] != path->keys[i])
			return false;
	return true;
}

static inline bool meets(const struct profile *profile, const struct selection_criterion *criterion,
			 const struct raw *raw, const struct shown *shown)
{
	bool contains = false;
	int leaf = raw->functions[raw->nr - 1];
	switch (criterion->what) {
	case SELECTION_TEXT:
		for (int i = 0; i < shown->nr; i++)
			contains = contains ||
				   (strcmp(criterion->text, "parse") == 0
					    ? strcasestr(key_name(shown->keys[i]), "parse")
					    : strstr(key_name(shown->keys[i]), criterion->text));
		return contains;
	case SELECTION_MODULE:
		return !is_kernel(leaf) == !strcmp(criterion->text, "program");
	case SELECTION_THREAD:
		return tids[raw->task] == criterion->number;
	case SELECTION_PROCESS:
		return pids[raw->task] == criterion->number;
	case SELECTION_PROGRAM: /* tests/unit/query/selection_processes.c */
		return false;
	case SELECTION_EVENT:
		return raw->event == criterion->number;
	case SELECTION_KERNEL:
		return is_kernel(leaf);
	case SELECTION_FUNCTION:
		for (int i = 0; i < shown->nr; i++)
			contains =
				contains || shown->keys[i] == key_of(profile, criterion->function);
		return contains;
	case SELECTION_SUBTREE:
		return begins_with(shown, &remembered.path);
	}
	return false;
}

/* False: the sample is not in the window. *passes: it is shown. */
static inline bool take(const struct profile *profile, size_t i, struct shown *shown, bool *passes)
{
	const struct raw *raw = &profile->raws[i];
	*passes = false;
	if (i < profile->first || i >= profile->nr_seen || raw->second > profile->end ||
	    (profile->seconds && raw->second + profile->seconds <= profile->end))
		return false;
	/* What is of another event than the one asked for is not there at all. */
	for (size_t c = 0; c < profile->nr_criteria; c++)
		if (profile->criteria[c].what == SELECTION_EVENT && !profile->criteria[c].drop &&
		    raw->event != profile->criteria[c].number)
			return false;
	*shown = shown_whole(profile, raw);
	int cut = 0;
	for (size_t c = 0; c < profile->nr_criteria; c++) {
		const struct selection_criterion *criterion = &profile->criteria[c];
		if (meets(profile, criterion, raw, shown) == criterion->drop)
			return true;
		if (criterion->what == SELECTION_SUBTREE && !criterion->drop)
			cut = remembered.path.nr - 1;
	}
	shown->nr -= cut;
	memmove(shown->keys, shown->keys + cut, (size_t)shown->nr * sizeof(int));
	*passes = true;
	return true;
}

static inline bool contains(const struct shown *shown, int key)
{
	for (int i = 0; i < shown->nr; i++)
		if (shown->keys[i] == key)
			return true;
	return false;
}

#endif

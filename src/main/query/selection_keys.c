/* SPDX-License-Identifier: MIT */
/* What paths are made of: functions of the history, and labels. By name they meet criteria of the filter, each on its own. */
#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* ---- names ---- */

const char *selection_key_label(uint32_t key)
{
	static const char *const labels[NR_LABELS] = {
		[KEY_ALL] = "[all]",
		[KEY_SWITCHED] = "[switched]",
		[KEY_TRUNCATED] = "[truncated]",
		[KEY_BROKEN] = "[broken]",
		[KEY_PROCESS] = "[process]",
	};
	return key < NR_LABELS ? labels[key] : NULL;
}

const char *selection_key_name(const struct selection *selection, uint32_t key)
{
	const char *label = selection_key_label(key);
	return label ? label : history_function_name(selection->history, function_of_key(key));
}

int selection_compare_keys(const struct selection *selection, uint32_t a, uint32_t b)
{
	int order = strcmp(selection_key_name(selection, a), selection_key_name(selection, b));
	if (!order)
		order = history_compare_functions(selection->history, function_of_key(a),
						  function_of_key(b));
	return order ? order : (a > b) - (a < b);
}

uint32_t selection_end_key(uint32_t end)
{
	switch (end) {
	case STACK_SWITCHED:
		return KEY_SWITCHED;
	case STACK_TRUNCATED:
		return KEY_TRUNCATED;
	case STACK_BROKEN:
		return KEY_BROKEN;
	default:
		return KEY_ALL;
	}
}

/* ---- which criteria their names meet ---- */

static bool has_capitals(const char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			return true;
	return false;
}

static bool key_meets(const struct selection *selection, const struct selection_criterion *asked,
		      uint32_t key)
{
	if (key == KEY_ALL || key == KEY_PROCESS)
		return false;
	const char *name = selection_key_name(selection, key);
	if (asked->what == SELECTION_TEXT)
		return (has_capitals(asked->text) ? strstr(name, asked->text)
						  : strcasestr(name, asked->text)) != NULL;
	return asked->what == SELECTION_FUNCTION && key >= NR_LABELS &&
	       function_of_key(key).index == asked->function.index;
}

bool selection_key_has(const struct selection *selection, uint32_t key, const char *text)
{
	const struct selection_criterion asked = {.what = SELECTION_TEXT, .text = text};
	return key_meets(selection, &asked, key);
}

uint32_t selection_key_hits(const struct selection *selection, uint32_t key)
{
	uint32_t hits = 0;
	for (size_t i = 0; i < selection->nr_criteria; i++)
		if (key_meets(selection, &selection->criteria[i].asked, key))
			hits |= UINT32_C(1) << i;
	return hits;
}

int selection_add_keys(struct selection *selection, uint32_t key)
{
	if (vec_reserve(&selection->keys, (size_t)key + 1))
		return -ENOMEM;
	for (; selection->keys.nr <= key; selection->keys.nr++)
		selection->keys.items[selection->keys.nr] = (struct key){
			.hits = selection_key_hits(selection, (uint32_t)selection->keys.nr),
		};
	return 0;
}

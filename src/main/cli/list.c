/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/base/vec.h>
#include <ctop/options/suggest.h>
#include <ctop/output/save.h>
#include <ctop/perf/catalog.h>

enum { NAME_COLUMN = 30, STATE_COLUMN = 22 };

static const struct {
	const char *title;
	bool tried; /* one by one; thousands of tracepoints are not */
} groups[NR_EVENT_KINDS] = {
	[EVENT_HARDWARE] = {"hardware", true}, [EVENT_CACHE] = {"cache", true},
	[EVENT_SOFTWARE] = {"software", true}, [EVENT_CLOCK] = {"clocks", true},
	[EVENT_PMU] = {"pmus", true},	       [EVENT_PROBE] = {"probes", true},
	[EVENT_CPU] = {"cpu", false},	       [EVENT_TRACEPOINT] = {"tracepoints", false},
};

struct row {
	char *name, *description;
};

struct rows {
	struct row *items;
	size_t nr, capacity;
};

struct list {
	const char *pattern; /* NULL: everything */
	struct rows rows[NR_EVENT_KINDS];
	struct suggestion suggestion;
	char *nearest;
	int result;
};

/* ---- which ---- */

static bool contains(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

static bool is_wanted(const struct list *list, enum event_kind kind, const char *name)
{
	if (!list->pattern || !strcasecmp(list->pattern, groups[kind].title))
		return true;
	return strpbrk(list->pattern, "*?[") ? fnmatch(list->pattern, name, FNM_CASEFOLD) == 0
					     : contains(name, list->pattern);
}

static void suggest(struct list *list, const char *name)
{
	const char *before = list->suggestion.best;
	suggestion_consider(&list->suggestion, name);
	if (list->suggestion.best == before)
		return;
	free(list->nearest);
	list->suggestion.best = list->nearest = strdup(name);
}

static void add_row(void *context, enum event_kind kind, const char *name, const char *description)
{
	struct list *list = context;
	struct rows *rows = &list->rows[kind];
	if (list->pattern)
		suggest(list, name);
	if (list->result || !is_wanted(list, kind, name))
		return;
	const struct row row = {strdup(name), strdup(description)};
	if (!row.name || !row.description || vec_reserve(rows, rows->nr + 1)) {
		free(row.name);
		free(row.description);
		list->result = -ENOMEM;
		return;
	}
	rows->items[rows->nr++] = row;
}

static int compare_names(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	return strcmp(left->name, right->name);
}

/* ---- whether it can be opened ---- */

static const char *describe_try(int result, bool user_only)
{
	switch (-result) {
	case 0:
		return user_only ? "yes, user code" : "yes";
	case EACCES:
	case EPERM:
		return "no permission";
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "not on this machine";
	case EINVAL:
		return "counts, no samples";
	case EBUSY:
		return "taken by others";
	case ENOSYS:
		return "no perf in this kernel";
	default:
		return strerror(-result);
	}
}

static const char *try_event(const char *name)
{
	struct event event;
	struct error error;
	bool user_only;
	/* Some of sysfs's events want terms that only the user knows. */
	if (event_parse(name, strlen(name), &event, &error))
		return "needs terms";
	int result = catalog_try(&event, &user_only);
	return describe_try(result, user_only);
}

/* ---- the text ---- */

/* A cell of a width; what is longer pushes the next one on. */
static void add_cell(struct text *line, const char *content, size_t width)
{
	size_t before = line->size;
	text_add_safe(line, content);
	do
		text_add(line, " ");
	while (line->size - before < width);
}

static void add_line(struct text *out, struct text *line, uint32_t columns)
{
	const char *string = text_string(line);
	size_t size = strlen(string);
	while (size && string[size - 1] == ' ')
		size--;
	if (columns && text_cols(string) > columns) {
		size_t fits = text_fit(string, columns);
		size = fits < size ? fits : size;
	}
	text_add_bytes(out, string, size);
	text_add(out, "\n");
	text_clear(line);
}

static void add_group(struct text *out, struct text *line, enum event_kind kind,
		      const struct rows *rows, uint32_t columns)
{
	if (!rows->nr)
		return;
	text_add(out, out->size ? "\n" : "");
	text_add(line, groups[kind].title);
	/* What goes for one goes for the others; of the CPU's, the code does not matter. */
	if (!groups[kind].tried)
		text_addf(line, ": %s", try_event(kind == EVENT_CPU ? "r1" : rows->items[0].name));
	add_line(out, line, columns);
	for (size_t i = 0; i < rows->nr; i++) {
		const struct row *row = &rows->items[i];
		text_add(line, "  ");
		add_cell(line, row->name, NAME_COLUMN);
		if (groups[kind].tried)
			add_cell(line, try_event(row->name), STATE_COLUMN);
		text_add_safe(line, row->description);
		add_line(out, line, columns);
	}
}

/* What could not be listed, and what helps. */
static void add_missing(struct text *out, struct text *line, int result, uint32_t columns)
{
	text_add(out, out->size ? "\n" : "");
	text_add(line, groups[EVENT_TRACEPOINT].title);
	add_line(out, line, columns);
	text_addf(line, "  not listed: %s", catalog_tracefs_cause(result));
	add_line(out, line, columns);
	text_addf(line, "  %s", catalog_tracefs_remedy(result));
	add_line(out, line, 0);
}

static int nothing_found(const struct list *list, int tracepoints, struct error *error)
{
	error_set(error, -ENOENT, "no event matches '%s'", list->pattern);
	if (list->suggestion.best)
		error_remedy(error, "did you mean '%s'?", list->suggestion.best);
	else if (tracepoints)
		error_remedy(error, "cannot list tracepoints, %s: %s",
			     catalog_tracefs_cause(tracepoints),
			     catalog_tracefs_remedy(tracepoints));
	else
		error_remedy(error, "'ctop list' shows all; a pattern is a part of a name, a "
				    "group, or has * and ?");
	return -ENOENT;
}

static int print(const struct list *list, int tracepoints, uint32_t columns, struct error *error)
{
	struct text out = {0}, line = {0};
	for (enum event_kind kind = 0; kind < NR_EVENT_KINDS; kind++)
		add_group(&out, &line, kind, &list->rows[kind], columns);
	const char *pattern = list->pattern;
	if (tracepoints && (!pattern || !strcasecmp(pattern, groups[EVENT_TRACEPOINT].title)))
		add_missing(&out, &line, tracepoints, columns);
	int result = out.failed || line.failed ? error_set(error, -ENOMEM, "out of memory")
		     : !out.size	       ? nothing_found(list, tracepoints, error)
					       : save_text(NULL, NULL, &out, -1, error);
	text_release(&out);
	text_release(&line);
	return result;
}

static void release(struct list *list)
{
	for (size_t kind = 0; kind < NR_EVENT_KINDS; kind++) {
		for (size_t i = 0; i < list->rows[kind].nr; i++) {
			free(list->rows[kind].items[i].name);
			free(list->rows[kind].items[i].description);
		}
		free(list->rows[kind].items);
	}
	free(list->nearest);
}

int command_list(const struct options *options, struct error *error)
{
	struct list list = {.pattern = options->pattern,
			    .suggestion = {.word = options->pattern ? options->pattern : ""}};
	const struct catalog_reader reader = {&list, add_row};
	int tracepoints = catalog_read(&reader);
	/* As directories give them: in no order. */
	static const enum event_kind unsorted[] = {EVENT_PMU, EVENT_TRACEPOINT};
	for (size_t i = 0; i < sizeof(unsorted) / sizeof(unsorted[0]); i++)
		if (list.rows[unsorted[i]].nr)
			qsort(list.rows[unsorted[i]].items, list.rows[unsorted[i]].nr,
			      sizeof(struct row), compare_names);
	int result = list.result ? error_set(error, list.result, "out of memory")
				 : print(&list, tracepoints, options->columns, error);
	release(&list);
	return result;
}

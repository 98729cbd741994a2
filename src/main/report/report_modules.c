/* SPDX-License-Identifier: MIT */
#include "report_modules.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/report/module_remedy.h>
#include <ctop/report/numbers.h>

/* What hangs below a row stands under where its names come from, a command a little further in. */
enum { REASON_COLS = 16, REMEDY_COLS = 20, SHORT_ID_BYTES = 4, WIDE_COLS = 120 };

struct list {
	struct history *history;
	const struct options *options;
	struct text *out;
	uint64_t whole;
	size_t id_bytes; /* of build-ids, at most */
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_build_id(const struct list *list, const struct module_identity *identity)
{
	const size_t known = identity->build_id_size <= BUILD_ID_MAX ? identity->build_id_size : 0;
	const size_t size = known < list->id_bytes ? known : list->id_bytes;
	text_add_hex(list->out, identity->build_id, size);
	text_addf(list->out, "%*s", 2 * (int)(list->id_bytes - size) + 2, "");
}

static void add_row(const struct list *list, const struct selection_module *row)
{
	const struct history_module_facts facts = history_module(list->history, row->module);
	const char *missing = names_missing_text(facts.names.missing);
	struct text *out = list->out, remedy = {0};
	text_addf(out, "%6.2f  %6.2f  %-14s  ", percent(row->self_weight, list->whole),
		  percent(row->total_weight, list->whole), names_from_name(facts.names.from));
	add_build_id(list, &facts.identity);
	text_add_safe(out, facts.label);
	if (facts.kind == MODULE_ANON)
		text_addf(out, " of process %d", facts.pid);
	text_add(out, "\n");
	if (*missing)
		text_addf(out, "%*s%s\n", REASON_COLS, "", missing);
	module_remedy_add(list->history, row->module, &remedy);
	if (remedy.size)
		text_addf(out, "%*s%s\n", REMEDY_COLS, "", text_string(&remedy));
	out->failed |= remedy.failed;
	text_release(&remedy);
}

int report_modules_add(struct history *history, const struct selection *selection,
		       const struct options *options, uint64_t whole, struct text *out)
{
	const bool is_wide = !options->columns || options->columns >= WIDE_COLS;
	const struct list list = {history, options, out, whole,
				  is_wide ? BUILD_ID_MAX : SHORT_ID_BYTES};
	struct selection_modules modules = {0};
	size_t nr_shown = 0;
	int result = selection_modules(selection, &modules);
	if (!result)
		text_addf(out, " SELF%%  TOTAL%%  NAMES FROM      %-*s  MODULE\n",
			  2 * (int)list.id_bytes, "BUILD-ID");
	for (size_t i = 0; !result && i < modules.nr; i++) {
		const struct selection_module *row = &modules.items[i];
		if (percent(row->total_weight, whole) < options->min_percent ||
		    (options->limit && nr_shown == options->limit))
			continue;
		add_row(&list, row);
		nr_shown++;
	}
	if (!result && nr_shown < modules.nr) {
		text_add(out, "... ");
		add_grouped(out, modules.nr - nr_shown);
		text_addf(out, " more module%s\n", modules.nr - nr_shown == 1 ? "" : "s");
	}
	free(modules.items);
	return result;
}

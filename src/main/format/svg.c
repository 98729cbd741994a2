/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/function_name.h>

#include "pieces.h"

/*
 * A flame graph as a picture, for READMEs and mails: the root at the bottom, each box as wide as its share. No script, no font, no
 * other file. A box says its numbers where the pointer rests on it; modules have colours of their own.
 */

enum {
	WIDTH_PX = 1200,
	ROW_PX = 18,
	HEAD_PX = 56,
	MARGIN_PX = 10,
	BASELINE_PX = 13,
	CHARACTER_TENTH_PX = 72, /* of a monospaced font of 12 px */
	NAMED_FROM_PX = 24,	 /* narrower boxes have no room for a name */
	LEVELS_MOST = 1000,
	BOXES_A_PX = 10, /* narrower ones are left out */
};

struct picture {
	const struct export_request *request;
	struct selection_boxes boxes;
	struct text out, safe;
	uint64_t whole;
	uint32_t levels;
};

/* ---- text ---- */

/* Characters that no XML may have, however they are written: U+FFFE and U+FFFF. */
static bool is_no_character(const char *at)
{
	return !strncmp(at, "\xef\xbf\xbe", 3) || !strncmp(at, "\xef\xbf\xbf", 3);
}

/* Text that is safe to show, as XML has it. */
static void add_escaped(struct text *out, const char *safe)
{
	for (; *safe; safe++) {
		if (*safe == '&')
			text_add(out, "&amp;");
		else if (*safe == '<')
			text_add(out, "&lt;");
		else if (*safe == '>')
			text_add(out, "&gt;");
		else if (*safe == '"')
			text_add(out, "&quot;");
		else if (is_no_character(safe))
			text_addf(out, "\\xef\\xbf\\x%02x", (unsigned char)(safe += 2)[0]);
		else
			text_add_bytes(out, safe, 1);
	}
}

static void add_untrusted(struct picture *picture, const char *untrusted)
{
	text_clear(&picture->safe);
	text_add_safe(&picture->safe, untrusted);
	picture->out.failed |= picture->safe.failed;
	add_escaped(&picture->out, text_string(&picture->safe));
}

static void add_amount(struct picture *picture, uint64_t weight)
{
	const struct history *history = picture->request->history;
	const enum weight_unit unit =
		history_event_unit(history, selection_event(picture->request->selection));
	if (unit == WEIGHT_NS)
		text_addf(&picture->out, "%" PRIu64 ".%06" PRIu64 " ms", weight / 1000000,
			  weight % 1000000);
	else
		text_addf(&picture->out, "%" PRIu64 " %s", weight, weight_unit_name(unit, weight));
}

/* ---- boxes ---- */

static const char *name_of(const struct picture *picture, const struct selection_node *node)
{
	return node->label
		       ? node->label
		       : history_function_marked_name(picture->request->history, node->function);
}

static void add_whole_name(struct picture *picture, const struct selection_node *node)
{
	const struct history *history = picture->request->history;
	if (node->comm) {
		add_untrusted(picture, node->comm);
		text_addf(&picture->out, " [%" PRId32 "]", node->pid);
		return;
	}
	add_untrusted(picture, name_of(picture, node));
	if (node->label)
		return;
	text_add(&picture->out, " (");
	add_untrusted(picture, history_function_module(history, node->function));
	text_add(&picture->out, ")");
}

static void add_short_name(struct picture *picture, const struct selection_node *node, uint32_t px)
{
	const size_t cols = (px - 4) * 10 / CHARACTER_TENTH_PX;
	text_clear(&picture->safe);
	name_add_fit(&picture->safe, node->comm ? node->comm : name_of(picture, node),
		     NAME_NO_ARGUMENTS, cols);
	picture->out.failed |= picture->safe.failed;
	add_escaped(&picture->out, text_string(&picture->safe));
}

/* By the module's path, the same in every picture; the kernel's and that of no function are their own. */
static const char *colour_of(const struct picture *picture, const struct selection_node *node)
{
	static const char *const colours[] = {"#f4b183", "#f7d07a", "#d9e38a", "#a9d9a0",
					      "#9ad6c8", "#9fcbe8", "#b5bdf0", "#d3b3ea",
					      "#eeb0d2", "#f2a6a0", "#d8c3a5", "#c5d3c1"};
	const struct history *history = picture->request->history;
	uint32_t hash = 2166136261; /* FNV-1a */
	if (node->label || node->comm)
		return "#d0d0d0";
	if (history_function_kernel(history, node->function))
		return "#f08c5a";
	for (const char *at = history_function_module(history, node->function); *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	return colours[hash % (sizeof(colours) / sizeof(*colours))];
}

/* In hundredths of a pixel. */
static uint64_t px_of(const struct picture *picture, uint64_t weight)
{
	return (uint64_t)((long double)weight * WIDTH_PX * 100 / (long double)picture->whole);
}

static void add_box(struct picture *picture, const struct selection_box *box)
{
	const struct selection_node *node = &box->node;
	const uint64_t x = px_of(picture, box->at), width = px_of(picture, node->cost.total_weight);
	const uint32_t y = HEAD_PX + (picture->levels - node->depth) * ROW_PX;
	text_add(&picture->out, "<g><title>");
	add_whole_name(picture, node);
	text_add(&picture->out, ": ");
	add_amount(picture, node->cost.total_weight);
	text_addf(&picture->out, ", %.2f%%, %" PRIu64 " sample%s</title>",
		  100 * (double)node->cost.total_weight / (double)picture->whole, node->cost.total,
		  node->cost.total == 1 ? "" : "s");
	text_addf(&picture->out,
		  "<rect x=\"%" PRIu64 ".%02" PRIu64 "\" y=\"%" PRIu32 "\" width=\"%" PRIu64
		  ".%02" PRIu64 "\" height=\"%d\" fill=\"%s\"/>",
		  MARGIN_PX + x / 100, x % 100, y, width / 100, width % 100, ROW_PX - 1,
		  colour_of(picture, node));
	if (width / 100 >= NAMED_FROM_PX) {
		text_addf(&picture->out, "<text x=\"%" PRIu64 ".%02" PRIu64 "\" y=\"%" PRIu32 "\">",
			  MARGIN_PX + 3 + x / 100, x % 100, y + BASELINE_PX);
		add_short_name(picture, node, (uint32_t)(width / 100));
		text_add(&picture->out, "</text>");
	}
	text_add(&picture->out, "</g>\n");
}

/* ---- all of it ---- */

static void write_head(struct picture *picture)
{
	const struct history *history = picture->request->history;
	const struct selection_totals totals = selection_totals(picture->request->selection);
	const uint32_t event = selection_event(picture->request->selection);
	const char *command = history_info(history, "command_line");
	const uint32_t height = HEAD_PX + (picture->levels + 1) * ROW_PX + MARGIN_PX;
	text_addf(&picture->out,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32
		  "\" width=\"%d\" "
		  "height=\"%" PRIu32 "\" font-family=\"monospace\" font-size=\"12\">\n",
		  WIDTH_PX + 2 * MARGIN_PX, height, WIDTH_PX + 2 * MARGIN_PX, height);
	text_add(&picture->out,
		 "<style>text{fill:#202020}.head{fill:#404040}.page{fill:#fff}"
		 "g rect{stroke:#fff;stroke-width:.5}@media(prefers-color-scheme:dark){"
		 ".head{fill:#d0d0d0}.page{fill:#181818}g rect{stroke:#181818}}"
		 "g:hover rect{stroke:#000}</style>\n"
		 "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
	text_addf(&picture->out, "<text class=\"head\" x=\"%d\" y=\"22\" font-size=\"15\">",
		  MARGIN_PX);
	text_clear(&picture->safe);
	name_add_fit(&picture->safe, command ? command : "ctop", NAME_FULL, WIDTH_PX / 10);
	add_escaped(&picture->out, text_string(&picture->safe));
	text_addf(&picture->out, "</text>\n<text class=\"head\" x=\"%d\" y=\"42\">", MARGIN_PX);
	if (event < history_nr_events(history))
		add_untrusted(picture, history_event_name(history, event));
	text_add(&picture->out, ": ");
	add_amount(picture, totals.weight);
	text_addf(&picture->out, " in %" PRIu64 " sample%s</text>\n", totals.samples,
		  totals.samples == 1 ? "" : "s");
}

static int find_boxes(struct picture *picture)
{
	struct selection *selection = picture->request->selection;
	const struct function_id none = {0};
	struct selection_node root;
	int result = 0;
	if (picture->request->grouping == GROUPING_PROCESS) {
		result = selection_set_by_process(selection, true);
		if (!result)
			result = selection_refresh(selection, UINT64_MAX);
	}
	if (!result)
		result = selection_root(selection, SELECTION_TREE, none, &root);
	if (result)
		return result;
	picture->whole = root.cost.total_weight ? root.cost.total_weight : 1;
	const uint64_t least = root.cost.total_weight / ((uint64_t)WIDTH_PX * BOXES_A_PX);
	result = selection_flame(selection, root.id, SELECTION_BY_NAME, least ? least : 1,
				 LEVELS_MOST, &picture->boxes);
	for (size_t i = 0; i < picture->boxes.nr; i++)
		if (picture->boxes.items[i].node.depth > picture->levels)
			picture->levels = picture->boxes.items[i].node.depth;
	return result;
}

int svg_write(const struct export_request *request)
{
	struct picture picture = {.request = request};
	int result = find_boxes(&picture);
	if (!result)
		write_head(&picture);
	for (size_t i = 0; !result && i < picture.boxes.nr; i++) {
		add_box(&picture, &picture.boxes.items[i]);
		result = pieces_offer(request->sink, &picture.out);
	}
	text_add(&picture.out, "</svg>\n");
	if (!result)
		result = pieces_flush(request->sink, &picture.out);
	free(picture.boxes.items);
	text_release(&picture.out);
	text_release(&picture.safe);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "chain.h"

#include <stdio.h>
#include <stdlib.h>

static const char between[] = " … ";
enum { BETWEEN_COLS = 3 };
/* With less room there is but the last one. */
enum { BOTH_FROM_COLS = 12 };

const char *chain_fit_name(struct model *model, const struct selection_node *first,
			   const struct selection_node *last, size_t nr, int cols)
{
	char count[32];
	snprintf(count, sizeof(count), " · %zu", nr);
	const int room = cols - (int)text_cols(count) - BETWEEN_COLS;
	struct text *out = &model->chain;
	if (room < BOTH_FROM_COLS)
		return model_fit_node_name(model, last, cols);
	text_clear(out);
	/* The last one is where it goes on: what the first does not need is its. */
	text_add(out, model_fit_node_name(model, first, room / 2));
	const int taken = (int)text_cols(text_string(out));
	text_add(out, between);
	text_add(out, model_fit_node_name(model, last, room - taken));
	text_add(out, count);
	return text_string(out);
}

const char *chain_full_name(struct model *model, const struct selection_node *first, size_t nr)
{
	struct selection_nodes children = {0};
	struct text *out = &model->chain;
	text_clear(out);
	text_add(out, model_node_full_name(model, first));
	uint64_t id = first->id;
	for (size_t i = 1; i < nr; i++) {
		children.nr = 0;
		if (selection_children(model->selection, id, SELECTION_BY_TOTAL, &children) ||
		    !children.nr)
			break;
		text_add(out, " > ");
		text_add(out, model_node_full_name(model, &children.items[0]));
		id = children.items[0].id;
	}
	free(children.items);
	return text_string(out);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/screen/changes.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/screen/model.h>

/* Of what a box had before. */
static const double MUCH = 0.5;

void changes_release(struct changes *changes)
{
	free(changes->items);
	index_release(&changes->index);
	*changes = (struct changes){0};
}

bool changes_known(const struct model *model)
{
	return model->host && model->host->change;
}

/* ---- paths ---- */

static bool find(const struct changes *changes, uint64_t id, uint32_t *path)
{
	struct index_probe probe = index_find(&changes->index, id);
	uint32_t row;
	while (index_next(&changes->index, &probe, &row)) {
		if (changes->items[row].id != id)
			continue;
		*path = changes->items[row].path;
		return true;
	}
	return false;
}

static int note(struct changes *changes, uint64_t id, uint32_t path)
{
	if (index_reserve(&changes->index) || vec_reserve(changes, changes->nr + 1))
		return -ENOMEM;
	index_add(&changes->index, id, (uint32_t)changes->nr);
	changes->items[changes->nr++] = (struct changed_path){id, path};
	return 0;
}

static uint32_t step(const struct model *model, uint32_t path, const struct selection_node *node)
{
	/* Rows of processes stand between those of functions, and make no step. */
	return node->comm ? path : model->host->path_step(model->host->context, path, node);
}

/* The nodes from one up to the first whose path is known, innermost first. 0 or -errno. */
static int climb(const struct model *model, struct selection_node node,
		 struct selection_nodes *above, uint32_t *path)
{
	while (!find(&model->changes, node.id, path)) {
		if (!node.parent) /* of a subtree in force nobody knows the callers */
			return node.label && !strcmp(node.label, "[all]") ? 0 : -ENOENT;
		if (vec_reserve(above, above->nr + 1))
			return -ENOMEM;
		above->items[above->nr++] = node;
		int result = selection_node(model->selection, node.parent, &node);
		if (result)
			return result;
	}
	return 0;
}

bool changes_of_path(struct model *model, const struct selection_node *node,
		     struct ui_change *change)
{
	struct selection_nodes above = {0};
	uint32_t path = 0;
	if (!changes_known(model))
		return false;
	int result = climb(model, *node, &above, &path);
	while (!result && above.nr) {
		const struct selection_node *next = &above.items[--above.nr];
		path = step(model, path, next);
		result = note(&model->changes, next->id, path);
	}
	free(above.items);
	return !result && model->host->path_change(model->host->context, path, change);
}

/* ---- colours ---- */

enum role changes_role(double percent, bool beyond)
{
	return !beyond ? ROLE_DIM : percent > 0 ? ROLE_MORE : ROLE_LESS;
}

void changes_put(struct cells *cells, int row, int col, double percent, bool beyond)
{
	cells_putf(cells, row, col, CHANGE_COLS, changes_role(percent, beyond), "%+6.1f%s", percent,
		   beyond ? "" : "~");
}

enum box_tone changes_tone(const struct ui_change *change)
{
	const double much = MUCH * change->total_before;
	if (!change->total_beyond)
		return TONE_LABEL;
	if (change->total > 0)
		return change->total >= much ? TONE_MUCH_MORE : TONE_MORE;
	return -change->total >= much ? TONE_MUCH_LESS : TONE_LESS;
}

void changes_put_legend(struct cells *cells, struct area line)
{
	static const struct {
		enum box_tone tone;
		const char *what;
	} items[] = {
		{TONE_MORE, " + more than in A "},
		{TONE_MUCH_MORE, " by half or more "},
		{TONE_LESS, " - less "},
		{TONE_MUCH_LESS, " by half or more "},
		{TONE_LABEL, " no more than noise "},
	};
	int col = line.col;
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		const enum role role = (enum role)(ROLE_BOX + 2 * (int)items[i].tone);
		col += cells_put(cells, line.row, col, line.col + line.cols - col, role,
				 items[i].what) +
		       1;
	}
}

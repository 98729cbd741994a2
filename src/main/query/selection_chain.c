/* SPDX-License-Identifier: MIT */
#include "selection_internal.h"

static bool is_plain(const struct selection_node *node)
{
	return !node->label && !node->comm;
}

/* A few samples of its own, or an interrupt's, make no row worth seeing. */
bool selection_chain_goes_on(const struct selection *selection, const struct selection_node *first,
			     const struct selection_node *child)
{
	const struct history *history = selection->history;
	return is_plain(first) && is_plain(child) &&
	       history_function_kernel(history, first->function) ==
		       history_function_kernel(history, child->function) &&
	       child->cost.total_weight >= first->cost.total_weight - first->cost.total_weight / 10;
}

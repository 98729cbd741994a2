/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_CHAIN_H
#define CTOP_VIEWS_CHAIN_H

/* Chains of calls (selection_chain_goes_on()) as one name: the first, the last, and how many there are. */

#include <ctop/screen/model.h>

/* "first … last · 41" in so many columns; as a scratch of the model's, as all its names. */
const char *chain_fit_name(struct model *model, const struct selection_node *first,
			   const struct selection_node *last, size_t nr, int cols);
/* "first > second > third": all of them in full, as far as they are known now. */
const char *chain_full_name(struct model *model, const struct selection_node *first, size_t nr);

#endif

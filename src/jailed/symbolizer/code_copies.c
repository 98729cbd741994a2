/* SPDX-License-Identifier: MIT */
#include "code_copies.h"

#include <stdlib.h>

void code_copies_drop(struct code_copies *copies, size_t number)
{
	free(copies->items[number].bytes);
	copies->items[number] = copies->items[--copies->nr];
}

void code_copies_release(struct code_copies *copies)
{
	while (copies->nr)
		code_copies_drop(copies, copies->nr - 1);
}

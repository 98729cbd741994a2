/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_TABLES_INTERNAL_H
#define CTOP_STORE_TABLES_INTERNAL_H

#include <stdatomic.h>

#include <ctop/base/index.h>
#include <ctop/store/tables.h>

/* The first page of a region. Lengths and positions only; sizes are everybody's own. */
struct tables_header {
	uint64_t magic;
	uint64_t reserved;
	_Atomic uint32_t nr
		[NR_TABLES]; /* published rows; pairs: release by the writer, acquire by readers */
	_Atomic uint32_t closed;
	_Atomic uint64_t head; /* samples written so far */
	_Atomic uint64_t tail; /* samples read so far */
};

struct tables_writer {
	struct tables *tables;
	uint32_t nr[NR_TABLES]; /* appended, published or not */
	uint64_t head;		/* samples written, published or not */
	uint32_t seen;		/* of frames that are new */
	struct index strings, tasks, frames, nodes;
};

enum { STRING_UNIT_BYTES = 4 };

size_t tables_row_bytes(enum table_kind kind);

#endif

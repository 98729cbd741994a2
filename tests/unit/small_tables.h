/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_SMALL_TABLES_H
#define CTOP_TEST_SMALL_TABLES_H

/* Room for a profile that is made by hand. */

#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

static const struct tables_capacity small_tables = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_METADATA] = 64,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 64,
	       [TABLE_TASKS] = 64,
	       [TABLE_FRAMES] = 1024,
	       [TABLE_NODES] = 4096},
	.nr_samples = 1024,
};
static const struct symbols_capacity small_symbols = {
	.nr_frames = 1024, .string_units = 1 << 14, .nr_modules = 64, .nr_lines = 256};

#endif

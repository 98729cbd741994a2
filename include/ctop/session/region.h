/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_REGION_H
#define CTOP_SESSION_REGION_H

/* The shared memory of one epoch: the tables and the names of their frames. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ipc/channel.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct region {
	uint32_t epoch; /* 0: not in use */
	int tables_fd, symbols_fd;
	struct tables tables;
	struct symbols symbols;
	struct tables_reader reader;
};

/* Makes and maps both memfds. 0 or -errno. */
int region_open(struct region *region, uint32_t epoch);
void region_close(struct region *region); /* fine on an all-zero region */
/* What a child is to write. A successor must be able to, too: neither memfd can be sealed against it. */
enum region_writer { REGION_TABLES = 1, REGION_NAMES = 2 };
/*
 * Tells a child about it: SYMBOLS, if it writes names, then TABLES, to be read only if it does not write them. 0 or
 * -errno.
 */
int region_send(const struct region *region, struct channel *channel, enum region_writer writes);
/* Bytes of it in use. */
uint64_t region_used_bytes(struct region *region);

#endif

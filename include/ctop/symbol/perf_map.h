/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_PERF_MAP_H
#define CTOP_SYMBOL_PERF_MAP_H

/*
 * The functions that a JIT wrote into /tmp/perf-PID.map: a line each, "START
 * SIZE name", hexadecimal, the name up to the line's end. Code is thrown away
 * and its room used again, so where lines overlap the later one holds. The file
 * grows while we read: a half last line is left for the next time, and only
 * what is new is read then.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/symbol/hit.h>

struct perf_map;

struct perf_map *perf_map_new(void); /* NULL: out of memory */
void perf_map_free(struct perf_map *map);

/*
 * Reads what fd has beyond what was read before, or all of it when it is
 * another file or was rewritten. fd stays the caller's. 0 or -errno; lines
 * without sense are passed over, and what exceeds the bounds is left out.
 */
int perf_map_read(struct perf_map *map, int fd);

bool perf_map_find(const struct perf_map *map, uint64_t address, struct symbol_hit *hit);
/*
 * How far the function of that name that begins at an address goes, by the last word that the map has of all of it, or of its first `most`
 * bytes. False: there is none, or another one has taken a part of its place.
 */
bool perf_map_end(const struct perf_map *map, uint64_t start, const char *name, uint64_t most,
		  uint64_t *end);
size_t perf_map_count(const struct perf_map *map); /* lines kept */
size_t perf_map_bytes(const struct perf_map *map);

#endif

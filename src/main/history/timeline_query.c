/* SPDX-License-Identifier: MIT */
/* What screens ask of the timeline: cells side by side, a stack, the longest waits. */
#include "timeline_internal.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

/* Who ends wakes the others a moment later than that is recorded. */
#define ENDS_WITHIN_NS NS_PER_SECOND

/* ---- threads ---- */

uint64_t timeline_bytes(const struct timeline *timeline)
{
	return sizeof(*timeline) + vec_bytes(&timeline->rows) + vec_bytes(&timeline->waits) +
	       index_bytes(&timeline->by_ids) + timeline->tile_bytes + timeline->event_bytes +
	       timeline->cgroup_bytes + vec_bytes(&timeline->cgroups) + timeline->call_bytes +
	       timeline->call_name_bytes + vec_bytes(&timeline->call_names) +
	       index_bytes(&timeline->by_call_name);
}

size_t timeline_nr_threads(const struct timeline *timeline)
{
	return timeline->rows.nr;
}

const struct timeline_thread *timeline_thread(const struct timeline *timeline, size_t row)
{
	return &timeline->rows.items[row].thread;
}

int timeline_compare_rows(const void *a, const void *b, void *timeline)
{
	const struct timeline_thread *left = timeline_thread(timeline, *(const size_t *)a);
	const struct timeline_thread *right = timeline_thread(timeline, *(const size_t *)b);
	if (left->run != right->run)
		return left->run < right->run ? -1 : 1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	return (left->serial > right->serial) - (left->serial < right->serial);
}

size_t timeline_row_then(const struct timeline *timeline, uint32_t run, int32_t tid,
			 uint64_t time_ns)
{
	for (size_t i = timeline->rows.nr; i--;) {
		const struct timeline_thread *thread = &timeline->rows.items[i].thread;
		const bool is_over =
			thread->has_ended && thread->until_ns + ENDS_WITHIN_NS < time_ns;
		if (thread->tid == tid && thread->run == run && thread->began_ns <= time_ns &&
		    !is_over)
			return i;
	}
	return SIZE_MAX;
}

void timeline_add_creator(const struct timeline *timeline, const struct timeline_thread *thread,
			  struct text *out)
{
	const size_t row =
		timeline_row_then(timeline, thread->run, thread->creator_tid, thread->began_ns);
	text_addf(out, "%" PRId32, thread->creator_tid);
	if (row != SIZE_MAX)
		text_addf(out, " %s", timeline_thread(timeline, row)->name);
}

void timeline_add_run(const struct timeline_thread *thread, struct text *out)
{
	if (thread->run)
		text_addf(out, "%" PRIu32 ": ", thread->run);
}

/* Serials rise. */
size_t timeline_row_of(const struct timeline *timeline, uint64_t serial)
{
	size_t low = 0, high = timeline->rows.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (timeline->rows.items[middle].thread.serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < timeline->rows.nr && timeline->rows.items[low].thread.serial == serial
		       ? low
		       : SIZE_MAX;
}

uint64_t timeline_first_ns(const struct timeline *timeline)
{
	return timeline->first_ns;
}

uint64_t timeline_last_ns(const struct timeline *timeline)
{
	return timeline->last_ns;
}

uint64_t timeline_tile_ns(const struct timeline *timeline)
{
	return UINT64_C(1) << timeline->shift;
}

unsigned timeline_nr_coarser(const struct timeline *timeline)
{
	return timeline->nr_coarser;
}

uint64_t timeline_nr_forgotten(const struct timeline *timeline)
{
	return timeline->nr_forgotten;
}

/* ---- cells ---- */

/* Of the tiles of one cell, of all its rows. */
struct sums {
	uint64_t share[THREAD_UNKNOWN], wait[NR_WAIT_KINDS], nr;
	bool is_found;
};

static bool is_among(const struct tile *tile, const uint8_t *found, size_t nr_found)
{
	return tile->stack && tile->stack <= nr_found && found[tile->stack - 1];
}

/* As it will be rounded. */
static struct tile tile_at(const struct timeline *timeline, const struct timeline_row *row,
			   uint32_t at)
{
	if (!row->has_open || row->open != at)
		return row->tiles[at];
	struct tile tile = row->tiles[at];
	struct timeline_row copy = *row;
	copy.tiles = &tile;
	copy.open = 0;
	timeline_close_tile(timeline, &copy);
	return tile;
}

static void add_tile(struct sums *sums, const struct tile *tile, const uint8_t *found,
		     size_t nr_found)
{
	for (int state = 0; state < THREAD_UNKNOWN; state++)
		sums->share[state] += tile->share[state];
	sums->wait[tile->flags & TILE_KIND] += tile->share[THREAD_WAITS];
	sums->nr++;
	if (found && !sums->is_found)
		sums->is_found = is_among(tile, found, nr_found);
}

/* Whole tiles: the one that it is in, or those that begin in it. */
static void add_tiles(const struct timeline *timeline, const struct timeline_row *row,
		      uint64_t from_ns, uint64_t to_ns, const uint8_t *found, size_t nr_found,
		      struct sums *sums)
{
	const uint64_t tile_ns = timeline_tile_ns(timeline);
	uint64_t from = timeline_number_of(timeline, from_ns + tile_ns - 1);
	uint64_t to = timeline_number_of(timeline, to_ns + tile_ns - 1);
	if (to <= from) {
		from = timeline_number_of(timeline, from_ns);
		to = from + 1;
	}
	from = from > row->first ? from : row->first;
	to = to < row->first + row->nr ? to : row->first + row->nr;
	for (uint64_t number = from; number < to; number++) {
		const uint32_t at = (uint32_t)(number - row->first);
		if (row->has_open && row->open == at) {
			const struct tile open = tile_at(timeline, row, at);
			add_tile(sums, &open, found, nr_found);
		} else {
			add_tile(sums, &row->tiles[at], found, nr_found);
		}
	}
}

static struct timeline_cell cell_of(const struct sums *sums)
{
	struct timeline_cell cell = {.is_alive = sums->nr > 0, .is_found = sums->is_found};
	for (int state = 0; sums->nr && state < THREAD_UNKNOWN; state++) {
		const uint64_t share = sums->share[state] / sums->nr;
		cell.share[state] = (uint8_t)(share || !sums->share[state] ? share : 1);
	}
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		if (sums->wait[kind] > sums->wait[cell.wait])
			cell.wait = (uint8_t)kind;
	return cell;
}

void timeline_cells(const struct timeline *timeline, const size_t *rows, size_t nr_rows,
		    uint64_t from_ns, uint64_t cell_ns, const uint8_t *found, size_t nr_found,
		    struct timeline_cell *cells, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const uint64_t at_ns = from_ns + i * cell_ns;
		struct sums sums = {0};
		for (size_t row = 0; row < nr_rows; row++)
			add_tiles(timeline, &timeline->rows.items[rows[row]], at_ns,
				  at_ns + cell_ns, found, nr_found, &sums);
		cells[i] = cell_of(&sums);
	}
}

/* Of 255: from where on a cell counts as computing, or as having some of it. */
enum { MOSTLY = 128, SOME = 8 };

char timeline_letter(const struct timeline_cell *cell)
{
	static const char waits[NR_WAIT_KINDS] = {
		[WAIT_UNSEEN] = '-', [WAIT_LOCK] = 'l',	 [WAIT_IO] = 'i',    [WAIT_POLL] = 'p',
		[WAIT_SLEEP] = 's',  [WAIT_CHILD] = 'c', [WAIT_FAULT] = 'f', [WAIT_OTHER] = 'o',
	};
	const unsigned computing = cell->share[THREAD_COMPUTES];
	const unsigned queued = cell->share[THREAD_QUEUES], waiting = cell->share[THREAD_WAITS];
	if (!cell->is_alive)
		return ' ';
	if (computing >= MOSTLY || (computing && computing >= queued && computing >= waiting))
		return '#';
	if (queued && queued >= waiting)
		return 'q';
	if (computing >= SOME)
		return '+';
	return waiting ? waits[cell->wait] : '?';
}

size_t timeline_nr_tiles(const struct timeline *timeline, size_t row)
{
	return timeline->rows.items[row].nr;
}

uint64_t timeline_tiles_from_ns(const struct timeline *timeline, size_t row)
{
	return timeline_start_of(timeline, timeline->rows.items[row].first);
}

struct timeline_cell timeline_tile(const struct timeline *timeline, size_t row, size_t tile)
{
	const struct tile at = tile_at(timeline, &timeline->rows.items[row], (uint32_t)tile);
	struct timeline_cell cell = {.wait = at.flags & TILE_KIND, .is_alive = true};
	memcpy(cell.share, at.share, sizeof(cell.share));
	return cell;
}

/* ---- a stack ---- */

bool timeline_stack_at(const struct timeline *timeline, size_t row, uint64_t time_ns,
		       uint64_t within_ns, struct timeline_seen *seen)
{
	const struct timeline_row *of = &timeline->rows.items[row];
	const int64_t middle = (int64_t)timeline_number_of(timeline, time_ns) - (int64_t)of->first;
	const int64_t within = (int64_t)timeline_number_of(timeline, within_ns) + 1;
	/* There is nothing on the way to the row's own time. */
	const int64_t first = middle < 0		  ? -middle
			      : middle >= (int64_t)of->nr ? middle - (int64_t)of->nr + 1
							  : 0;
	for (int64_t away = first; away <= within; away++) {
		const int64_t at[] = {middle - away, middle + away};
		if (at[0] < 0 && at[1] >= (int64_t)of->nr)
			return false;
		for (int i = 0; i < 2; i++) {
			if (at[i] < 0 || at[i] >= (int64_t)of->nr || !of->tiles[at[i]].stack)
				continue;
			const struct tile *tile = &of->tiles[at[i]];
			*seen = (struct timeline_seen){
				.stack = tile->stack - 1,
				.time_ns = timeline_start_of(timeline, of->first + (uint64_t)at[i]),
				.is_wait = tile->flags & TILE_STACK_WAITS,
			};
			return true;
		}
	}
	return false;
}

/* ---- moments of some stacks ---- */

/* The nearest tile of a row from one on, not behind a bound; both are numbers. UINT64_MAX: there is none. */
static uint64_t find_in_row(const struct timeline_row *row, uint64_t from, uint64_t bound, int step,
			    const uint8_t *found, size_t nr_found)
{
	const uint64_t end = row->first + row->nr;
	if (!row->nr || (step > 0 ? from >= end : from < row->first))
		return UINT64_MAX;
	if (step > 0) {
		from = from > row->first ? from : row->first;
		for (uint64_t at = from; at < end && at <= bound; at++)
			if (is_among(&row->tiles[at - row->first], found, nr_found))
				return at;
		return UINT64_MAX;
	}
	from = from < end ? from : end - 1;
	for (uint64_t at = from + 1; at-- > row->first && at >= bound;)
		if (is_among(&row->tiles[at - row->first], found, nr_found))
			return at;
	return UINT64_MAX;
}

/*
 * In the order of time, then of rows. The row of the moment itself, and those that come after it in the list, may have another one in the same tile.
 */
bool timeline_find(const struct timeline *timeline, const size_t *rows, size_t nr_rows,
		   const uint8_t *found, size_t nr_found, const struct timeline_moment *from,
		   int step, struct timeline_moment *moment)
{
	const uint64_t at = timeline_number_of(timeline, from->time_ns);
	uint64_t best = step > 0 ? UINT64_MAX - 1 : 0;
	bool is_there = false, is_behind = false;
	for (size_t i = 0; i < nr_rows; i++) {
		const size_t list = step > 0 ? i : nr_rows - 1 - i;
		const struct timeline_row *row = &timeline->rows.items[rows[list]];
		if (step < 0 && !at && !is_behind)
			return false;
		const uint64_t begin = is_behind ? at : step > 0 ? at + 1 : at - 1;
		is_behind = is_behind || rows[list] == from->row;
		const uint64_t number = find_in_row(row, begin, best, step, found, nr_found);
		/* Of equals the first in the list. */
		if (number == UINT64_MAX || (is_there && number == best))
			continue;
		best = number;
		is_there = true;
		*moment = (struct timeline_moment){
			.row = rows[list],
			.time_ns = timeline_start_of(timeline, number),
			.to_ns = timeline_start_of(timeline, number + 1),
		};
	}
	return is_there;
}

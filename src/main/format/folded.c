/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <ctop/format/folded_name.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/task_id.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>

#include "pieces.h"

/*
 * Folded stacks, as stackcollapse-perf.pl (FlameGraph) writes them: one line per distinct stack,
 * "comm;root;...;leaf N", sorted bytewise. The comm's spaces become _; ';' in a name becomes ':';
 * a frame without a name is [module] or [unknown]; arguments are cut from '(' on, except
 * "(anonymous namespace)" and Go's ".(*T)."; control bytes are escaped. What was inlined has _[i] behind its name, as
 * stackcollapse-perf.pl --inline and flamegraph.pl have it. Of lines and addresses the place stands first; modules that call
 * themselves are one frame; threads and processes are told apart as by stackcollapse-perf.pl --tid and --pid. N is what the stack's samples stand
 * for: events, or nanoseconds of a clock.
 */

/* Where a name stands in the text of all names, as it is written; names of equal text are one. */
struct name {
	size_t at, size;
};

/* A function below its callers, as a stack of the output has it; 0 is above all of them. */
struct place {
	uint32_t parent, name, depth;
	uint32_t order; /* among the stacks that end at places, bytewise; number_places() */
};

/* Stacks that end at one place, of threads of one name, and what they count for. */
struct line {
	uint64_t key; /* the order of lines */
	uint64_t count;
	uint32_t comm, place;
};

struct folding {
	const struct history *history;
	bool count_samples;
	enum grouping by;
	struct text names_text, scratch;
	struct {
		struct name *items;
		size_t nr, capacity;
	} names;
	struct index names_index;
	struct {
		uint32_t *items; /* by function, its name plus 1; 0: not yet */
		size_t nr, capacity;
	} functions;
	struct {
		struct comm {
			const char *comm; /* the history's: the same for all that have it */
			int32_t pid, tid; /* -1: any */
			uint32_t name;
		} * items;
		size_t nr, capacity;
	} comms;
	struct index comms_index;
	struct {
		struct place *items;
		size_t nr, capacity;
	} places;
	struct index places_index;
	struct {
		struct line *items;
		size_t nr, capacity;
	} lines;
};

/* ---- names ---- */

static const char *text_of(const struct folding *folding, uint32_t name)
{
	return text_string(&folding->names_text) + folding->names.items[name].at;
}

/* The number of the name that scratch holds. 0 or -ENOMEM. */
static int intern_name(struct folding *folding, uint32_t *number)
{
	const struct text *text = &folding->scratch;
	if (text->failed)
		return -ENOMEM;
	const uint64_t hash = hash_bytes(text_string(text), text->size);
	struct index_probe probe = index_find(&folding->names_index, hash);
	while (index_next(&folding->names_index, &probe, number))
		if (folding->names.items[*number].size == text->size &&
		    !memcmp(text_of(folding, *number), text_string(text), text->size))
			return 0;
	if (vec_reserve(&folding->names, folding->names.nr + 1) ||
	    index_reserve(&folding->names_index))
		return -ENOMEM;
	*number = (uint32_t)folding->names.nr;
	folding->names.items[folding->names.nr++] =
		(struct name){folding->names_text.size, text->size};
	text_add_bytes(&folding->names_text, text_string(text), text->size);
	index_add(&folding->names_index, hash, *number);
	return folding->names_text.failed ? -ENOMEM : 0;
}

static void add_comm(struct text *text, const char *comm)
{
	char *copy = strdup(comm[0] ? comm : "[unknown]");
	if (!copy) {
		text->failed = true;
		return;
	}
	for (char *at = copy; *at; at++) {
		if (*at == ' ')
			*at = '_';
		else if (*at == ';')
			*at = ':';
	}
	text_add_safe(text, copy);
	free(copy);
}

/* Where it is, as it is, and the function's own name: made once, however many stacks have it. 0 or -ENOMEM. */
static int find_function(struct folding *folding, struct function_id function, uint32_t *name)
{
	if (vec_reserve(&folding->functions, (size_t)function.index + 1))
		return -ENOMEM;
	for (; folding->functions.nr <= function.index; folding->functions.nr++)
		folding->functions.items[folding->functions.nr] = 0;
	uint32_t *known = &folding->functions.items[function.index];
	if (!*known) {
		const char *marked = history_function_marked_name(folding->history, function);
		const size_t place_bytes = history_function_place_bytes(folding->history, function);
		text_clear(&folding->scratch);
		folded_add_place(&folding->scratch, marked, place_bytes);
		folded_add_name(&folding->scratch, marked + place_bytes,
				history_function_named(folding->history, function));
		if (intern_name(folding, name))
			return -ENOMEM;
		*known = *name + 1;
	}
	*name = *known - 1;
	return 0;
}

/* The name of a stack's thread. 0 or -ENOMEM. */
static int find_comm(struct folding *folding, const struct history_stack *stack, uint32_t *name)
{
	const bool has_tid = folding->by == GROUPING_THREAD,
		   has_pid = has_tid || folding->by == GROUPING_PROCESS;
	struct comm comm = {stack->comm, has_pid ? stack->pid : -1, has_tid ? stack->tid : -1, 0};
	const uint64_t hash =
		hash_two((uintptr_t)comm.comm, (uint64_t)comm.pid << 32 | (uint32_t)comm.tid);
	struct index_probe probe = index_find(&folding->comms_index, hash);
	uint32_t number;
	while (index_next(&folding->comms_index, &probe, &number)) {
		const struct comm *known = &folding->comms.items[number];
		if (known->comm == comm.comm && known->pid == comm.pid && known->tid == comm.tid) {
			*name = known->name;
			return 0;
		}
	}
	if (vec_reserve(&folding->comms, folding->comms.nr + 1) ||
	    index_reserve(&folding->comms_index))
		return -ENOMEM;
	text_clear(&folding->scratch);
	add_comm(&folding->scratch, comm.comm);
	if (has_pid)
		text_addf(&folding->scratch, "-%" PRId32, comm.pid);
	if (has_tid) {
		text_add(&folding->scratch, "/");
		task_id_add(&folding->scratch, comm.tid);
	}
	if (intern_name(folding, &comm.name))
		return -ENOMEM;
	*name = comm.name;
	index_add(&folding->comms_index, hash, (uint32_t)folding->comms.nr);
	folding->comms.items[folding->comms.nr++] = comm;
	return 0;
}

/* ---- stacks ---- */

static int find_place(struct folding *folding, uint32_t parent, uint32_t name, uint32_t *number)
{
	const uint64_t hash = hash_two(parent, name);
	struct index_probe probe = index_find(&folding->places_index, hash);
	while (index_next(&folding->places_index, &probe, number))
		if (folding->places.items[*number].parent == parent &&
		    folding->places.items[*number].name == name)
			return 0;
	if (vec_reserve(&folding->places, folding->places.nr + 1) ||
	    index_reserve(&folding->places_index))
		return -ENOMEM;
	*number = (uint32_t)folding->places.nr;
	folding->places.items[folding->places.nr++] =
		(struct place){parent, name, folding->places.items[parent].depth + 1, 0};
	index_add(&folding->places_index, hash, *number);
	return 0;
}

static int step(void *context, const struct history_frame *frames, size_t nr, uint32_t *place)
{
	struct folding *folding = context;
	uint32_t name;
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		result = find_function(folding, frames[i].function, &name);
		if (!result)
			result = find_place(folding, *place, name, place);
	}
	return result;
}

static int fold(void *context, const struct history_stack *stack, uint32_t place)
{
	struct folding *folding = context;
	struct line line = {
		.count = folding->count_samples ? stack->samples : stack->weight,
		.place = place,
	};
	if (vec_reserve(&folding->lines, folding->lines.nr + 1) ||
	    find_comm(folding, stack, &line.comm))
		return -ENOMEM;
	folding->lines.items[folding->lines.nr++] = line;
	return 0;
}

/* ---- lines, in the order of their bytes ---- */

/* A name at the end of its line, or (1) in front of more: what follows it is '\0' or ';'. */
static uint32_t ending(uint32_t of, bool goes_on)
{
	return of * 2 + goes_on;
}

static int compare_endings(const void *left, const void *right, void *context)
{
	static const unsigned char signs[] = {'\0', ';'};
	const struct folding *folding = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const size_t a_size = folding->names.items[a / 2].size,
		     b_size = folding->names.items[b / 2].size,
		     size = a_size < b_size ? a_size : b_size;
	const char *a_text = text_of(folding, a / 2), *b_text = text_of(folding, b / 2);
	const int order = memcmp(a_text, b_text, size);
	if (order)
		return order;
	const unsigned char a_next = a_size > size ? (unsigned char)a_text[size] : signs[a % 2],
			    b_next = b_size > size ? (unsigned char)b_text[size] : signs[b % 2];
	return (a_next > b_next) - (a_next < b_next);
}

/* By ending, its place among all of them. NULL: out of memory. */
static uint32_t *rank_endings(struct folding *folding)
{
	const size_t nr = folding->names.nr * 2;
	uint32_t *sorted = malloc((nr + 1) * sizeof(*sorted)),
		 *ranks = sorted ? malloc((nr + 1) * sizeof(*ranks)) : NULL;
	for (size_t i = 0; ranks && i < nr; i++)
		sorted[i] = (uint32_t)i;
	if (ranks && nr)
		qsort_r(sorted, nr, sizeof(*sorted), compare_endings, folding);
	for (size_t i = 0; ranks && i < nr; i++)
		ranks[sorted[i]] = (uint32_t)i;
	free(sorted);
	return ranks;
}

/* Endings of places, as many as there are ranks, in the order of these. NULL: out of memory. */
static uint32_t *sort_endings(const struct folding *folding, const uint32_t *ranks)
{
	const struct place *places = folding->places.items;
	const size_t nr = folding->places.nr * 2, nr_ranks = folding->names.nr * 2;
	uint32_t *starts = calloc(nr_ranks + 1, sizeof(*starts)),
		 *sorted = starts ? malloc(nr * sizeof(*sorted)) : NULL;
	for (size_t i = 2; sorted && i < nr; i++)
		starts[ranks[ending(places[i / 2].name, i % 2)] + 1]++;
	for (size_t i = 0; sorted && i < nr_ranks; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 2; sorted && i < nr; i++)
		sorted[starts[ranks[ending(places[i / 2].name, i % 2)]]++] = (uint32_t)i;
	free(starts);
	return sorted;
}

enum { NO_MORE = 0 }; /* place 0 is below nothing */

/* What is below each place in the order of its endings, first and next ones: what ends there, and what goes on. */
static void chain_endings(const struct folding *folding, const uint32_t *sorted, uint32_t *first,
			  uint32_t *next)
{
	for (size_t i = 2 * (folding->places.nr - 1); i-- > 0;) {
		uint32_t *above = &first[folding->places.items[sorted[i] / 2].parent];
		next[sorted[i]] = *above;
		*above = sorted[i];
	}
}

/* From the top, each ending's place before those behind it. */
static void number_places(struct folding *folding, const uint32_t *first, const uint32_t *next)
{
	struct place *places = folding->places.items;
	uint32_t order = 0, above = 0, at = first[0];
	for (;;) {
		if (at == NO_MORE && !above)
			return;
		if (at == NO_MORE) {
			at = next[ending(above, true)];
			above = places[above].parent;
		} else if (at % 2) {
			above = at / 2;
			at = first[above];
		} else {
			places[at / 2].order = ++order;
			at = next[at];
		}
	}
}

static int order_places(struct folding *folding, const uint32_t *ranks)
{
	uint32_t *sorted = sort_endings(folding, ranks),
		 *first = calloc(folding->places.nr, sizeof(*first)),
		 *next = calloc(folding->places.nr * 2, sizeof(*next));
	const int result = sorted && first && next ? 0 : -ENOMEM;
	if (!result) {
		chain_endings(folding, sorted, first, next);
		number_places(folding, first, next);
	}
	free(sorted);
	free(first);
	free(next);
	return result;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	return (a->key > b->key) - (a->key < b->key);
}

static int sort_lines(struct folding *folding)
{
	uint32_t *ranks = rank_endings(folding);
	const int result = ranks ? order_places(folding, ranks) : -ENOMEM;
	for (size_t i = 0; !result && i < folding->lines.nr; i++) {
		struct line *line = &folding->lines.items[i];
		line->key = (uint64_t)ranks[ending(line->comm, line->place > 0)] << 32 |
			    folding->places.items[line->place].order;
	}
	free(ranks);
	if (!result && folding->lines.nr)
		qsort(folding->lines.items, folding->lines.nr, sizeof(struct line), compare_lines);
	return result;
}

/* ---- written ---- */

/* The stack of the last line: the next one has most of it in common. */
struct path {
	struct text text;
	uint32_t comm;
	struct {
		struct step {
			uint32_t place;
			size_t end; /* of its name in the text */
		} * items;	    /* by depth; 0: the comm's */
		size_t nr, capacity;
	} steps;
};

static void add_to_path(const struct folding *folding, struct path *path, uint32_t name)
{
	text_add_bytes(&path->text, text_of(folding, name), folding->names.items[name].size);
}

static int begin_path(const struct folding *folding, struct path *path, uint32_t comm)
{
	if (vec_reserve(&path->steps, 1))
		return -ENOMEM;
	text_clear(&path->text);
	add_to_path(folding, path, comm);
	path->comm = comm;
	path->steps.items[0] = (struct step){0, path->text.size};
	path->steps.nr = 1;
	return 0;
}

/* Down from where it parts with the last one. */
static int follow_path(const struct folding *folding, struct path *path, uint32_t place)
{
	const struct place *places = folding->places.items;
	const size_t depth = places[place].depth;
	size_t kept = depth;
	if (vec_reserve(&path->steps, depth + 1))
		return -ENOMEM;
	struct step *steps = path->steps.items;
	for (; kept >= path->steps.nr || steps[kept].place != place; place = places[place].parent)
		steps[kept--].place = place;
	path->text.size = steps[kept].end;
	for (size_t i = kept + 1; i <= depth; i++) {
		text_add(&path->text, ";");
		add_to_path(folding, path, places[steps[i].place].name);
		steps[i].end = path->text.size;
	}
	path->steps.nr = depth + 1;
	return 0;
}

static int write_line(const struct folding *folding, struct path *path, const struct line *line,
		      uint64_t count, struct text *out)
{
	int result = 0;
	if (!path->steps.nr || path->comm != line->comm)
		result = begin_path(folding, path, line->comm);
	if (!result)
		result = follow_path(folding, path, line->place);
	text_add_bytes(out, text_string(&path->text), path->text.size);
	text_addf(out, " %llu\n", (unsigned long long)count);
	return result ? result : path->text.failed ? -ENOMEM : 0;
}

/* Lines of equal text (other addresses of the same functions, other threads of one comm) are one. */
static int write_lines(const struct folding *folding, const struct export_sink *sink)
{
	const struct line *lines = folding->lines.items;
	struct path path = {0};
	struct text out = {0};
	int result = 0;
	for (size_t i = 0; !result && i < folding->lines.nr;) {
		uint64_t count = 0;
		size_t j = i;
		for (; j < folding->lines.nr && lines[j].key == lines[i].key; j++)
			count += lines[j].count;
		result = write_line(folding, &path, &lines[i], count, &out);
		if (!result)
			result = pieces_offer(sink, &out);
		i = j;
	}
	if (!result)
		result = pieces_flush(sink, &out);
	text_release(&path.text);
	free(path.steps.items);
	text_release(&out);
	return result;
}

static void release(struct folding *folding)
{
	free(folding->lines.items);
	free(folding->places.items);
	index_release(&folding->places_index);
	free(folding->comms.items);
	index_release(&folding->comms_index);
	free(folding->functions.items);
	free(folding->names.items);
	index_release(&folding->names_index);
	text_release(&folding->names_text);
	text_release(&folding->scratch);
}

int folded_write(const struct export_request *request)
{
	struct folding folding = {.history = request->history,
				  .count_samples = request->count_samples,
				  .by = request->grouping};
	struct history_walk walk = {.step = step, .context = &folding};
	int result = vec_reserve(&folding.places, 1);
	if (!result)
		folding.places.items[folding.places.nr++] = (struct place){0};
	if (!result)
		result = selection_walk_stacks(request->selection, &walk, fold, &folding);
	history_walk_release(&walk);
	/* All that there is has its number now. */
	index_release(&folding.places_index);
	index_release(&folding.names_index);
	index_release(&folding.comms_index);
	if (!result)
		result = sort_lines(&folding);
	if (!result)
		result = write_lines(&folding, request->sink);
	release(&folding);
	return result;
}

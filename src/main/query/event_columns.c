/* SPDX-License-Identifier: MIT */
#include <ctop/query/event_columns.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/function_name.h>
#include <ctop/base/vec.h>

/* A ratio's standard error, as a share of it, from which on it is marked. */
static const double unsure_from = 0.25;

void event_columns_release(struct event_columns *columns)
{
	for (size_t i = 0; i < columns->nr; i++)
		free(columns->columns[i].costs.items);
	*columns = (struct event_columns){0};
}

/* ---- what others cost ---- */

static uint32_t find_group(const struct index *index, const struct selection_groups *rows,
			   const struct group *group, enum grouping by)
{
	struct index_probe probe = index_find(index, group_hash(group, by));
	uint32_t row;
	while (index_next(index, &probe, &row))
		if (group_is_same(&rows->items[row].group, group, by))
			return row;
	return UINT32_MAX;
}

static int add_empty(struct event_column *column, size_t nr)
{
	if (vec_reserve(&column->costs, column->costs.nr + nr + 1))
		return -ENOMEM;
	for (; nr; nr--)
		column->costs.items[column->costs.nr++] = (struct selection_amount){0};
	return 0;
}

static int add_column(struct event_columns *columns, uint32_t event, size_t nr_rows)
{
	struct event_column *column = &columns->columns[columns->nr++];
	*column = (struct event_column){.event = event,
					.is_wall = columns->is_wall && columns->nr == 1};
	return add_empty(column, nr_rows);
}

/* Of one event, by the rows' groups. */
static int take(struct event_columns *columns, struct selection *selection, uint32_t event,
		enum grouping by, const struct selection_groups *rows, const struct index *index)
{
	const bool is_own = columns->nr == 0;
	struct selection_groups costs = {0};
	int result = selection_group_selfs(selection, by,
					   is_own ? SELECTION_OWN_EVENT : (int32_t)event, &costs);
	if (!result)
		result = add_column(columns, event, rows->nr);
	for (size_t i = 0; !result && i < costs.nr; i++) {
		struct event_column *column = &columns->columns[columns->nr - 1];
		const struct selection_group *cost = &costs.items[i];
		const uint32_t row = find_group(index, rows, &cost->group, by);
		if (row != UINT32_MAX)
			column->costs.items[row] = (struct selection_amount){
				cost->cost.self, cost->cost.self_weight, cost->self_squares};
		column->whole += cost->cost.self_weight;
	}
	free(costs.items);
	if (!result && !is_own && !columns->columns[columns->nr - 1].whole)
		free(columns->columns[--columns->nr].costs.items);
	return result;
}

/* ---- ratios ---- */

static size_t column_of_unit(const struct history *history, const struct event_columns *columns,
			     enum weight_unit unit)
{
	size_t i = 0;
	while (i < columns->nr && history_event_unit(history, columns->columns[i].event) != unit)
		i++;
	return i;
}

static void find_ratios(struct event_columns *columns, const struct history *history)
{
	const size_t cycles = column_of_unit(history, columns, WEIGHT_CYCLES),
		     instructions = column_of_unit(history, columns, WEIGHT_INSTRUCTIONS);
	if (instructions == columns->nr)
		return;
	if (cycles < columns->nr)
		columns->ratios[columns->nr_ratios++] =
			(struct event_ratio){instructions, cycles, 1};
	for (size_t i = 0; i < columns->nr && columns->nr_ratios < EVENT_RATIOS_MAX; i++)
		if (history_event_unit(history, columns->columns[i].event) == WEIGHT_MISSES)
			columns->ratios[columns->nr_ratios++] =
				(struct event_ratio){i, instructions, 1000};
}

/*
 * Whether there is another event than the selection's own, of which there are samples; and that it may have a column. What goroutines
 * wait, and what ended waits, are sums of their own, beside nothing.
 */
static bool is_beside(const struct event_columns *columns, const struct history *history,
		      uint32_t own, size_t event)
{
	return (event != own || columns->is_wall) && columns->nr <= EVENT_COLUMNS_MAX &&
	       history_event_samples(history, event) && !history_is_apart(history, own) &&
	       !history_is_apart(history, (uint32_t)event);
}

static bool have_others(const struct event_columns *columns, const struct history *history,
			uint32_t own)
{
	size_t i = 0;
	while (i < history_nr_events(history) && !is_beside(columns, history, own, i))
		i++;
	return i < history_nr_events(history);
}

int event_columns_take(struct event_columns *columns, struct selection *selection,
		       const struct history *history, enum grouping by,
		       const struct selection_groups *rows)
{
	const uint32_t own = selection_event(selection);
	struct index index = {0};
	event_columns_release(columns);
	columns->is_wall = selection_is_wall(selection);
	if (!have_others(columns, history, own))
		return 0;
	int result = index_reserve_rows(&index, rows->nr);
	for (size_t i = 0; !result && i < rows->nr; i++)
		index_add(&index, group_hash(&rows->items[i].group, by), (uint32_t)i);
	if (!result)
		result = take(columns, selection, own, by, rows, &index);
	for (size_t i = 0; !result && i < history_nr_events(history); i++)
		if (is_beside(columns, history, own, i))
			result = take(columns, selection, (uint32_t)i, by, rows, &index);
	index_release(&index);
	find_ratios(columns, history);
	return result;
}

/* ---- row by row ---- */

void event_columns_begin(struct event_columns *columns, const struct selection *selection,
			 const struct history *history)
{
	const uint32_t own = selection_event(selection);
	event_columns_release(columns);
	columns->is_wall = selection_is_wall(selection);
	if (!have_others(columns, history, own))
		return;
	columns->columns[columns->nr++] =
		(struct event_column){.event = own,
				      .is_wall = columns->is_wall,
				      .whole = selection_totals(selection).weight};
	for (size_t i = 0; i < history_nr_events(history); i++) {
		const uint64_t whole =
			is_beside(columns, history, own, i)
				? selection_total_beside(selection, (uint32_t)i).weight
				: 0;
		if (whole)
			columns->columns[columns->nr++] =
				(struct event_column){.event = (uint32_t)i, .whole = whole};
	}
	find_ratios(columns, history);
}

static int add_amount(struct event_column *column, struct selection_amount amount)
{
	if (vec_reserve(&column->costs, column->costs.nr + 1))
		return -ENOMEM;
	column->costs.items[column->costs.nr++] = amount;
	return 0;
}

int event_columns_add_node(struct event_columns *columns, struct selection *selection,
			   const struct selection_node *node)
{
	struct selection_amount amount = {node->cost.total, node->cost.total_weight, node->squares};
	int result = columns->nr ? add_amount(&columns->columns[0], amount) : 0;
	for (size_t i = 1; !result && i < columns->nr; i++) {
		result = selection_node_beside(selection, node->id, columns->columns[i].event,
					       &amount);
		if (!result)
			result = add_amount(&columns->columns[i], amount);
	}
	return result;
}

/* Of a column. What is added up of several events has no chance to tell of. */
static int amounts_of_function(const struct event_columns *columns, size_t column,
			       struct selection *selection, struct function_id function,
			       struct selection_amount *self, struct selection_amount *total)
{
	if (!columns->columns[column].is_wall)
		return selection_function_beside(selection, function,
						 columns->columns[column].event, self, total);
	const struct selection_cost cost = selection_function_cost(selection, function);
	*self = (struct selection_amount){cost.self, cost.self_weight, 0};
	*total = (struct selection_amount){cost.total, cost.total_weight, 0};
	return 0;
}

int event_columns_add_function(struct event_columns *columns, struct selection *selection,
			       struct function_id function)
{
	struct selection_amount self, total;
	int result = 0;
	for (size_t i = 0; !result && i < columns->nr; i++) {
		result = amounts_of_function(columns, i, selection, function, &self, &total);
		if (!result)
			result = add_amount(&columns->columns[i], self);
		if (!result)
			result = add_amount(&columns->columns[i], total);
	}
	return result;
}

int event_columns_add_empty(struct event_columns *columns, size_t nr)
{
	int result = 0;
	for (size_t i = 0; !result && i < columns->nr; i++)
		result = add_empty(&columns->columns[i], nr);
	return result;
}

bool event_columns_have_samples(const struct event_columns *columns, size_t row)
{
	size_t i = 0;
	while (i < columns->nr && !columns->columns[i].costs.items[row].samples)
		i++;
	return i < columns->nr;
}

void event_columns_clear_rows(struct event_columns *columns)
{
	for (size_t i = 0; i < columns->nr; i++)
		columns->columns[i].costs.nr = 0;
}

/* ---- as text ---- */

void event_column_add_name(const struct history *history, const struct event_column *column,
			   size_t cols, struct text *out)
{
	struct text name = {0};
	text_add_safe(&name, column->is_wall ? "wall" : history_event_name(history, column->event));
	name_add_elided(out, text_string(&name), cols);
	out->failed |= name.failed;
	text_release(&name);
}

void event_ratio_add_name(const struct history *history, const struct event_columns *columns,
			  const struct event_ratio *ratio, size_t cols, struct text *out)
{
	static const char per[] = "/1k";
	size_t nr_misses = 0;
	for (size_t i = 0; i < columns->nr_ratios; i++)
		nr_misses += columns->ratios[i].scale > 1;
	if (ratio->scale == 1) {
		text_add(out, "IPC");
		return;
	}
	if (nr_misses == 1)
		text_add(out, "misses");
	else
		event_column_add_name(history, &columns->columns[ratio->over],
				      cols - (sizeof(per) - 1), out);
	text_add(out, per);
}

/* Both are numbers of events: by chance each is off by one in the square root of its samples. */
static bool is_unsure(const struct selection_amount *over, const struct selection_amount *under)
{
	const double most = unsure_from * unsure_from;
	const double upper = history_effective(over->weight, over->squares),
		     lower = history_effective(under->weight, under->squares);
	return upper <= 0 || lower <= 0 || 1 / upper + 1 / lower > most;
}

static const struct selection_amount *amount_of(const struct event_columns *columns, size_t column,
						size_t row)
{
	return &columns->columns[column].costs.items[row];
}

bool event_ratio_is_known(const struct event_columns *columns, const struct event_ratio *ratio,
			  size_t row)
{
	return amount_of(columns, ratio->under, row)->weight > 0;
}

void event_ratio_add(const struct event_columns *columns, const struct event_ratio *ratio,
		     size_t row, struct text *out)
{
	const struct selection_amount *over = amount_of(columns, ratio->over, row),
				      *under = amount_of(columns, ratio->under, row);
	if (!event_ratio_is_known(columns, ratio, row)) {
		text_add(out, "-");
		return;
	}
	text_addf(out, "%s%.*f", is_unsure(over, under) ? "~" : "", ratio->scale == 1 ? 2 : 1,
		  (double)ratio->scale * (double)over->weight / (double)under->weight);
}

void event_ratio_add_count(const struct event_columns *columns, const struct event_ratio *ratio,
			   size_t row, struct text *out)
{
	static const char units[] = "kMGTPE";
	const uint64_t over = amount_of(columns, ratio->over, row)->samples,
		       under = amount_of(columns, ratio->under, row)->samples;
	double value = (double)(over < under ? over : under);
	size_t nr = 0;
	if (!event_ratio_is_known(columns, ratio, row))
		return;
	for (; nr ? value >= 999.5 : value >= 9999.5; nr++)
		value /= 1000;
	if (nr)
		text_addf(out, "%.*f%c", value < 99.95 ? 1 : 0, value, units[nr - 1]);
	else
		text_addf(out, "%.0f", value);
}

/* SPDX-License-Identifier: MIT */
/*
 * Selections of random profiles beside the same questions asked of every single sample: windows, filters, names
 * that come late, pauses.
 */
#include <ctop/query/groups.h>

#include "history/by_hand.h"

/*
 * Sums of squares are rounded by the second, and what came in the same second before a reset, or after a pause began, is not known:
 * then they are only known to be possible.
 */
static void check_squares(const struct profile *profile, double got, double wanted,
			  uint64_t samples, uint64_t weight)
{
	double most = (double)weight * (double)weight, least = samples ? most / (double)samples : 0;
	CHECK(got >= least * 0.998 && got <= most * 1.002);
	if (!profile->reset_at && profile->nr_seen == profile->nr_raws)
		CHECK(got >= wanted * 0.998 && got <= wanted * 1.002);
}

static double square(const struct profile *profile, size_t raw)
{
	return (double)profile->raws[raw].weight * (double)profile->raws[raw].weight;
}

static void check_totals(const struct profile *profile)
{
	struct selection_totals totals = selection_totals(profile->selection), wanted = {0};
	struct shown shown;
	bool passes;
	for (size_t i = 0; i < profile->nr_raws; i++) {
		const struct raw *raw = &profile->raws[i];
		if (!take(profile, i, &shown, &passes))
			continue;
		wanted.all_samples++;
		wanted.all_weight += raw->weight;
		if (!passes)
			continue;
		wanted.samples++;
		wanted.weight += raw->weight;
		wanted.squares += square(profile, i);
		wanted.ends[raw->end]++;
		wanted.unnamed += !profile->named[raw->functions[raw->nr - 1]];
		wanted.kernel_weight += is_kernel(raw->functions[raw->nr - 1]) ? raw->weight : 0;
	}
	CHECK_EQ(totals.all_samples, wanted.all_samples);
	CHECK_EQ(totals.all_weight, wanted.all_weight);
	CHECK_EQ(totals.samples, wanted.samples);
	CHECK_EQ(totals.weight, wanted.weight);
	check_squares(profile, totals.squares, wanted.squares, wanted.samples, wanted.weight);
	CHECK_EQ(totals.unnamed, wanted.unnamed);
	CHECK_EQ(totals.kernel_weight, wanted.kernel_weight);
	for (int end = 0; end < NR_STACK_ENDS; end++)
		CHECK_EQ(totals.ends[end], wanted.ends[end]);
}

/* Found in another way: by the history's nodes, not by paths. */
static void check_groups(const struct profile *profile)
{
	struct selection_functions top = {0};
	struct selection_groups rows = {0};
	CHECK_EQ(selection_top(profile->selection, SELECTION_BY_SELF, 0, &top, NULL), 0);
	CHECK_EQ(selection_groups(profile->selection, GROUPING_INLINE, SELECTION_OWN_EVENT, &rows), 0);
	CHECK_EQ(rows.nr, top.nr);
	for (size_t i = 0; i < top.nr; i++) {
		CHECK_EQ(rows.items[i].group.function.index, top.items[i].id.index);
		CHECK(!memcmp(&rows.items[i].cost, &top.items[i].cost, sizeof(top.items[i].cost)));
	}
	free(top.items);
	free(rows.items);
}

static void check_top(const struct profile *profile)
{
	struct selection_functions top = {0}, few = {0};
	size_t nr_all, nr_wanted = 0;
	struct selection_cost wanted[NR_FUNCTIONS + 1] = {0};
	double squares[NR_FUNCTIONS + 1] = {0};
	struct shown shown;
	bool passes;
	for (size_t i = 0; i < profile->nr_raws; i++) {
		if (!take(profile, i, &shown, &passes) || !passes)
			continue;
		uint64_t weight = profile->raws[i].weight;
		wanted[shown.keys[shown.nr - 1]].self++;
		wanted[shown.keys[shown.nr - 1]].self_weight += weight;
		for (int key = 0; key <= UNNAMED; key++) {
			wanted[key].total += contains(&shown, key);
			wanted[key].total_weight += contains(&shown, key) ? weight : 0;
			squares[key] += contains(&shown, key) ? square(profile, i) : 0;
		}
	}
	CHECK_EQ(selection_top(profile->selection, SELECTION_BY_SELF, 0, &top, &nr_all), 0);
	CHECK_EQ(top.nr, nr_all);
	for (int key = 0; key <= UNNAMED; key++)
		nr_wanted += wanted[key].total > 0;
	CHECK_EQ(top.nr, nr_wanted);
	for (size_t i = 0; i < top.nr; i++) {
		int key = key_of(profile, top.items[i].id);
		CHECK(memcmp(&top.items[i].cost, &wanted[key], sizeof(wanted[key])) == 0);
		check_squares(profile, top.items[i].squares, squares[key], wanted[key].total,
			      wanted[key].total_weight);
		CHECK(i == 0 || top.items[i - 1].cost.self_weight >= top.items[i].cost.self_weight);
		struct selection_cost one =
			selection_function_cost(profile->selection, top.items[i].id);
		CHECK(memcmp(&one, &wanted[key], sizeof(one)) == 0);
	}
	for (enum selection_order order = SELECTION_BY_SELF; order <= SELECTION_BY_MODULE;
	     order++) {
		CHECK_EQ(selection_top(profile->selection, order, 0, &top, NULL), 0);
		CHECK_EQ(selection_top(profile->selection, order, 3, &few, &nr_all), 0);
		CHECK_EQ(nr_all, top.nr);
		CHECK_EQ(few.nr, top.nr < 3 ? top.nr : 3);
		for (size_t i = 0; i < few.nr; i++)
			CHECK_EQ(few.items[i].id.index, top.items[i].id.index);
	}
	free(top.items);
	free(few.items);
}

/* Where a chain from a row's root matches a sample: the frames of the root, and of the chain's last key. -1: nowhere. */
static int match(enum selection_shape shape, const struct shown *chain, const struct shown *shown)
{
	int at = 0, step = 1;
	if (!chain->nr)
		return shape == SELECTION_INVERTED ? shown->nr : -1;
	if (shape == SELECTION_INVERTED)
		at = shown->nr - 1;
	else if (shape != SELECTION_TREE)
		while (at < shown->nr && shown->keys[at] != chain->keys[0])
			at++;
	if (shape == SELECTION_INVERTED || shape == SELECTION_CALLERS)
		step = -1;
	for (int i = 0; i < chain->nr; i++)
		if (at + i * step < 0 || at + i * step >= shown->nr ||
		    shown->keys[at + i * step] != chain->keys[i])
			return -2;
	return at + (chain->nr - 1) * step;
}

static void check_row(const struct profile *profile, enum selection_shape shape,
		      const struct shown *chain, const struct selection_node *node)
{
	struct selection_cost wanted = {0};
	double squares = 0;
	struct shown shown;
	bool passes;
	for (size_t i = 0; i < profile->nr_raws; i++) {
		if (!take(profile, i, &shown, &passes) || !passes)
			continue;
		int at = match(shape, chain, &shown);
		if (at < -1)
			continue;
		bool up = shape == SELECTION_INVERTED || shape == SELECTION_CALLERS;
		bool last = up ? at == 0 : at == shown.nr - 1;
		wanted.total++;
		wanted.total_weight += profile->raws[i].weight;
		squares += square(profile, i);
		wanted.self += last;
		wanted.self_weight += last ? profile->raws[i].weight : 0;
	}
	CHECK_EQ(node->cost.total, wanted.total);
	CHECK_EQ(node->cost.total_weight, wanted.total_weight);
	check_squares(profile, node->squares, squares, wanted.total, wanted.total_weight);
	CHECK_EQ(node->cost.self, wanted.self);
	CHECK_EQ(node->cost.self_weight, wanted.self_weight);
}

/* Of children by weight, those of at least so much are the first ones. */
static void check_heavy(struct profile *profile, const struct selection_node *parent,
			const struct selection_nodes *all)
{
	struct selection_nodes heavy = {0};
	const size_t middle = all->nr / 2;
	const uint64_t least = all->nr ? all->items[middle].cost.total_weight : 1;
	CHECK_EQ(selection_children_from(profile->selection, parent->id, SELECTION_BY_TOTAL, least,
					 &heavy),
		 0);
	CHECK(heavy.nr > middle || !all->nr);
	for (size_t i = 0; i < heavy.nr; i++)
		CHECK_EQ(heavy.items[i].id, all->items[i].id);
	CHECK(heavy.nr == all->nr || all->items[heavy.nr].cost.total_weight < least);
	CHECK(!heavy.nr || heavy.items[heavy.nr - 1].cost.total_weight >= least);
	free(heavy.items);
}

static void check_below(struct profile *profile, enum selection_shape shape, struct shown *chain,
			const struct selection_node *parent, int levels)
{
	struct selection_nodes nodes = {0};
	uint64_t sum = parent->cost.self;
	CHECK_EQ(selection_children(profile->selection, parent->id, SELECTION_BY_TOTAL, &nodes), 0);
	CHECK_EQ(nodes.nr != 0, parent->has_children);
	check_heavy(profile, parent, &nodes);
	for (size_t i = 0; i < nodes.nr; i++) {
		const struct selection_node *node = &nodes.items[i];
		struct selection_node again;
		CHECK_EQ(node->parent, parent->id);
		CHECK_EQ(node->depth, parent->depth + 1);
		CHECK(i == 0 || nodes.items[i - 1].cost.total_weight >= node->cost.total_weight);
		sum += node->cost.total;
		CHECK_EQ(selection_node(profile->selection, node->id, &again), 0);
		CHECK_EQ(again.parent, node->parent);
		CHECK_EQ(again.has_children, node->has_children);
		CHECK(memcmp(&again.cost, &node->cost, sizeof(again.cost)) == 0);
		chain->keys[chain->nr++] = key_of_name(
			node->label ? node->label
				    : history_function_name(profile->history, node->function));
		check_row(profile, shape, chain, node);
		if (shape == SELECTION_TREE && profile->nr_criteria == 0 && below(profile, 9) == 0)
			remembered = (struct remembered){node->id, *chain};
		if (levels > 1)
			check_below(profile, shape, chain, node, levels - 1);
		chain->nr--;
	}
	CHECK_EQ(sum, parent->cost.total);
	free(nodes.items);
}

static void check_tree(struct profile *profile, enum selection_shape shape,
		       struct function_id function, int levels)
{
	struct selection_node root;
	struct shown chain = {0};
	CHECK_EQ(selection_root(profile->selection, shape, function, &root), 0);
	CHECK_EQ(root.parent, 0);
	CHECK_EQ(root.depth, 0);
	if (!root.label)
		chain.keys[chain.nr++] = key_of(profile, root.function);
	else if (strcmp(root.label, "[all]") != 0)
		chain.keys[chain.nr++] = key_of_name(root.label);
	check_row(profile, shape, &chain, &root);
	check_below(profile, shape, &chain, &root, levels);
}

struct stack_sum {
	uint64_t samples, weight, ends[NR_STACK_ENDS];
};

static int add_stack(void *context, const struct history_stack *stack)
{
	struct stack_sum *sum = context;
	CHECK(stack->nr_frames > 0);
	sum->samples += stack->samples;
	sum->weight += stack->weight;
	sum->ends[stack->end] += stack->samples;
	return 0;
}

static int stop_at_first(void *context, const struct history_stack *stack)
{
	++*(int *)context;
	return stack->samples ? 7 : -1;
}

/* Samples shown by second, as they are given out one by one. */
enum { SECONDS_MOST = 256 };
struct moments {
	uint64_t samples, weight, before_ns;
	uint64_t by_second[SECONDS_MOST];
};

static int add_moment(void *context, const struct history_sample *sample)
{
	struct moments *moments = context;
	uint64_t second = sample->time_ns / SECOND_NS;
	CHECK(sample->stack.samples == 1 && sample->stack.nr_frames > 0);
	CHECK(sample->time_ns >= moments->before_ns && second < FIRST_SECOND + SECONDS_MOST);
	moments->before_ns = sample->time_ns;
	moments->samples++;
	moments->weight += sample->stack.weight;
	moments->by_second[second - FIRST_SECOND]++;
	return 0;
}

static void check_moments(const struct profile *profile)
{
	struct selection_totals totals = selection_totals(profile->selection);
	struct moments moments = {.before_ns = FIRST_SECOND * SECOND_NS}, wanted = {0};
	struct shown shown;
	bool passes;
	CHECK_EQ(selection_each_sample(profile->selection, add_moment, &moments), 0);
	CHECK_EQ(moments.samples, totals.samples);
	CHECK_EQ(moments.weight, totals.weight);
	/* What came to a stack in the same second before a reset, or after a pause began, is not distinguished. */
	if (profile->reset_at || profile->nr_seen != profile->nr_raws)
		return;
	for (size_t i = 0; i < profile->nr_raws; i++)
		if (take(profile, i, &shown, &passes) && passes)
			wanted.by_second[profile->raws[i].second - FIRST_SECOND]++;
	for (int i = 0; i < SECONDS_MOST; i++)
		CHECK_EQ(moments.by_second[i], wanted.by_second[i]);
}

static void check_stacks(struct profile *profile)
{
	struct stack_sum sum = {0};
	const struct selection_totals totals = selection_totals(profile->selection);
	int nr = 0;
	CHECK_EQ(selection_each_stack(profile->selection, add_stack, &sum), 0);
	CHECK_EQ(sum.samples, totals.samples);
	CHECK_EQ(sum.weight, totals.weight);
	for (size_t end = 0; end < NR_STACK_ENDS; end++)
		CHECK_EQ(sum.ends[end], totals.ends[end]);
	CHECK_EQ(selection_each_stack(profile->selection, stop_at_first, &nr),
		 totals.samples ? 7 : 0);
	CHECK_EQ(nr, totals.samples > 0);
}

static void check_tasks(struct profile *profile)
{
	struct selection_tasks threads = {0}, processes = {0};
	uint64_t of_tid[30] = {0}, of_pid[30] = {0};
	size_t nr_threads = 0;
	struct shown shown;
	bool passes;
	for (size_t i = 0; i < profile->nr_raws; i++) {
		if (!take(profile, i, &shown, &passes) || !passes)
			continue;
		nr_threads += of_tid[tids[profile->raws[i].task]]++ == 0;
		of_pid[pids[profile->raws[i].task]]++;
	}
	CHECK_EQ(selection_tasks(profile->selection, SELECTION_THREADS, -1, &threads), 0);
	CHECK_EQ(selection_tasks(profile->selection, SELECTION_PROCESSES, -1, &processes), 0);
	CHECK_EQ(threads.nr, nr_threads);
	CHECK_EQ(processes.nr, (of_pid[10] != 0) + (of_pid[20] != 0));
	for (size_t i = 0; i < threads.nr; i++) {
		CHECK(i == 0 || threads.items[i - 1].weight >= threads.items[i].weight);
		CHECK(threads.items[i].top_weight <= threads.items[i].weight);
		CHECK_EQ(threads.items[i].samples, of_tid[threads.items[i].tid]);
		CHECK_EQ(threads.items[i].nr_threads, 1);
	}
	size_t sum = 0;
	for (size_t i = 0; i < processes.nr; i++) {
		CHECK_EQ(processes.items[i].samples, of_pid[processes.items[i].pid]);
		CHECK_EQ(processes.items[i].tid, -1);
		sum += processes.items[i].nr_threads;
	}
	CHECK_EQ(sum, nr_threads);
	CHECK_EQ(selection_tasks(profile->selection, SELECTION_THREADS, 20, &threads), 0);
	CHECK_EQ(threads.nr, (of_tid[20] != 0) + (of_tid[21] != 0));
	free(threads.items);
	free(processes.items);
}

static void check_trends(struct profile *profile)
{
	enum { SECONDS = 8 };
	struct selection_functions top = {0};
	uint64_t all[SECONDS], self[8 * SECONDS], total[8 * SECONDS];
	uint64_t wanted_all[SECONDS] = {0}, wanted_self[8 * SECONDS] = {0},
		 wanted_total[8 * SECONDS] = {0};
	struct function_id functions[8];
	uint32_t seconds = profile->seconds;
	size_t seen = profile->nr_seen, first = profile->first;
	CHECK_EQ(selection_top(profile->selection, SELECTION_BY_NAME, 8, &top, NULL), 0);
	for (size_t i = 0; i < top.nr; i++)
		functions[i] = top.items[i].id;
	profile->seconds = SECONDS; /* whatever the window is */
	profile->first = 0;
	profile->nr_seen = profile->nr_raws;
	for (size_t i = 0; i < profile->nr_raws; i++) {
		struct shown shown;
		bool passes;
		if (!take(profile, i, &shown, &passes) || !passes)
			continue;
		uint64_t column = profile->raws[i].second + SECONDS - 1 - profile->end;
		uint64_t weight = profile->raws[i].weight;
		wanted_all[column] += weight;
		for (size_t row = 0; row < top.nr; row++) {
			int key = key_of(profile, functions[row]);
			wanted_self[row * SECONDS + column] +=
				shown.keys[shown.nr - 1] == key ? weight : 0;
			wanted_total[row * SECONDS + column] += contains(&shown, key) ? weight : 0;
		}
	}
	profile->seconds = seconds;
	profile->nr_seen = seen;
	profile->first = first;
	CHECK_EQ(selection_trend(profile->selection, SECONDS, all), 0);
	CHECK_EQ(selection_trend_functions(profile->selection, SELECTION_SELF, functions, top.nr,
					   SECONDS, self),
		 0);
	CHECK_EQ(selection_trend_functions(profile->selection, SELECTION_TOTAL, functions, top.nr,
					   SECONDS, total),
		 0);
	CHECK(memcmp(all, wanted_all, sizeof(all)) == 0);
	for (size_t i = 0; i < top.nr * SECONDS; i++) {
		CHECK_EQ(self[i], wanted_self[i]);
		CHECK_EQ(total[i], wanted_total[i]);
	}
	free(top.items);
}

static void check_detail(struct profile *profile, struct function_id function)
{
	struct selection_detail detail = {0};
	int key = key_of(profile, function);
	uint64_t total = 0, incomplete = 0, unnamed = 0, threads = 0, callers = 0, callees = 0;
	struct shown shown;
	bool passes;
	for (size_t i = 0; i < profile->nr_raws; i++) {
		if (!take(profile, i, &shown, &passes) || !passes || !contains(&shown, key))
			continue;
		uint64_t weight = profile->raws[i].weight;
		total += weight;
		incomplete += end_key(profile->raws[i].end) ? weight : 0;
		struct shown whole = shown_whole(profile, &profile->raws[i]);
		unnamed += contains(&whole, UNNAMED) ? weight : 0;
	}
	CHECK_EQ(selection_detail(profile->selection, function, &detail), 0);
	CHECK_EQ(detail.cost.total_weight, total);
	CHECK_EQ(detail.incomplete, incomplete);
	CHECK_EQ(detail.unnamed, unnamed);
	for (size_t i = 0; i < detail.threads.nr; i++)
		threads += detail.threads.items[i].weight;
	CHECK_EQ(threads, total);
	for (size_t i = 0; i < detail.callers.nr; i++)
		callers += detail.callers.items[i].cost.total_weight;
	for (size_t i = 0; i < detail.callees.nr; i++)
		callees += detail.callees.items[i].cost.total_weight;
	CHECK(callers <= total);
	CHECK_EQ(callees + detail.own, total);
	selection_detail_release(&detail);
	CHECK(!detail.callers.items);
}

static void check_flame(struct profile *profile)
{
	struct selection_boxes boxes = {0};
	struct selection_node root;
	CHECK_EQ(selection_root(profile->selection, SELECTION_TREE, (struct function_id){0}, &root),
		 0);
	uint64_t least = root.cost.total_weight / 20 + 1;
	CHECK_EQ(selection_flame(profile->selection, root.id, SELECTION_BY_NAME, least, 6, &boxes),
		 0);
	CHECK(boxes.nr > 0 && boxes.items[0].parent == 0 && boxes.items[0].at == 0);
	uint64_t *below_box = calloc(boxes.nr, sizeof(*below_box));
	CHECK(below_box);
	for (size_t i = 1; i < boxes.nr; i++) {
		const struct selection_box *box = &boxes.items[i],
					   *above = &boxes.items[box->parent];
		CHECK(box->parent < i);
		CHECK_EQ(box->node.parent, above->node.id);
		CHECK(box->node.cost.total_weight >= least);
		CHECK_EQ(box->at, above->at + below_box[box->parent]);
		below_box[box->parent] += box->node.cost.total_weight;
	}
	for (size_t i = 0; i < boxes.nr; i++) {
		const struct selection_node *node = &boxes.items[i].node;
		uint64_t below_it = node->cost.total_weight - node->cost.self_weight;
		CHECK_EQ(below_box[i] + boxes.items[i].hidden, node->depth < 6 ? below_it : 0);
	}
	free(below_box);
	free(boxes.items);
}

static void check_all(struct profile *profile)
{
	struct selection_functions top = {0};
	check_totals(profile);
	check_top(profile);
	check_groups(profile);
	check_tree(profile, SELECTION_TREE, (struct function_id){0}, 3);
	check_tree(profile, SELECTION_INVERTED, (struct function_id){0}, 3);
	CHECK_EQ(selection_top(profile->selection, SELECTION_BY_TOTAL, 0, &top, NULL), 0);
	if (top.nr) {
		struct function_id one = top.items[below(profile, top.nr)].id;
		check_tree(profile, SELECTION_CALLERS, one, 3);
		check_tree(profile, SELECTION_CALLEES, one, 3);
		check_detail(profile, one);
	}
	free(top.items);
	check_stacks(profile);
	check_moments(profile);
	check_tasks(profile);
	check_trends(profile);
	check_flame(profile);
}

/* ---- what changes between refreshes ---- */

static void refresh(struct profile *profile, uint64_t end, bool recount)
{
	if (end != profile->end || recount) {
		profile->nr_seen = profile->nr_raws;
		profile->first = profile->seconds ? 0 : profile->reset_at;
	}
	profile->end = end;
	CHECK_EQ(selection_refresh(profile->selection, end * SECOND_NS + 7), 0);
}

static struct selection_criterion random_criterion(struct profile *profile)
{
	struct selection_functions top = {0};
	struct selection_criterion criterion = {.drop = below(profile, 3) == 0};
	CHECK_EQ(selection_top(profile->selection, SELECTION_BY_TOTAL, 0, &top, NULL), 0);
	if (top.nr)
		criterion.function = top.items[below(profile, top.nr)].id;
	criterion.what = (enum selection_what)below(profile, top.nr ? 7 : 6);
	free(top.items);
	if (criterion.what == SELECTION_TEXT)
		criterion.text = below(profile, 2) ? "parse" : "Parse";
	else if (criterion.what == SELECTION_MODULE)
		criterion.text = below(profile, 2) ? "program" : "[kernel]";
	else if (criterion.what == SELECTION_THREAD)
		criterion.number = tids[below(profile, NR_TASKS)];
	else if (criterion.what == SELECTION_PROCESS)
		criterion.number = pids[below(profile, NR_TASKS)];
	else if (criterion.what == SELECTION_EVENT)
		criterion.number = (int32_t)below(profile, NR_EVENTS);
	return criterion;
}

static void change_filter(struct profile *profile)
{
	profile->nr_criteria = below(profile, 3);
	for (size_t i = 0; i < profile->nr_criteria; i++)
		profile->criteria[i] = random_criterion(profile);
	if (remembered.id && below(profile, 2))
		profile->criteria[profile->nr_criteria++] =
			(struct selection_criterion){.what = SELECTION_SUBTREE,
						     .id = remembered.id,
						     .drop = below(profile, 3) == 0};
	CHECK_EQ(selection_set_filter(profile->selection, profile->criteria, profile->nr_criteria),
		 0);
}

static bool change_window(struct profile *profile)
{
	static const uint32_t lengths[] = {0, 1, 2, 10, 30};
	uint32_t seconds = lengths[below(profile, 5)];
	bool other = seconds != profile->seconds;
	profile->seconds = seconds;
	CHECK_EQ(selection_set_seconds(profile->selection, seconds), 0);
	return other;
}

static void name_one(struct profile *profile)
{
	int function = (int)below(profile, NR_FUNCTIONS);
	if (!profile->named[function])
		name_function(profile, function);
}

static void check_random(uint64_t seed)
{
	struct profile profile;
	uint64_t second = FIRST_SECOND;
	bool was_reset = false;
	remembered = (struct remembered){0};
	open_profile(&profile, seed);
	for (int step = 0; step < 40; step++) {
		for (uint64_t i = below(&profile, 60); i > 0; i--)
			import_random(&profile, second);
		bool recount = step == 0;
		if (below(&profile, 3) == 0)
			recount = change_window(&profile) || recount;
		if (below(&profile, 4) == 0)
			change_filter(&profile);
		if (below(&profile, 8) == 0)
			name_one(&profile);
		if (below(&profile, 15) == 0) {
			CHECK_EQ(selection_reset(profile.selection), 0);
			profile.reset_at = profile.nr_raws;
			was_reset = recount = true;
		}
		/* Paused, or at the newest second, or looking back. */
		uint64_t end = profile.newest;
		if (step && below(&profile, 3) == 0)
			end = profile.end;
		else if (!was_reset && below(&profile, 8) == 0)
			end = profile.newest - below(&profile, profile.newest - FIRST_SECOND + 1);
		if (was_reset && recount)
			end = profile.newest;
		refresh(&profile, end, recount);
		check_all(&profile);
		second += below(&profile, 2) ? 0 : below(&profile, 4);
	}
	close_profile(&profile);
}

static void like_counting_by_hand(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		check_random(seed);
}

int main(void)
{
	RUN(like_counting_by_hand);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include <ctop/screen/shares.h>

#include <ctop/history/timeline.h>

static double share_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* What they did in a range of time the timeline has. */
static bool times_in(const struct model *model, const struct zoom *range, int32_t pid, int32_t tid,
		     struct ui_times *times)
{
	struct timeline *timeline = model->history ? history_timeline(model->history) : NULL;
	struct timeline_states states;
	if (!timeline ||
	    !timeline_states_in(timeline, pid, tid, range->from_ns, range->to_ns, &states))
		return false;
	*times = (struct ui_times){
		.cpu_percent =
			share_percent(states.ns[THREAD_COMPUTES], range->to_ns - range->from_ns),
		.running_percent = share_percent(states.ns[THREAD_COMPUTES], states.lived_ns),
		.runnable_percent = share_percent(states.ns[THREAD_QUEUES], states.lived_ns),
		.waiting_percent = share_percent(states.ns[THREAD_WAITS], states.lived_ns),
	};
	return true;
}

/* Since a reset nobody knows. */
bool model_times(const struct model *model, int32_t pid, int32_t tid, struct ui_times *times)
{
	const struct zoom *range = model_range(model);
	if (range)
		return times_in(model, range, pid, tid, times);
	const uint32_t seconds = model_window_s(model);
	return model->host->times && (seconds || !model->begun_s) &&
	       model->host->times(model->host->context, pid, tid, seconds, times);
}

double model_percent(const struct model *model, uint64_t weight)
{
	uint64_t whole = model->of_all ? model->totals.all_weight : model->totals.weight;
	return share_percent(weight, whole);
}

uint64_t model_least_weight(const struct model *model)
{
	const uint64_t whole = model->of_all ? model->totals.all_weight : model->totals.weight;
	return (uint64_t)((double)whole * model->least_percent / 100 * 0.999);
}

bool model_hides(const struct model *model, uint64_t weight)
{
	return !weight || model_percent(model, weight) < model->least_percent;
}

enum role model_percent_role(const struct model *model, double percent)
{
	if (changes_known(model))
		return ROLE_TEXT;
	return percent >= 10 ? ROLE_HOT : percent >= 2 ? ROLE_WARM : ROLE_TEXT;
}

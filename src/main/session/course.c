/* SPDX-License-Identifier: MIT */
#include <ctop/session/course.h>

#include <ctop/base/clock.h>

static uint64_t add_seconds(uint64_t ns, double seconds)
{
	return ns + (uint64_t)(seconds * (double)NS_PER_SECOND);
}

/*
 * Where thousands of events were to be enabled on busy CPUs, the first have sampled for seconds by now: that counts, but
 * all are to be there for half of the time at least.
 */
static uint64_t end_of_sampling(struct session *session, const struct options *options,
				uint64_t start_ns)
{
	const uint64_t latest_ns = add_seconds(start_ns, options->duration_seconds);
	const uint64_t least_ns = add_seconds(start_ns, options->duration_seconds / 2);
	if (!session_is_on(session) || options->argv || options->delay_seconds > 0)
		return latest_ns;
	const struct session_stats stats = session_stats(session);
	const uint64_t end_ns = add_seconds(stats.start_ns, options->duration_seconds);
	return end_ns > latest_ns ? latest_ns : end_ns > least_ns ? end_ns : least_ns;
}

void course_begin(struct course *course, struct session *session, const struct options *options)
{
	uint64_t start_ns = clock_now_ns();
	*course = (struct course){0};
	if (options->delay_seconds > 0)
		start_ns = course->switch_on_ns = add_seconds(start_ns, options->delay_seconds);
	if (options->duration_seconds > 0)
		course->stop_ns = end_of_sampling(session, options, start_ns);
}

void course_toggle(struct course *course)
{
	course->nr_toggles++;
	course->switch_on_ns = 0;
}

uint64_t course_due_ns(const struct course *course)
{
	const uint64_t on_ns = course->switch_on_ns ? course->switch_on_ns : UINT64_MAX;
	const uint64_t stop_ns = course->stop_ns ? course->stop_ns : UINT64_MAX;
	return on_ns < stop_ns ? on_ns : stop_ns;
}

void course_stop(struct course *course)
{
	*course = (struct course){.stop_ns = 1};
}

int course_keep(struct course *course, struct session *session, enum course_change *change,
		struct error *error)
{
	const uint64_t now = clock_now_ns();
	const bool is_due = course->switch_on_ns && now >= course->switch_on_ns;
	const bool is_toggled = course->nr_toggles % 2;
	*change = course->nr_toggles ? COURSE_SWITCHED : COURSE_SAME;
	int result = 0;
	if (is_due || is_toggled)
		result = session_switch(session, is_due || !session_is_on(session), error);
	course->nr_toggles = 0;
	if (is_due)
		course->switch_on_ns = 0;
	if (!course->stop_ns || now < course->stop_ns)
		return result;
	*course = (struct course){0};
	*change = COURSE_STOPPED;
	session_stop(session);
	return result;
}

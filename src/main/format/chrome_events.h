/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_CHROME_EVENTS_H
#define CTOP_FORMAT_CHROME_EVENTS_H

/* Events in the rows of threads' states (chrome_states.c): what happened to a thread, from the history's timeline. */

#include <ctop/base/text.h>
#include <ctop/format/formats.h>
#include <ctop/history/timeline.h>

/* Rows of states have ids above those of all events: chrome.c. */
#define CHROME_STATES_FIRST_ID UINT64_C(10000000000)

/* Of a thread's row; of several recordings each has its own. */
uint64_t chrome_states_id(const struct timeline_thread *thread);
void chrome_add_us(uint64_t ns, struct text *out);
/* An event of a thread's row up to its name, which comes next. */
void chrome_begin_event(const struct timeline_thread *thread, const char *phase, uint64_t ns,
			const char *category, struct text *out);

/* What of the timeline is exported: as the history's filter has it, of threads and of time. */
struct chrome_part {
	const struct export_request *request;
	const struct timeline *timeline;
	const struct history_filter *filter;
	uint64_t from_ns, to_ns;
};
struct chrome_part chrome_part_of(const struct export_request *request,
				  const struct timeline *timeline);
bool chrome_shows(const struct chrome_part *part, const struct timeline_thread *thread);
static inline bool chrome_shows_at(const struct chrome_part *part, uint64_t ns)
{
	return ns >= part->from_ns && ns <= part->to_ns;
}
/* False: none of it is in the part; else it is cut. */
bool chrome_cut(const struct chrome_part *part, uint64_t *from_ns, uint64_t *to_ns);

/* Who created threads, their ends, where they were preempted and migrated. 0 or -errno. */
int chrome_add_events(const struct chrome_part *part, struct text *out);

#endif

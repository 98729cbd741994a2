/* SPDX-License-Identifier: MIT */
#include "attach_internal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ctop/base/vec.h>

/* Opening and switching more takes too long for what a better rate is worth. */
enum { PACED_ROWS_MAX = 20000 };

/* There is room for both, whose rows are alike. */
static void add_row(struct sampler *sampler, const struct sampler_fd *of, uint64_t id)
{
	sampler->fds.items[sampler->fds.nr++] = *of;
	sampler->ids.items[sampler->ids.nr++] = (struct sampler_id){
		.id = id,
		.event = of->event,
		.tid = of->tid,
		.cpu = sampler->rings[of->ring].cpu,
		.set = of->set,
	};
}

/* leader: the descriptor of the first event of its group; -1: it has none or is the first. */
static int attach_one(struct sampler *sampler, struct sampler_fd of, int leader)
{
	uint64_t id = 0;
	if (vec_reserve(&sampler->fds, sampler->fds.nr + 1) ||
	    vec_reserve(&sampler->ids, sampler->ids.nr + 1))
		return -ENOMEM;
	of.fd = -1;
	/* Rows of all sets are alike, also where events have fewer. */
	if (of.set >= sets_of(sampler, of.event)->nr) {
		add_row(sampler, &of, id);
		return 0;
	}
	const struct perf_event_attr attr = sets_attr(sampler, of.event, of.set);
	of.fd = sampler_open_on(sampler, &attr, of.tid, sampler->rings[of.ring].cpu, leader);
	if (of.fd < 0)
		return of.fd;
	int result = ioctl(of.fd, PERF_EVENT_IOC_ID, &id) < 0 ? -errno : 0;
	if (result) {
		close(of.fd);
		return result;
	}
	add_row(sampler, &of, id);
	const char *filter = sampler->options.events[of.event].filter;
	if (filter && ioctl(of.fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0)
		result = -errno;
	/* A ring exists from its first mapping on. */
	if (!result && sampler->holds_rings &&
	    ioctl(of.fd, PERF_EVENT_IOC_SET_OUTPUT, sampler->rings[of.ring].fd) < 0)
		result = -errno;
	return result;
}

/* Every event of one set. */
static int attach_set(struct attaching *attaching, struct sampler_fd of)
{
	struct sampler *sampler = attaching->sampler;
	const size_t nr_before = sampler->fds.nr;
	int result = 0;
	for (of.event = 0; !result && of.event < sampler->options.nr_events; of.event++) {
		const uint32_t first = ladder_group_leader(sampler, of.event);
		int leader = first == of.event ? -1 : sampler->fds.items[nr_before + first].fd;
		attaching->event = of.event;
		result = attach_one(sampler, of, leader);
	}
	return result;
}

void detach_from(struct sampler *sampler, size_t row)
{
	if (row > sampler->fds.nr)
		return;
	for (size_t i = row; i < sampler->fds.nr; i++)
		if (sampler->fds.items[i].fd >= 0)
			close(sampler->fds.items[i].fd);
	sampler->fds.nr = sampler->ids.nr = row;
}

void leave_other_sets(struct attaching *attaching)
{
	struct sampler *sampler = attaching->sampler;
	size_t nr = 0, begins = 0;
	for (size_t i = 0; i < sampler->fds.nr; i++) {
		struct sampler_fd *event = &sampler->fds.items[i];
		if (event->set != sampler->in_use[event->event]) {
			if (event->fd >= 0)
				close(event->fd);
			continue;
		}
		begins += i < attaching->begins;
		event->set = sampler->ids.items[i].set = 0;
		sampler->ids.items[nr] = sampler->ids.items[i];
		sampler->fds.items[nr++] = *event;
	}
	sampler->fds.nr = sampler->ids.nr = nr;
	attaching->begins = begins;
	attaching->left_others = true;
	sets_leave_others(sampler);
}

static int attach_sets(struct attaching *attaching, struct sampler_fd of)
{
	const struct sampler *sampler = attaching->sampler;
	int result = 0;
	for (of.set = 0; !result && of.set < sampler->nr_sets; of.set++)
		result = attach_set(attaching, of);
	return result;
}

int attach_thread(struct attaching *attaching, int32_t tid)
{
	struct sampler *sampler = attaching->sampler;
	struct sampler_fd of = {.fd = -1, .tid = tid};
	int result = 0;
	for (of.ring = 0; !result && of.ring < sampler->nr_rings; of.ring++) {
		const size_t nr_before = sampler->fds.nr;
		if (sets_any_paced(sampler) && nr_before >= PACED_ROWS_MAX &&
		    !attaching->is_running)
			return -EMFILE;
		result = attach_sets(attaching, of);
		attaching->lacks_registers |= result == -ENOSPC;
		const bool is_too_much = result == -EMFILE || result == -ENOSPC;
		if (sets_any_paced(sampler) || !is_too_much || sampler->nr_sets < 2 ||
		    attaching->is_running)
			continue;
		detach_from(sampler, nr_before);
		leave_other_sets(attaching);
		result = attach_sets(attaching, of);
	}
	return result;
}

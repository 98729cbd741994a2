/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ctop/base/vec.h>

void side_rings_close(struct side_rings *rings)
{
	for (size_t i = 0; i < rings->fds.nr; i++)
		close(rings->fds.items[i]);
	free(rings->fds.items);
	for (size_t i = 0; i < rings->nr; i++) {
		ring_unmap(&rings->items[i].ring);
		if (rings->items[i].fd >= 0)
			close(rings->items[i].fd);
	}
	free(rings->items);
	*rings = (struct side_rings){0};
}

static int open_rings(const struct sampler *sampler, struct side_rings *rings, uint32_t pages,
		      uint32_t wakeup_bytes)
{
	rings->items = calloc(sampler->nr_rings, sizeof(*rings->items));
	if (!rings->items)
		return -ENOMEM;
	int result = 0;
	for (size_t i = 0; !result && i < sampler->nr_rings; i++) {
		struct side_ring *ring = &rings->items[rings->nr++];
		ring->cpu = sampler->rings[i].cpu;
		ring->fd = perf_open_ring_owner(ring->cpu, wakeup_bytes);
		result = ring->fd < 0 ? ring->fd : ring_map(&ring->ring, ring->fd, pages);
	}
	if (result)
		side_rings_close(rings);
	return result;
}

void side_rings_open(const struct sampler *sampler, struct side_rings *rings, uint32_t pages,
		     uint32_t pages_least, uint32_t wakeup_bytes)
{
	while (open_rings(sampler, rings, pages, wakeup_bytes) == -EPERM && pages > pages_least)
		pages /= 2;
}

int side_rings_follow(const struct sampler *sampler, struct side_rings *rings,
		      const struct perf_event_attr *attr, const struct sampler_fd *of)
{
	if (vec_reserve(&rings->fds, rings->fds.nr + 1))
		return -ENOMEM;
	int fd = sampler_open_on(sampler, attr, of->tid, sampler->rings[of->ring].cpu, -1);
	if (fd < 0)
		return fd;
	rings->fds.items[rings->fds.nr++] = fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->items[of->ring].fd) < 0 ? -errno : 0;
}

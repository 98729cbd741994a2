/* SPDX-License-Identifier: MIT */
#include <ctop/app/child.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include <ctop/base/channel.h>
#include <ctop/base/fault.h>
#include <ctop/base/jail.h>
#include <ctop/collect/collector.h>
#include <ctop/object/object.h>

#include "child_link.h"

#define MIB ((size_t)1 << 20)

/* What a jailed child may be, and what it may use. */
static const struct role {
	const char *name;
	int (*run)(struct channel *channel);
	bool maps_strangers_files;
	struct jail_limits limits;
} roles[] = {
	/* Unwind tables and their rules, address spaces, the interning indexes. */
	{"collector", collector_run, true, {.heap_bytes = 512 * MIB, .nr_descriptors = 4096}},
	/* Symbol tables: a decompressed one of a large program is hundreds of MiB. */
	{"symbolizer",
	 symbolizer_child_run,
	 true,
	 {.heap_bytes = 1024 * MIB, .nr_descriptors = 4096}},
	{"uprobe", uprobe_child_run, true, {.heap_bytes = 512 * MIB, .nr_descriptors = 16}},
	{"prober", prober_child_run, true, {.heap_bytes = 64 * MIB, .nr_descriptors = 16}},
	{"reader", reader_child_run, false, {.heap_bytes = 512 * MIB, .nr_descriptors = 64}},
	{"writer",
	 writer_child_run,
	 false,
	 {.heap_bytes = 16 * MIB, .nr_descriptors = 16, .outlives_parent = true}},
};

int child_main(const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(roles[i].name, name) != 0)
			continue;
		fault_begin(name);
		char comm[16]; /* else it is "exe", after what was executed */
		snprintf(comm, sizeof(comm), "ctop-%s", name);
		prctl(PR_SET_NAME, comm);
		struct jail_limits limits = roles[i].limits;
		if (jail_sanitized())
			limits.heap_bytes = 0;
		if (jail_enter(&limits))
			return 1;
		if (roles[i].maps_strangers_files && object_survive_cut_files())
			return 1;
		/* A sanitizer's run time needs more. A kernel without filters has the rest of the jail. */
		int filtered = jail_sanitized() ? 0 : jail_filter();
		if (filtered && filtered != -EINVAL && filtered != -ENOSYS)
			return 1;
		struct channel *channel = channel_new(JAIL_CHANNEL_FD, CHANNEL_CHILD);
		fault_at("jailed", "", channel);
		return channel && roles[i].run(channel) == 0 ? 0 : 1;
	}
	return 1;
}

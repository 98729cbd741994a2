/* SPDX-License-Identifier: MIT */
#include <ctop/child/child.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include <ctop/base/fault.h>
#include <ctop/base/lost_pages.h>
#include <ctop/collect/collector.h>
#include <ctop/disassembler/listing.h>
#include <ctop/elf/object.h>
#include <ctop/http/http_server.h>
#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>
#include <ctop/lines/source_lines.h>

#include "child_link.h"
#include "child_role.h"

#define MIB ((size_t)1 << 20)

/* To read an ELF file, with libelf. */
enum { READS_ELF = JAIL_READS_AT | JAIL_MAPS_FILES };
/* The status, the tables, the eventfds. */
enum { SHARES = JAIL_SHARES_MEMORY | JAIL_READS | JAIL_WRITES };

const struct child_role child_roles[] = {
	/* Unwind tables and their rules, address spaces, the interning indexes. */
	{"collector",
	 collector_run,
	 SHARES | READS_ELF | JAIL_SEEKS,
	 {.heap_bytes = 512 * MIB, .nr_descriptors = 4096, .is_prompt = true},
	 NULL},
	/* Symbol tables: a decompressed one of a large program is hundreds of MiB. */
	{"symbolizer",
	 symbolizer_child_run,
	 SHARES | READS_ELF,
	 {.heap_bytes = 1024 * MIB, .nr_descriptors = 4096},
	 source_lines_prepare},
	{"uprobe",
	 uprobe_child_run,
	 READS_ELF,
	 {.heap_bytes = 512 * MIB, .nr_descriptors = 16},
	 NULL},
	/* DWARF of a large program. */
	{"goroutines",
	 goroutines_child_run,
	 READS_ELF,
	 {.heap_bytes = 512 * MIB, .nr_descriptors = 16},
	 NULL},
	/* Main waits 2 s for its one answer, however busy the CPUs are. */
	{"prober",
	 prober_child_run,
	 READS_ELF,
	 {.heap_bytes = 64 * MIB, .nr_descriptors = 16, .is_prompt = true},
	 NULL},
	/* Symbols and lines, as the symbolizer, and a listing that main gives the memory for. */
	{"disassembler",
	 disassembler_child_run,
	 JAIL_SHARES_MEMORY | READS_ELF,
	 {.heap_bytes = 1024 * MIB, .nr_descriptors = 64},
	 listing_prepare},
	/* Its library needs half of that for 256 clients; answers are files of main's. */
	{"http",
	 http_serve,
	 JAIL_MAPS_FILES | JAIL_SERVES,
	 {.heap_bytes = 32 * MIB, .nr_descriptors = 512},
	 http_prepare},
	{"reader", reader_child_run, SHARES, {.heap_bytes = 512 * MIB, .nr_descriptors = 64}, NULL},
	{"writer",
	 writer_child_run,
	 SHARES,
	 {.heap_bytes = 16 * MIB, .nr_descriptors = 16, .outlives_parent = true},
	 NULL},
	{.name = NULL},
};

int child_enter(const struct child_role *role, unsigned *walls)
{
	struct jail_limits limits = role->limits;
	if (jail_sanitized())
		limits.heap_bytes = 0;
	int result = jail_enter(&limits, walls);
	if (!result && role->rights & JAIL_MAPS_FILES)
		result = lost_pages_survive();
	return result;
}

static int run(const struct child_role *role)
{
	unsigned walls;
	char comm[16]; /* else it is "exe", after what was executed */
	fault_begin(role->name);
	/* As jail_enter() does first of all, which comes behind that. */
	if (role->prepare && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
		role->prepare();
	if (child_enter(role, &walls))
		return 1;
	snprintf(comm, sizeof(comm), "ctop-%s", role->name);
	prctl(PR_SET_NAME, comm);
	/* A sanitizer's run time needs more. A kernel without filters has the rest of the jail. */
	int filtered = jail_sanitized() ? -ENOSYS : jail_filter(role->rights);
	if (filtered && filtered != -EINVAL && filtered != -ENOSYS)
		return 1;
	walls |= filtered ? 0 : JAIL_FILTER;
	struct channel *channel = channel_new(JAIL_CHANNEL_FD, CHANNEL_CHILD);
	if (!channel || channel_say_hello(channel, walls))
		return 1; /* main is gone, or never was */
	fault_at("jailed", "", channel);
	return role->run(channel) == 0 ? 0 : 1;
}

/*
 * The children that may connect: "fetcher:UID:GID", "pusher:UID:GID", the user and group that they are to be. They are no rows of the table: of
 * what the others' jail keeps out they need paths, the network and what libraries do with both.
 */
static int run_connecting(const char *ids, const char *comm,
			  int (*child_run)(struct channel *channel))
{
	unsigned uid, gid;
	if (sscanf(ids, "%u:%u", &uid, &gid) != 2 || jail_enter_as(uid, gid))
		return 1;
	prctl(PR_SET_NAME, comm);
	struct channel *channel = channel_new(JAIL_CHANNEL_FD, CHANNEL_CHILD);
	if (!channel || channel_say_hello(channel, 0))
		return 1;
	return child_run(channel) == 0 ? 0 : 1;
}

int child_main(const char *name)
{
	static const char fetcher[] = "fetcher:", pusher[] = "pusher:";
	if (!strncmp(name, fetcher, sizeof(fetcher) - 1))
		return run_connecting(name + sizeof(fetcher) - 1, "ctop-fetcher",
				      fetcher_child_run);
	if (!strncmp(name, pusher, sizeof(pusher) - 1))
		return run_connecting(name + sizeof(pusher) - 1, "ctop-pusher", pusher_child_run);
	for (const struct child_role *role = child_roles; role->name; role++)
		if (!strcmp(role->name, name))
			return run(role);
	return 1;
}

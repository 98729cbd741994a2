/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/named_events.h>

#include <linux/perf_event.h>

#define HARDWARE(name, number, unit, description)                                                  \
	{                                                                                          \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##number, WEIGHT_##unit, description       \
	}
#define SOFTWARE(name, number, unit, description)                                                  \
	{                                                                                          \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##number, WEIGHT_##unit, description       \
	}

const struct named_event named_events[] = {
	HARDWARE("cycles", CPU_CYCLES, CYCLES, "CPU cycles"),
	HARDWARE("cpu-cycles", CPU_CYCLES, CYCLES, "the same as cycles"),
	HARDWARE("instructions", INSTRUCTIONS, INSTRUCTIONS, "retired instructions"),
	HARDWARE("cache-references", CACHE_REFERENCES, ACCESSES,
		 "accesses of the last cache level"),
	HARDWARE("cache-misses", CACHE_MISSES, MISSES, "misses of the last cache level"),
	HARDWARE("branches", BRANCH_INSTRUCTIONS, BRANCHES, "retired branches"),
	HARDWARE("branch-instructions", BRANCH_INSTRUCTIONS, BRANCHES, "the same as branches"),
	HARDWARE("branch-misses", BRANCH_MISSES, MISSES, "mispredicted branches"),
	HARDWARE("bus-cycles", BUS_CYCLES, CYCLES, "cycles of the bus"),
	HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND, CYCLES,
		 "cycles that waited for instructions"),
	HARDWARE("idle-cycles-frontend", STALLED_CYCLES_FRONTEND, CYCLES,
		 "the same as stalled-cycles-frontend"),
	HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND, CYCLES,
		 "cycles that waited for data or units"),
	HARDWARE("idle-cycles-backend", STALLED_CYCLES_BACKEND, CYCLES,
		 "the same as stalled-cycles-backend"),
	HARDWARE("ref-cycles", REF_CPU_CYCLES, CYCLES, "cycles at the reference frequency"),
	SOFTWARE("cpu-clock", CPU_CLOCK, NS, "time on a CPU, by its timer"),
	SOFTWARE("task-clock", TASK_CLOCK, NS, "time that the task ran"),
	SOFTWARE("page-faults", PAGE_FAULTS, FAULTS, "page faults"),
	SOFTWARE("faults", PAGE_FAULTS, FAULTS, "the same as page-faults"),
	SOFTWARE("minor-faults", PAGE_FAULTS_MIN, FAULTS, "page faults without I/O"),
	SOFTWARE("major-faults", PAGE_FAULTS_MAJ, FAULTS, "page faults with I/O"),
	SOFTWARE("context-switches", CONTEXT_SWITCHES, SWITCHES, "switches away from the task"),
	SOFTWARE("cs", CONTEXT_SWITCHES, SWITCHES, "the same as context-switches"),
	SOFTWARE("cpu-migrations", CPU_MIGRATIONS, MIGRATIONS, "moves to another CPU"),
	SOFTWARE("migrations", CPU_MIGRATIONS, MIGRATIONS, "the same as cpu-migrations"),
	SOFTWARE("cgroup-switches", CGROUP_SWITCHES, SWITCHES,
		 "switches to a task of another cgroup"),
	SOFTWARE("alignment-faults", ALIGNMENT_FAULTS, FAULTS,
		 "unaligned accesses that the kernel fixed up"),
	SOFTWARE("emulation-faults", EMULATION_FAULTS, FAULTS,
		 "instructions that the kernel emulated"),
	SOFTWARE("dummy", DUMMY, EVENTS, NULL),
	SOFTWARE("bpf-output", BPF_OUTPUT, EVENTS, NULL),
};
const size_t nr_named_events = sizeof(named_events) / sizeof(*named_events);

static const struct named_event *find(uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < nr_named_events; i++)
		if (named_events[i].type == type && named_events[i].config == config)
			return &named_events[i];
	return NULL;
}

const char *event_name(uint32_t type, uint64_t config)
{
	const struct named_event *event = find(type, config);
	return event ? event->name : NULL;
}

enum weight_unit event_unit(uint32_t type, uint64_t config)
{
	/* Above a counter's number stands which of several PMUs. */
	const struct named_event *event =
		find(type, type == PERF_TYPE_HARDWARE ? config & UINT32_MAX : config);
	if (event)
		return event->unit;
	switch (type) {
	case PERF_TYPE_HW_CACHE:
		return (config >> 16 & 0xff) == PERF_COUNT_HW_CACHE_RESULT_MISS ? WEIGHT_MISSES
										: WEIGHT_ACCESSES;
	case PERF_TYPE_TRACEPOINT:
		return WEIGHT_HITS;
	case PERF_TYPE_BREAKPOINT:
		return WEIGHT_ACCESSES;
	default:
		return WEIGHT_EVENTS;
	}
}

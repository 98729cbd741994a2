/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/event_unit.h>

#include <linux/perf_event.h>

static enum weight_unit software_unit(uint64_t config)
{
	switch (config) {
	case PERF_COUNT_SW_CPU_CLOCK:
	case PERF_COUNT_SW_TASK_CLOCK:
		return WEIGHT_NS;
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
	case PERF_COUNT_SW_ALIGNMENT_FAULTS:
	case PERF_COUNT_SW_EMULATION_FAULTS:
		return WEIGHT_FAULTS;
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_CGROUP_SWITCHES:
		return WEIGHT_SWITCHES;
	case PERF_COUNT_SW_CPU_MIGRATIONS:
		return WEIGHT_MIGRATIONS;
	default:
		return WEIGHT_EVENTS;
	}
}

static enum weight_unit hardware_unit(uint64_t config)
{
	switch (config & UINT32_MAX) { /* above it: which of several PMUs */
	case PERF_COUNT_HW_INSTRUCTIONS:
		return WEIGHT_INSTRUCTIONS;
	case PERF_COUNT_HW_CACHE_REFERENCES:
		return WEIGHT_ACCESSES;
	case PERF_COUNT_HW_CACHE_MISSES:
	case PERF_COUNT_HW_BRANCH_MISSES:
		return WEIGHT_MISSES;
	case PERF_COUNT_HW_BRANCH_INSTRUCTIONS:
		return WEIGHT_BRANCHES;
	case PERF_COUNT_HW_CPU_CYCLES:
	case PERF_COUNT_HW_BUS_CYCLES:
	case PERF_COUNT_HW_REF_CPU_CYCLES:
	case PERF_COUNT_HW_STALLED_CYCLES_FRONTEND:
	case PERF_COUNT_HW_STALLED_CYCLES_BACKEND:
		return WEIGHT_CYCLES;
	default:
		return WEIGHT_EVENTS;
	}
}

enum weight_unit event_unit(uint32_t type, uint64_t config)
{
	switch (type) {
	case PERF_TYPE_SOFTWARE:
		return software_unit(config);
	case PERF_TYPE_HARDWARE:
		return hardware_unit(config);
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

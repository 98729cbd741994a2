/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/stats_table.h>

#include <stdio.h>
#include <string.h>

#define COUNT(name, field, uses)                                                                   \
	{                                                                                          \
		name, NULL, offsetof(struct session_stats, field), uses                            \
	}
#define DROPPED(reason, uses)                                                                      \
	{                                                                                          \
		"dropped." #reason, #reason, offsetof(struct session_stats, dropped_##reason),     \
			uses                                                                       \
	}

/* In the order in which a recording has them. */
const struct stat_row stat_rows[] = {
	COUNT("samples", samples, 0),
	COUNT("lost", lost, STAT_RECORDED | STAT_OF_FILE),
	COUNT("late", late, STAT_RECORDED | STAT_OF_FILE),
	COUNT("throttled", throttled, STAT_RECORDED | STAT_OF_FILE),
	DROPPED(overrun, STAT_RECORDED),
	DROPPED(disk, STAT_RECORDED),
	DROPPED(crash, STAT_RECORDED | STAT_OF_FILE),
	DROPPED(damaged, STAT_RECORDED | STAT_OF_FILE),
	DROPPED(double, STAT_RECORDED),
	DROPPED(own, STAT_RECORDED),
	DROPPED(foreign, STAT_RECORDED),
	DROPPED(comm, STAT_RECORDED),
	DROPPED(uid, STAT_RECORDED),
	COUNT("drained", drained, STAT_RECORDED | STAT_OF_FILE),
	COUNT("cpus.busy_ns", cpus_busy_ns, STAT_RECORDED),
	COUNT("cpus.idle_ns", cpus_idle_ns, STAT_RECORDED),
	COUNT("cpus.stolen_ns", cpus_stolen_ns, STAT_RECORDED),
	COUNT("fewer_ns", fewer_ns, STAT_RECORDED),
	COUNT("lost_sideband", lost_sideband, STAT_RECORDED),
	COUNT("unfollowed", unfollowed, STAT_RECORDED),
	COUNT("undrained", undrained, STAT_RECORDED),
	COUNT("events_counted", events_counted, STAT_RECORDED),
	COUNT("events_sampled", events_sampled, 0),
	COUNT("frames", frames, 0),
	COUNT("cpu_ns.main", cpu_ns[0], STAT_COST),
	COUNT("cpu_ns.collector", cpu_ns[1], STAT_COST),
	COUNT("cpu_ns.symbolizer", cpu_ns[2], STAT_COST),
	COUNT("cpu_ns.writer", cpu_ns[3], STAT_COST),
	COUNT("peak_rss_bytes", peak_rss_bytes, STAT_COST),
	COUNT("ring_bytes", ring_bytes, STAT_RECORDED),
	COUNT("restarts", restarts, STAT_RECORDED | STAT_OF_FILE),
};
const size_t nr_stat_rows = sizeof(stat_rows) / sizeof(*stat_rows);

uint64_t stat_value(const struct stat_row *row, const struct session_stats *stats)
{
	uint64_t value;
	memcpy(&value, (const char *)stats + row->offset, sizeof(value));
	return value;
}

void stat_set(const struct stat_row *row, struct session_stats *stats, uint64_t value)
{
	memcpy((char *)stats + row->offset, &value, sizeof(value));
}

void stat_key(const struct stat_row *row, char key[STAT_KEY_MAX])
{
	snprintf(key, STAT_KEY_MAX, "stats.%s", row->name);
}

/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/stat_line.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>

bool stat_line_parse(const char *text, struct stat_line *line)
{
	/* The name may hold anything: the last parenthesis ends it. */
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t user, system, start;
	struct stat_line is;
	*line = (struct stat_line){.state = 0};
	if (!name || !end || end < name ||
	    sscanf(end + 1,
		   " %c %" SCNd32 " %*d %" SCNd32 " %*d %*d %" SCNu32 " %*u %*u %*u %*u %" SCNu64
		   " %" SCNu64 " %*d %*d %*d %*d %" SCNu32 " %*d %" SCNu64,
		   &is.state, &is.parent, &is.session, &is.flags, &user, &system, &is.nr_threads,
		   &start) != 8)
		return false;
	*line = is;
	const uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	const int size = (int)(end - name - 1);
	snprintf(line->name, sizeof(line->name), "%.*s", size, name + 1);
	line->cpu_ns = (user + system) * tick_ns;
	line->start_ns = start * tick_ns;
	return true;
}

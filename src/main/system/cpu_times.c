/* SPDX-License-Identifier: MIT */
#include <ctop/system/cpu_times.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>

static bool is_one_of(const int *cpus, size_t nr, int cpu)
{
	for (size_t i = 0; i < nr; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

/* proc_stat(5): guests' time is in the user's already; a kernel that knows of no steal has no such number. */
static bool parse_line(const char *line, int *cpu, struct cpu_times *times)
{
	uint64_t user, nice, system, idle, waiting, irq, softirq, stolen = 0;
	if (sscanf(line,
		   "cpu%d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   cpu, &user, &nice, &system, &idle, &waiting, &irq, &softirq, &stolen) < 8 ||
	    line[3] == ' ')
		return false;
	const uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	times->busy_ns = (user + nice + system + irq + softirq) * tick_ns;
	times->idle_ns = (idle + waiting) * tick_ns;
	times->stolen_ns = stolen * tick_ns;
	return true;
}

struct cpu_times cpu_times_parse(const char *text, const int *cpus, size_t nr)
{
	struct cpu_times sum = {0}, times;
	int cpu;
	for (const char *line = text; line && *line; line = line ? line + 1 : NULL) {
		if (parse_line(line, &cpu, &times) && is_one_of(cpus, nr, cpu))
			sum = cpu_times_plus(sum, times);
		line = strchr(line, '\n');
	}
	return sum;
}

struct cpu_times cpu_times_read(const int *cpus, size_t nr)
{
	struct cpu_times sum = {0};
	char line[512];
	FILE *file = fopen("/proc/stat", "re");
	/* The CPUs come first. */
	while (file && fgets(line, sizeof(line), file) && !strncmp(line, "cpu", 3))
		sum = cpu_times_plus(sum, cpu_times_parse(line, cpus, nr));
	if (file)
		fclose(file);
	return sum;
}

struct cpu_times cpu_times_plus(struct cpu_times a, struct cpu_times b)
{
	return (struct cpu_times){a.busy_ns + b.busy_ns, a.idle_ns + b.idle_ns,
				  a.stolen_ns + b.stolen_ns};
}

static uint64_t difference(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

struct cpu_times cpu_times_between(struct cpu_times from, struct cpu_times to)
{
	return (struct cpu_times){difference(from.busy_ns, to.busy_ns),
				  difference(from.idle_ns, to.idle_ns),
				  difference(from.stolen_ns, to.stolen_ns)};
}

uint64_t cpu_times_sum(const struct cpu_times *times)
{
	return times->busy_ns + times->idle_ns + times->stolen_ns;
}

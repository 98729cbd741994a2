/* SPDX-License-Identifier: MIT */
#include <ctop/perf/event.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind a word at a line's beginning, past blanks and colons; 0 when it is not there. */
static double read_number(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[256];
	double value = 0;
	if (!file)
		return 0;
	while (value <= 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, word, strlen(word)) != 0)
			continue;
		const char *number = line + strlen(word);
		value = strtod(number + strspn(number, " \t:"), NULL);
	}
	fclose(file);
	return value;
}

uint64_t event_cycles_to_ns(uint64_t cycles, bool *assumed, const char **source)
{
	static const double assumed_mhz = 3000;
	double mhz = read_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "") / 1e3;
	*source = "cpufreq";
	if (mhz <= 0) {
		mhz = read_number("/proc/cpuinfo", "cpu MHz");
		*source = "/proc/cpuinfo";
	}
	*assumed = mhz <= 0;
	if (*assumed) {
		mhz = assumed_mhz;
		*source = "an assumed 3 GHz";
	}
	double ns = (double)cycles * 1e3 / mhz;
	return ns < 1 ? 1 : (uint64_t)ns;
}

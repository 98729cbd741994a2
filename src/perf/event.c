/* SPDX-License-Identifier: MIT */
#include <ctop/perf/event.h>

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct common_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *description;
};

/* Names as perf has them; numbers: perf_event_open(2). */
static const struct common_event common_events[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "CPU cycles"},
	{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "the same as cycles"},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "retired instructions"},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
	 "accesses of the last cache level"},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
	 "misses of the last cache level"},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "retired branches"},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branches"},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES,
	 "cycles at the reference frequency"},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "time on a CPU, by its timer"},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "time that the task ran"},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
	{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "the same as page-faults"},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN,
	 "page faults without I/O"},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults with I/O"},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
	 "switches away from the task"},
	{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "the same as context-switches"},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS,
	 "moves to another CPU"},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	 "unaligned accesses that the kernel mended"},
	{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS,
	 "instructions that the kernel emulated"},
};
enum { NR_COMMON = sizeof(common_events) / sizeof(common_events[0]) };

void event_each_common(void (*each)(void *context, const char *name, const char *description),
		       void *context)
{
	for (size_t i = 0; i < NR_COMMON; i++)
		each(context, common_events[i].name, common_events[i].description);
}

/* ---- near misses ---- */

enum { NAME_MAX_BYTES = 64 };

/* Levenshtein's distance between names; names of more than NAME_MAX_BYTES are far from everything. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1], nr_b = strlen(b);
	if (strlen(a) > NAME_MAX_BYTES || nr_b > NAME_MAX_BYTES)
		return NAME_MAX_BYTES;
	for (size_t j = 0; j <= nr_b; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nr_b; j++) {
			size_t above = row[j];
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[nr_b];
}

/* What was probably meant; NULL when nothing is near. */
static const char *nearest(const char *name)
{
	const char *best = NULL;
	size_t size = strlen(name);
	/* More than a third of the letters wrong is no typing mistake. */
	size_t best_distance = (size < 9 ? size / 3 : 3) + 1;
	for (size_t i = 0; i < NR_COMMON; i++) {
		/* An unfinished name means the one that it begins. */
		bool begins = size >= 3 && strncmp(name, common_events[i].name, size) == 0;
		size_t d = begins ? 1 : distance(name, common_events[i].name);
		if (d < best_distance) {
			best_distance = d;
			best = common_events[i].name;
		}
	}
	return best;
}

/* ---- names ---- */

static const struct common_event *find_common(const char *name)
{
	for (size_t i = 0; i < NR_COMMON; i++)
		if (strcmp(common_events[i].name, name) == 0)
			return &common_events[i];
	return NULL;
}

static bool find_in_table(struct event *event)
{
	const struct common_event *common = find_common(event->name);
	if (!common)
		return false;
	event->type = common->type;
	event->config = common->config;
	return true;
}

/* What libpfm4 knows for this CPU; it opens nothing. */
static bool find_by_libpfm(struct event *event)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	if (pfm_initialize() != PFM_SUCCESS)
		return false;
	bool found = pfm_get_os_event_encoding(event->name, PFM_PLM0 | PFM_PLM3,
					       PFM_OS_PERF_EVENT_EXT, &arg) == PFM_SUCCESS;
	if (found) {
		event->type = attr.type;
		event->config = attr.config;
		event->config1 = attr.config1;
		event->config2 = attr.config2;
	}
	pfm_terminate();
	return found;
}

static int unknown(const struct event *event, struct error *error)
{
	const char *near = nearest(event->name);
	error_usage(error, "unknown event '%s'", event->name);
	if (near)
		error_remedy(error, "did you mean '%s'?", near);
	else
		error_remedy(error,
			     "for example: cycles, cpu-clock, page-faults, context-switches");
	return -EINVAL;
}

/* u, k, h and up to three p, in any order. */
static bool parse_modifiers(const char *modifiers, struct event *event)
{
	bool user = false, kernel = false, hypervisor = false;
	for (; *modifiers; modifiers++) {
		if (*modifiers == 'u')
			user = true;
		else if (*modifiers == 'k')
			kernel = true;
		else if (*modifiers == 'h')
			hypervisor = true;
		else if (*modifiers == 'p' && event->precise < 3)
			event->precise++;
		else
			return false;
	}
	/* Precision alone leaves everything in. */
	if (!user && !kernel && !hypervisor)
		return true;
	event->user = user;
	event->kernel = kernel;
	event->hypervisor = hypervisor;
	event->asked_user_only = user && !kernel && !hypervisor;
	return true;
}

/*
 * Takes the modifiers off the name. libpfm4's own names have colons, too (unit masks): behind
 * those, only known letters are modifiers; behind a name of the table everything is.
 */
static bool split_modifiers(struct event *event)
{
	char *colon = strrchr(event->name, ':');
	if (!colon)
		return true;
	size_t nr_letters = strlen(colon + 1);
	bool only_letters = nr_letters && strspn(colon + 1, "ukhp") == nr_letters;
	*colon = '\0';
	if (only_letters)
		return parse_modifiers(colon + 1, event);
	if (find_common(event->name))
		return false;
	*colon = ':';
	return true;
}

int event_parse(const char *text, size_t size, struct event *event, struct error *error)
{
	*event = (struct event){.user = true, .kernel = true, .hypervisor = true};
	if (size == 0 || size >= sizeof(event->asked)) {
		error_usage(error, size ? "an event's name is too long" : "an event has no name");
		error_remedy(error, "for example: -e cycles or -e cpu-clock:u,page-faults");
		return -EINVAL;
	}
	memcpy(event->asked, text, size);
	memcpy(event->name, text, size);
	if (!split_modifiers(event)) {
		error_usage(error, "bad modifiers in event '%s'", event->asked);
		error_remedy(error, "modifiers are u (user code), k (kernel), h (hypervisor) and "
				    "up to three p (precise), as in cycles:upp");
		return -EINVAL;
	}
	if (!find_in_table(event) && !find_by_libpfm(event))
		return unknown(event, error);
	event->clock =
		event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						      event->config == PERF_COUNT_SW_TASK_CLOCK);
	event->cycles =
		event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES;
	return 0;
}

/* ---- the clock that stands in for cycles ---- */

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

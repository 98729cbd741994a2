/* SPDX-License-Identifier: MIT */
#include <ctop/diagnose/idle.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/system/proc_text.h>

enum { THREADS_MOST = 512, PLACES_MOST = 16, PLACE_BYTES = 48 };

/* Where in the kernel threads wait. */
struct place {
	char name[PLACE_BYTES];
	unsigned nr;
};

struct census {
	unsigned nr_threads, nr_sleeping, nr_stopped, nr_running, nr_waiting;
	struct place places[PLACES_MOST];
	size_t nr_places;
};

static void count_place(struct census *census, const char *name)
{
	size_t i = 0;
	while (i < census->nr_places && strcmp(census->places[i].name, name) != 0)
		i++;
	if (i == PLACES_MOST)
		return;
	if (i == census->nr_places)
		snprintf(census->places[census->nr_places++].name, PLACE_BYTES, "%.*s",
			 PLACE_BYTES - 1, name);
	census->places[i].nr++;
}

static void count_thread(struct census *census, int32_t pid, int32_t tid)
{
	char place[PROC_PLACE_BYTES];
	struct stat_line line;
	if (!proc_stat_line(pid, tid, &line))
		return;
	census->nr_threads++;
	switch (line.state) {
	case 'R':
		census->nr_running++;
		return;
	case 'T':
	case 't':
		census->nr_stopped++;
		return;
	case 'D':
		census->nr_waiting++;
		break;
	default:
		census->nr_sleeping++;
		break;
	}
	proc_place(pid, tid, place);
	if (place[0])
		count_place(census, place);
}

static void take_census(int32_t pid, struct census *census)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = proc_opendir(path);
	const struct dirent *entry;
	while (dir && census->nr_threads < THREADS_MOST && (entry = readdir(dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid > 0)
			count_thread(census, pid, tid);
	}
	if (dir)
		closedir(dir);
}

static void add_state(struct text *out, const char **gap, unsigned nr, const char *one,
		      const char *many)
{
	if (!nr)
		return;
	text_addf(out, "%s%u thread%s %s", *gap, nr, nr == 1 ? "" : "s", nr == 1 ? one : many);
	*gap = ", ";
}

void idle_describe(int32_t pid, struct text *out)
{
	struct census census = {0};
	take_census(pid, &census);
	if (!census.nr_threads)
		return;
	const char *gap = "No samples: ";
	add_state(out, &gap, census.nr_sleeping, "sleeps", "sleep");
	add_state(out, &gap, census.nr_waiting, "waits for a device", "wait for a device");
	add_state(out, &gap, census.nr_stopped, "is stopped", "are stopped");
	add_state(out, &gap, census.nr_running, "runs", "run");
	const struct place *most = NULL;
	for (size_t i = 0; i < census.nr_places; i++)
		if (!most || census.places[i].nr > most->nr)
			most = &census.places[i];
	if (most) {
		text_addf(out, ", %u in ", most->nr);
		text_add_safe(out, most->name);
	}
	text_add(out, ".");
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERFDATA_PERFDATA_H
#define CTOP_PERFDATA_PERFDATA_H

/*
 * A perf.data file as a source of kernel records (perf's file mode, 5.10 and later; the layout is in
 * tools/perf/Documentation/perf.data-file-format.txt of the kernel's source). It knows the file alone: neither processes
 * nor modules. Samples with dumps are given where the file is mapped, all else is read with pread(): who reads has
 * called lost_pages_survive(), so that a file that is cut meanwhile is an end, not a signal. Every byte is untrusted. Collector only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/kernel/record.h>
#include <ctop/weight_unit.h>

/* A sample names its event in a byte. */
enum { PERFDATA_MAX_EVENTS = 250, PERFDATA_NOTE_BYTES = 256 };

struct perfdata_event {
	char name[128]; /* as recorded */
	struct record_format format;
	uint64_t period, frequency_hz; /* one of them 0 */
	uint32_t dump_bytes;	       /* asked for; 0: no stacks were dumped */
	enum weight_unit unit;
};

/* What the file says of the recording; "" and 0: it does not. */
struct perfdata_facts {
	char hostname[128];
	char release[128]; /* the kernel's */
	char arch[64];	   /* as uname -m says it */
	char version[64];  /* perf's */
	char command_line[1024];
	uint32_t nr_cpus;
};

#define PERFDATA_NO_TASK INT32_MIN

struct perfdata_record {
	const void *bytes; /* 8-aligned; until the next call. NULL: see perfdata_want() */
	size_t size;
	/* Whose format it has; PERFDATA_MAX_EVENTS: a sample of none of the file's events. */
	uint32_t event;
	uint64_t time_ns; /* 0: it has none */
	uint64_t number;  /* how many came before it: the same each time the file is read */
	/* A sample in the file itself, which may change at any time: each field is to be copied before it is checked. */
	bool mapped;
	int32_t pid, tid; /* a sample's; PERFDATA_NO_TASK: it is none, or damaged, or has none */
};

struct perfdata;

/*
 * Takes fd over, also on failure, and those of `parts`: of a recording in several files the first has the header, each other one records
 * alone, almost in the order of time. NULL with cause and remedy; error->cause goes on from the file's name. *code is -errno.
 */
struct perfdata *perfdata_open(int fd, const int *parts, size_t nr_parts, int *code,
			       struct error *error);
void perfdata_close(struct perfdata *perfdata); /* NULL is fine */

size_t perfdata_nr_events(const struct perfdata *perfdata); /* at least 1 */
const struct perfdata_event *perfdata_event(const struct perfdata *perfdata, size_t event);
const struct perfdata_facts *perfdata_facts(const struct perfdata *perfdata);

/*
 * The build-id that the file has for a path (or "[vdso]"): its size, 0 when it has none, or two
 * that disagree.
 */
uint32_t perfdata_build_id(const struct perfdata *perfdata, const char *path, uint8_t build_id[20]);
uint32_t perfdata_kernel_build_id(const struct perfdata *perfdata, uint8_t build_id[20]);

/*
 * The next of the kernel's records in the order of time, by perf's rounds: nothing in the round after
 * the next one is older than what this round has. Records without a time come when they are read.
 * Of several files, which have no rounds: nothing is more than a second older than what came before it in its file.
 * 1; 0 at the end of what can be read; -ENOMEM.
 */
int perfdata_next(struct perfdata *perfdata, struct perfdata_record *record);
/*
 * Samples of threads that are not wanted come without their bytes, which are not looked at. Asked for a thread again it must say the same, and it
 * is asked in the same order each time the file is read.
 */
typedef bool perfdata_wish(void *context, int32_t tid);
void perfdata_want(struct perfdata *perfdata, perfdata_wish *wants, void *context);
/* False: what perfdata_next() gave last was cut off while it was in use, and what it said may be zeros. */
bool perfdata_is_whole(struct perfdata *perfdata);
/* What was wrong with the file, once the end was reached: a line that goes on from its name; "" when nothing was. Borrowed. */
const char *perfdata_note(struct perfdata *perfdata);

#endif

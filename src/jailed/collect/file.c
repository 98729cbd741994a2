/* SPDX-License-Identifier: MIT */
/*
 * A perf.data file as the collector's source. What the rings' samples have from main (events, layouts, how
 * to unwind) the file says itself. Nothing is asked about its processes: those that have their pids
 * now are others.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include <ctop/kernel/record.h>
#include <ctop/perfdata/perfdata.h>
#include <ctop/unwind/stitching.h>

#include "internal.h"
#include "round.h"

/* Between two looks at main's messages. */
enum { RECORDS_A_ROUND = 1024 };
/* The number of the one ring that a file is. */
enum { FILE_CPU = 0 };
/* A process that was there before: its FORK says nothing of its address space (tools/perf/util/event.h). */
enum { MISC_FORK_EXEC = 1 << 13 };

/* Which part has a record. */
enum whose {
	UNDECIDED,
	OURS,
	OTHERS,		   /* a sample */
	NOBODYS,	   /* the same, damaged */
	COUNTED_BY_ANOTHER /* what tells of processes is for all */
};

struct file_source {
	struct perfdata *perfdata;
	struct perfdata_record record; /* in hand, if any */
	bool has_record, ended, wants_room;
	enum whose whose; /* the record in hand */
	/* Of the samples so far, how many fell to each part: a share of threads that comes first goes to the one that has fewest. */
	uint64_t nr_of_part[PROTOCOL_PARTS_MAX];
	uint8_t part_of_share[STITCHING_SHARES]; /* its number + 1; 0: none yet */
	uint64_t lost, lost_samples; /* by LOST, by LOST_SAMPLES: the same ones counted twice */
	uint8_t kernel_build_id[20];
	uint32_t kernel_build_id_size;
	uint64_t chain[UINT16_MAX / sizeof(uint64_t)]; /* of a sample in the mapped file */
	uint64_t kernel_text; /* the kernel address of its _text or _stext; 0: not known */
};

/* ---- what the file says ---- */

static int add_number(struct tables_writer *writer, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return tables_add_info(writer, key, text);
}

static int add_fact(struct tables_writer *writer, const char *key, const char *value)
{
	return value[0] ? tables_add_info(writer, key, value) : 0;
}

static const char *call_graph_of(const struct perfdata_event *event)
{
	uint64_t type = event->format.sample_type;
	if (type & PERF_SAMPLE_STACK_USER && type & PERF_SAMPLE_REGS_USER)
		return "dwarf";
	return type & PERF_SAMPLE_CALLCHAIN ? "fp" : "no";
}

static int add_facts(struct tables_writer *writer, const struct perfdata *perfdata)
{
	const struct perfdata_facts *facts = perfdata_facts(perfdata);
	const struct perfdata_event *event = perfdata_event(perfdata, 0);
	char recorder[80];
	snprintf(recorder, sizeof(recorder), "perf %s", facts->version);
	const struct {
		const char *key, *value;
	} texts[] = {
		{"recorder", recorder},	       {"command_line", facts->command_line},
		{"hostname", facts->hostname}, {"kernel", facts->release},
		{"arch", facts->arch},	       {"event.asked", event->name},
		{"event.opened", event->name}, {"call_graph", call_graph_of(event)},
	};
	int result = 0;
	for (size_t i = 0; !result && i < sizeof(texts) / sizeof(*texts); i++)
		result = add_fact(writer, texts[i].key, texts[i].value);
	if (!result && facts->nr_cpus)
		result = add_number(writer, "nr_cpus", facts->nr_cpus);
	if (!result)
		result = add_number(writer, "event.period", event->period);
	if (!result)
		result = add_number(writer, "event.frequency_hz", event->frequency_hz);
	if (!result && event->dump_bytes)
		result = add_number(writer, "dump_bytes", event->dump_bytes);
	return result;
}

/* The events that main names for rings; each is its own id. */
static int add_events(struct events *events, const struct perfdata *perfdata)
{
	size_t nr = perfdata_nr_events(perfdata);
	for (uint32_t i = 0; i < nr; i++) {
		const struct perfdata_event *event = perfdata_event(perfdata, i);
		struct message_event named = {
			.period = event->period,
			.frequency_hz = event->frequency_hz,
			.unit = event->unit,
		};
		snprintf(named.asked, sizeof(named.asked), "%s", event->name);
		snprintf(named.opened, sizeof(named.opened), "%s", event->name);
		if (events_add_of_file(events, &named))
			return -ENOMEM;
	}
	return 0;
}

static void describe_kernel(struct collector *collector)
{
	const struct file_source *file = collector->source.file;
	struct module_row *row = &collector->unwinding.modules.kernel->row;
	module_identity_set_build_id(&row->identity, file->kernel_build_id,
				     file->kernel_build_id_size);
	row->start = file->kernel_text;
}

/* Whether any event's samples have more than where they were taken. */
static bool has_chains(const struct perfdata *perfdata)
{
	for (uint32_t i = 0; i < perfdata_nr_events(perfdata); i++)
		if (call_graph_of(perfdata_event(perfdata, i))[0] != 'n')
			return true;
	return false;
}

/* Which part a thread's samples are for. All agree on it, as each sees all samples. */
static uint32_t part_of(struct file_source *file, uint32_t nr_parts, int32_t tid)
{
	uint8_t *of_share = &file->part_of_share[stitching_share(tid)];
	if (!*of_share) {
		uint32_t least = 0;
		for (uint32_t i = 1; i < nr_parts; i++)
			if (file->nr_of_part[i] < file->nr_of_part[least])
				least = i;
		*of_share = (uint8_t)(least + 1);
	}
	return *of_share - 1u;
}

static bool falls_to_us(void *context, int32_t tid)
{
	const struct collector *collector = context;
	const struct message_part *part = &collector->config.part;
	return part_of(collector->source.file, part->nr, tid) == part->number;
}

int file_start(struct collector *collector, struct error *error)
{
	int code = -ENOMEM;
	struct file_source *file = calloc(1, sizeof(*file));
	struct collector_ring *ring = calloc(1, sizeof(*ring));
	if (!file || !ring) {
		free(file);
		free(ring);
		return error_set(error, code, "cannot be read: out of memory");
	}
	*ring = (struct collector_ring){.fd = -1, .cpu = FILE_CPU};
	collector->source.rings = ring;
	collector->source.nr_rings = 1;
	collector->source.file = file;
	file->perfdata = perfdata_open(collector->source.fd, collector->source.parts,
				       collector->source.nr_parts, &code, error);
	collector->source.fd = -1;
	collector->source.nr_parts = 0;
	collector->source.perfdata = file->perfdata;
	if (!file->perfdata)
		return code;
	if (collector->config.without_tables && !has_chains(file->perfdata))
		return error_set(error, -ENODATA, "has neither frame pointers nor kernel chains");
	file->kernel_build_id_size =
		perfdata_kernel_build_id(file->perfdata, file->kernel_build_id);
	describe_kernel(collector);
	if (collector->config.part.nr > 1)
		perfdata_want(file->perfdata, falls_to_us, collector);
	int result = add_events(&collector->events, file->perfdata);
	if (!result)
		result = add_facts(collector->output.writer, file->perfdata);
	return result ? error_set(error, result, "cannot be read: %s", strerror(-result)) : 0;
}

void file_close(struct source *source)
{
	if (source->file)
		perfdata_close(source->file->perfdata);
	free(source->file);
	source->file = NULL;
	source->perfdata = NULL;
}

/* ---- records ---- */

/* What the samples of this event are made of. */
static void use_event(struct message_config *config, const struct perfdata_event *of)
{
	const char *call_graph = call_graph_of(of);
	config->format = of->format;
	config->frame_pointers = call_graph[0] == 'f';
	config->leaf_only = call_graph[0] == 'n';
}

/* perf names the kernel's text by a symbol at its start: where that was tells one boot's addresses from another's. */
static void learn_kernel(struct collector *collector, const struct record_mmap *mmap)
{
	static const char kernel[] = "[kernel.kallsyms]_";
	struct file_source *file = collector->source.file;
	if (strncmp(mmap->path, kernel, sizeof(kernel) - 1) != 0)
		return;
	file->kernel_text = mmap->file_offset;
	if (mmap->build_id_size && !file->kernel_build_id_size) {
		memcpy(file->kernel_build_id, mmap->build_id, sizeof(file->kernel_build_id));
		file->kernel_build_id_size = mmap->build_id_size;
	}
	describe_kernel(collector);
}

static void identify(const struct perfdata *perfdata, struct record_mmap *mmap)
{
	if (!mmap->build_id_size)
		mmap->build_id_size = perfdata_build_id(perfdata, mmap->path, mmap->build_id);
}

/* perf adds up at the end, in LOST_SAMPLES, what the LOST records reported before. */
static void count_lost(struct round_counts *counts, struct file_source *file,
		       const struct record *record)
{
	uint64_t before = file->lost > file->lost_samples ? file->lost : file->lost_samples;
	if (record->type == PERF_RECORD_LOST)
		file->lost += record->lost;
	else
		file->lost_samples += record->lost;
	uint64_t after = file->lost > file->lost_samples ? file->lost : file->lost_samples;
	counts->lost += after - before;
}

static int take_record(struct collector *collector, struct record *record)
{
	struct file_source *file = collector->source.file;
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (record->pid < 0)
			learn_kernel(collector, &record->mmap);
		else
			identify(file->perfdata, &record->mmap);
		break;
	case PERF_RECORD_FORK:
		if (record->misc & MISC_FORK_EXEC)
			record->fork.parent_pid = record->pid;
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		count_lost(&collector->output.counts, file, record);
		return 0;
	default:
		break;
	}
	record->id = file->record.event;
	/* Main answers every question, and nothing piles up meanwhile. */
	return round_take(collector, &collector->source.rings[0], record, true);
}

/*
 * What a sample in the mapped file has by pointer and is looked at more than once becomes ours. False: it is no sample any more, and what
 * was found of its strings may be gone.
 */
static bool own_mapped(struct file_source *file, struct record *record)
{
	if (record->type != PERF_RECORD_SAMPLE)
		return false;
	struct record_sample *sample = &record->sample;
	if (sample->nr_chain) {
		memcpy(file->chain, sample->chain, sample->nr_chain * sizeof(*sample->chain));
		sample->chain = file->chain;
	}
	return true;
}

static enum whose whose_is(struct collector *collector)
{
	const struct message_part *part = &collector->config.part;
	struct file_source *file = collector->source.file;
	struct perf_event_header header;
	if (part->nr <= 1)
		return OURS;
	if (file->record.tid != PERFDATA_NO_TASK) {
		file->nr_of_part[part_of(file, part->nr, file->record.tid)]++;
		return file->record.bytes ? OURS : OTHERS;
	}
	/* What does not say whose it is falls to the first. */
	memcpy(&header, file->record.bytes, sizeof(header));
	return part->number == 0		   ? OURS
	       : header.type == PERF_RECORD_SAMPLE ? NOBODYS
						   : COUNTED_BY_ANOTHER;
}

/* The record in hand, counted. As round_take(). */
static int take_counted(struct collector *collector)
{
	const struct perfdata_record *bytes = &collector->source.file->record;
	struct record record;
	if (bytes->event >= perfdata_nr_events(collector->source.file->perfdata)) {
		collector->output.counts.drained++;
		collector->output.counts.damaged++;
		return 0;
	}
	int result =
		round_parse(collector, FILE_CPU, bytes->number, bytes->bytes, bytes->size, &record);
	if (result > 0 && bytes->mapped && !own_mapped(collector->source.file, &record)) {
		collector->output.counts.drained++;
		collector->output.counts.damaged++;
		return 0;
	}
	return result <= 0 ? result : take_record(collector, &record);
}

/* The record in hand. As round_take(). */
static int take(struct collector *collector)
{
	struct file_source *file = collector->source.file;
	const uint32_t event = file->record.event;
	if (event < perfdata_nr_events(file->perfdata))
		use_event(&collector->config, perfdata_event(file->perfdata, event));
	collector->source.number = file->record.number;
	if (file->whose == UNDECIDED)
		file->whose = whose_is(collector);
	if (file->whose == OURS)
		return take_counted(collector);
	status_add(&collector->status->progress, 1);
	if (file->whose == NOBODYS)
		return 0;
	if (file->whose == OTHERS) /* a process is known from its first sample on */
		return process_table_add(collector->following.processes, file->record.pid)
			       ? 0
			       : -ENOMEM;
	const struct round_counts before = collector->output.counts;
	int result = take_counted(collector);
	collector->output.counts = before;
	return result;
}

static void note_time(struct collector *collector, uint64_t time_ns)
{
	struct source *source = &collector->source;
	/* All parts see all of them: the first one counts. */
	if (time_ns && time_ns < source->last_time_ns && !collector->config.part.number)
		collector->output.counts.late++;
	if (time_ns > source->last_time_ns)
		source->last_time_ns = time_ns;
}

/* Behind the record in hand nothing was taken yet. */
static void note_taken(struct source *source)
{
	const struct file_source *file = source->file;
	const uint64_t number = file->record.number + !file->has_record;
	if (number > source->taken)
		source->taken = number;
}

int file_round(struct collector *collector)
{
	struct file_source *file = collector->source.file;
	int result = 0;
	file->wants_room = false;
	for (size_t i = 0; i < RECORDS_A_ROUND && !file->ended; i++) {
		if (!file->has_record) {
			result = perfdata_next(file->perfdata, &file->record);
			file->has_record = result > 0;
			file->ended = result == 0;
		}
		if (!file->has_record)
			break;
		note_taken(&collector->source);
		if (!tables_samples_room(collector->output.writer)) {
			file->wants_room = true;
			result = 0;
			break;
		}
		result = take(collector);
		if (result)
			break;
		collector->waiting_since_ns = 0;
		note_time(collector, file->record.time_ns);
		file->has_record = false;
		file->whose = UNDECIDED;
		note_taken(&collector->source);
		round_consumed(collector);
	}
	return round_end(collector, result > 0 ? 0 : result);
}

bool file_drained(const struct source *source)
{
	return source->file->ended;
}

bool file_wants_room(const struct source *source)
{
	return source->file->wants_room;
}

const char *file_note(const struct source *source)
{
	return source->file ? perfdata_note(source->file->perfdata) : "";
}

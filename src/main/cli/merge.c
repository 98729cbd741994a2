/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>
#include <ctop/recorder/recording_writer.h>
#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>
#include <ctop/metadata/thread_facts.h>
#include <ctop/metadata/timeline_facts.h>
#include <ctop/metadata/wait_facts.h>
#include <ctop/output/output.h>
#include <ctop/output/say.h>
#include <ctop/report/load.h>
#include <ctop/session/session.h>

#include "merge_facts.h"

/* So many samples wait in memory. */
enum { FLUSH_SAMPLES = 1 << 16 };

/* One start of one machine: its recordings have the kernel's addresses in common. */
struct machine {
	char *name;	  /* its own, and its kernel's */
	uint64_t zero_ns; /* zero_of(); 0: it is like no other */
};

struct merge {
	const struct options *options;
	struct error *error;
	struct recording_writer *writer;
	struct merge_facts facts; /* of all that were read */
	uint64_t last_ns;	  /* of all samples */
	bool is_off_wall; /* the first does not know the wall's time: all follow one another */
	uint64_t nr_samples;
	struct {
		struct machine *items;
		size_t nr, capacity;
	} machines;

	/* the recording in hand */
	size_t machine; /* its number, from 1; 0: not found yet */
	const char *file;
	uint32_t source;	 /* its number, from 1 */
	struct history *history; /* for its facts alone */
	bool has_epoch;
	bool has_times;	  /* the shift of its times is known */
	bool says_source; /* in this epoch */
	uint64_t nr_of_file, nr_waiting;
};

/* ---- what a recording hands over ---- */

static int begin_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	struct merge *merge = context;
	int result = recording_begin_epoch(merge->writer, tables, symbols);
	merge->says_source = false;
	merge->has_epoch = true;
	return result ? result : history_begin_epoch(merge->history, tables, NULL);
}

static uint64_t number_of(const struct history *history, const char *key)
{
	const char *text = history_info(history, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

/* When the clock of the recording's samples was 0, by the wall's; 0: not known. */
static uint64_t zero_of(const struct merge *merge)
{
	const uint64_t wall_ns = number_of(merge->history, "start_wall_ns"),
		       start_ns = number_of(merge->history, "start_ns");
	return wall_ns && start_ns ? wall_ns - start_ns : 0;
}

static bool is_near(uint64_t a_ns, uint64_t b_ns)
{
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < 2 * NS_PER_SECOND;
}

/* The number of the recording's machine, from 1. 0: out of memory. */
static size_t find_machine(struct merge *merge)
{
	const char *host = history_info(merge->history, "hostname"),
		   *kernel = history_info(merge->history, "kernel");
	const uint64_t zero_ns = zero_of(merge);
	struct text name = {0};
	text_addf(&name, "%s %s", host ? host : "", kernel ? kernel : "");
	for (size_t i = 0; !name.failed && zero_ns && i < merge->machines.nr; i++) {
		const struct machine *machine = &merge->machines.items[i];
		if (machine->zero_ns && is_near(machine->zero_ns, zero_ns) &&
		    !strcmp(machine->name, text_string(&name))) {
			text_release(&name);
			return i + 1;
		}
	}
	if (name.failed || vec_reserve(&merge->machines, merge->machines.nr + 1)) {
		text_release(&name);
		return 0;
	}
	merge->machines.items[merge->machines.nr++] = (struct machine){name.bytes, zero_ns};
	return merge->machines.nr;
}

/*
 * Clocks of different machines and starts have nothing in common: times become those of the wall's. What does not know that follows
 * what came before it; where that is the first, all do, or decades would lie between.
 */
static uint64_t shift_of(struct merge *merge, uint64_t first_ns)
{
	const uint64_t zero_ns = zero_of(merge);
	merge->is_off_wall |= !zero_ns && !merge->last_ns;
	if (zero_ns && !merge->is_off_wall)
		return zero_ns;
	return merge->last_ns ? merge->last_ns - first_ns : 0;
}

/* Below its own number. */
static int add_of_source(void *context, const char *key, const char *value)
{
	const struct merge *merge = context;
	struct text name = {0};
	text_addf(&name, "source.%" PRIu32 ".%s", merge->source, key);
	int result = name.failed ? -ENOMEM
				 : recording_add_info(merge->writer, text_string(&name), value);
	text_release(&name);
	return result;
}

static int add_source_fact(void *context, const char *key, const char *value)
{
	/* They would fill the tables, and nobody asks. */
	if (!strncmp(key, THREAD_FACTS_KEY, sizeof(THREAD_FACTS_KEY) - 1) ||
	    !strncmp(key, WAIT_FACTS_KEY, sizeof(WAIT_FACTS_KEY) - 1) ||
	    !strncmp(key, TIMELINE_FACTS_KEY, sizeof(TIMELINE_FACTS_KEY) - 1))
		return 0;
	return add_of_source(context, key, value);
}

static int add_file_label(struct merge *merge)
{
	const char *slash = strrchr(merge->file, '/');
	return history_info(merge->history, "label.file")
		       ? 0
		       : add_source_fact(merge, "label.file", slash ? slash + 1 : merge->file);
}

/* Its facts, as far as they are known: they stand before the samples that they are about. */
static int add_source(struct merge *merge)
{
	char number[16], machine[24];
	snprintf(number, sizeof(number), "%" PRIu32, merge->source);
	snprintf(machine, sizeof(machine), "%zu", merge->machine);
	int result = history_each_info(merge->history, add_source_fact, merge);
	if (!result)
		result = add_file_label(merge);
	if (!result)
		result = recording_add_info(merge->writer, "source", number);
	if (!result)
		result = recording_add_info(merge->writer, "machine", machine);
	return result ? result : recording_flush(merge->writer);
}

static int begin_samples(struct merge *merge, const struct sample *first)
{
	int result = history_import(merge->history, NULL, 0); /* facts come before samples */
	if (result)
		return result;
	if (history_info(merge->history, "source")) {
		error_set(merge->error, -EINVAL, "'%s' is itself merged", merge->file);
		return error_remedy(merge->error, "merge the recordings that it was made from");
	}
	if (!merge->has_times)
		recording_shift(merge->writer, shift_of(merge, first->time_ns));
	if (!merge->machine)
		merge->machine = find_machine(merge);
	if (!merge->machine)
		return -ENOMEM;
	merge->has_times = true;
	merge->says_source = true;
	return add_source(merge);
}

static int take_samples(void *context, const struct sample *samples, size_t nr)
{
	struct merge *merge = context;
	int result = merge->says_source || !nr ? 0 : begin_samples(merge, &samples[0]);
	if (!result)
		result = recording_add_samples(merge->writer, samples, nr);
	if (result)
		return result;
	const uint64_t shift_ns = recording_shift_ns(merge->writer);
	for (size_t i = 0; i < nr; i++)
		if (samples[i].time_ns + shift_ns > merge->last_ns)
			merge->last_ns = samples[i].time_ns + shift_ns;
	merge->nr_of_file += nr;
	merge->nr_waiting += nr;
	if (merge->nr_waiting < FLUSH_SAMPLES)
		return 0;
	merge->nr_waiting = 0;
	return recording_flush(merge->writer);
}

/* ---- a recording ---- */

static int write_failed(const struct merge *merge, int result)
{
	error_set(merge->error, result, "cannot write '%s': %s", merge->options->output,
		  strerror(-result));
	return error_remedy(merge->error, "merge into a file elsewhere");
}

/* As finely as there is room for beside the others'. */
static int add_timeline(struct merge *merge)
{
	const struct metadata_sink sink = {merge, add_of_source};
	char shift_ns[24];
	snprintf(shift_ns, sizeof(shift_ns), "%" PRIu64, recording_shift_ns(merge->writer));
	int result = timeline_facts_read(merge->history);
	if (!result)
		result = add_of_source(merge, "shift_ns", shift_ns);
	return result ? result
		      : timeline_facts_add(history_timeline(merge->history),
					   (unsigned)merge->options->nr_inputs, &sink);
}

/* Facts of the end are known now. */
static int end_source(struct merge *merge, struct session *session)
{
	const struct session_stats stats = session_stats(session);
	const struct metadata_sink to_history = metadata_to_history(merge->history);
	int result = merge->has_epoch ? history_import(merge->history, NULL, 0) : 0;
	if (!result && session_is_perfdata(session))
		result = metadata_of_file(&stats, &to_history);
	if (!result)
		result = history_each_info(merge->history, add_source_fact, merge);
	if (!result && merge->has_times)
		result = add_timeline(merge);
	if (!result)
		result = merge_facts_add(&merge->facts, merge->history, merge->nr_of_file);
	return result ? result : recording_end_epoch(merge->writer);
}

static int read_all(struct merge *merge, struct session *session)
{
	enum session_state state = SESSION_RUNNING;
	merge->error->remedy[0] = '\0';
	int result = session_start(session, merge->error);
	while (!result && state != SESSION_DRAINED)
		result = session_step(session, -1, &state, merge->error);
	if (result)
		return merge->error->remedy[0] ? result : write_failed(merge, result);
	result = end_source(merge, session);
	return result ? write_failed(merge, result) : 0;
}

static void tell(const struct merge *merge, struct session *session)
{
	struct options options = *merge->options;
	options.input = merge->file;
	const struct load load = {.session = session, .options = &options};
	load_tell_damage(&load);
	if (!merge->nr_of_file)
		say("'%s' has no samples", merge->file);
}

static int add_file(struct merge *merge, const char *file)
{
	const struct session_consumer consumer = {merge, begin_epoch, take_samples};
	merge->file = file;
	merge->source++;
	merge->has_epoch = merge->has_times = false;
	merge->nr_of_file = 0;
	merge->machine = 0;
	merge->history = history_new();
	if (!merge->history || history_keep_timeline(merge->history))
		return error_set(merge->error, -ENOMEM, "out of memory");
	struct session *session =
		session_open_file(file, merge->options->nr_jobs, &consumer, merge->error);
	int result = session ? read_all(merge, session) : -EINVAL;
	if (!result)
		tell(merge, session);
	merge->nr_samples += merge->nr_of_file;
	history_free(merge->history);
	session_free(session);
	return result;
}

/* ---- all of them ---- */

static int add_info(void *context, const char *key, const char *value)
{
	const struct merge *merge = context;
	return recording_add_info(merge->writer, key, value);
}

static int add_files(struct merge *merge)
{
	int result = 0;
	for (size_t i = 0; !result && i < merge->options->nr_inputs; i++)
		result = add_file(merge, merge->options->inputs[i]);
	if (result)
		return result;
	if (!merge->nr_samples) {
		error_set(merge->error, -ENODATA, "there is no sample to merge");
		return error_remedy(merge->error, "ctop report says of each file why");
	}
	const struct metadata_sink sink = {merge, add_info};
	result = merge_facts_write(&merge->facts, &sink);
	return result ? write_failed(merge, result) : 0;
}

/* The name that comes first is written to: an old one that was meant to be read would be lost. */
static int refuse_existing(const struct options *options, struct error *error)
{
	struct stat status;
	if (stat(options->output, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	error_usage(error, "'%s' is there already: merge writes to the first name",
		    options->output);
	return error_remedy(error, "usage: ctop merge OUT IN...; name another OUT, or remove it");
}

static int write_all_of_it(struct merge *merge, int to)
{
	uint64_t bytes;
	const int fd = fcntl(to, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
	merge->writer = fd < 0 ? NULL : recording_writer_new(fd);
	if (!merge->writer) {
		if (fd >= 0)
			close(fd);
		return error_set(merge->error, -ENOMEM, "out of memory");
	}
	int result = add_files(merge);
	if (result) {
		recording_abandon(merge->writer);
		return result;
	}
	result = recording_finish(merge->writer, &bytes);
	return result ? write_failed(merge, result) : 0;
}

int command_merge(const struct options *options, struct error *error)
{
	struct merge merge = {.options = options, .error = error};
	const struct output_request request = {
		.path = options->output,
		.way = OUTPUT_REPLACE,
		.wake_fd = -1,
		.is_recording = true,
	};
	struct output output;
	if (refuse_existing(options, error))
		return -EINVAL;
	int result = output_open(&output, &request, error);
	if (result)
		return result;
	result = write_all_of_it(&merge, output.fd);
	merge_facts_release(&merge.facts);
	for (size_t i = 0; i < merge.machines.nr; i++)
		free(merge.machines.items[i].name);
	free(merge.machines.items);
	const int ended = output_end(&output, result);
	return !result && ended ? write_failed(&merge, ended)
				: result; /* what else went wrong is said already */
}

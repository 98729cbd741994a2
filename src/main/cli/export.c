/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>

#include <ctop/format/formats.h>
#include <ctop/output/save.h>
#include <ctop/query/selection.h>
#include <ctop/report/load.h>
#include <ctop/report/report_header.h>

struct export
{
	struct load load;
	struct selection *selection; /* of all that was loaded */
	struct save save;
	/* What reading again had to say; an error of the output is save_end()'s. */
	struct error *error;
	bool cannot_read;
};

static int add_piece(void *context, const void *bytes, size_t size)
{
	struct export *export = context;
	return save_add(&export->save, bytes, size);
}

static int read_again(void *context)
{
	struct export *export = context;
	int result = load_again(&export->load, export->error);
	export->cannot_read = result && !export->save.failed;
	return result ? result : selection_refresh(export->selection, UINT64_MAX);
}

static void describe(void *context, size_t event, const struct history_totals *totals,
		     struct text *lines)
{
	const struct export *export = context;
	report_describe(export->load.history, export->load.options, event, totals, lines);
}

static int write_output(struct export *export, const struct options *options)
{
	struct error unsaid;
	int result = save_begin(&export->save, options->output, "-o", -1, export->error);
	if (result)
		return result;
	const struct export_sink sink = {export, add_piece, read_again, export->save.output.fd};
	const struct export_request request = {
		.history = export->load.history,
		.selection = export->selection,
		.sink = &sink,
		.count_samples = options->samples,
		.grouping = options->grouping,
		.describe = describe,
		.describe_context = export,
	};
	result = options->format->write(&request);
	result = save_end(&export->save, result, export->cannot_read ? &unsaid : export->error);
	return result ? result
		      : load_write_stats(&export->load, options, export->save.bytes, export->error);
}

int command_export(const struct options *options, struct error *error)
{
	const struct format *format = options->format;
	const enum load_mode mode = format->of_samples	 ? LOAD_SAMPLES
				    : format->of_slices	 ? LOAD_SLICES
				    : format->all_events ? LOAD_EVENTS
							 : LOAD_COUNTS;
	struct options wanted = *options;
	struct export export = {.error = error};
	wanted.timeline = format->of_timeline;
	int result = load_open(&export.load, &wanted, mode, error);
	if (!result && !(export.selection = selection_of_all(export.load.history)))
		result = error_set(error, -ENOMEM, "out of memory");
	if (!result)
		load_tell_damage(&export.load);
	if (!result)
		load_tell_folded(&export.load);
	if (!result && mode == LOAD_COUNTS)
		load_tell_event(&export.load);
	if (!result)
		result = write_output(&export, export.load.options);
	selection_free(export.selection);
	load_release(&export.load);
	return result;
}

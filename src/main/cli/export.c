/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/format/folded.h>
#include <ctop/format/frames.h>
#include <ctop/format/script.h>
#include <ctop/output/save.h>
#include <ctop/query/selection.h>
#include <ctop/report/load.h>

struct export
{
	struct load load;
	struct selection *selection; /* of all that was loaded */
	struct save save;
	const struct options *options;
	/* What reading again had to say; an error of the output is save_end()'s. */
	struct error *error;
	bool cannot_read;
};

/* ---- one function a format: to the output, piece by piece; 0 or -errno ---- */

static int write_folded(struct export *export)
{
	struct text text = {0};
	int result = folded_write(export->load.history, export->selection,
				  export->options->samples ? FOLDED_SAMPLES : FOLDED_WEIGHT, &text);
	if (!result)
		result = save_add(&export->save, text.bytes, text.size);
	text_release(&text);
	return result;
}

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

static int write_script(struct export *export)
{
	const struct script_sink sink = {export, add_piece, read_again};
	return script_write(export->load.history, export->selection, &sink);
}

static int write_frames(struct export *export)
{
	const struct script_sink sink = {export, add_piece, read_again};
	return frames_write(export->load.history, export->selection, &sink);
}

/* By the names that options_table.c lists. */
static const struct format {
	const char *name;
	enum load_mode mode;
	int (*write)(struct export *export);
} formats[] = {
	{"folded", LOAD_COUNTS, write_folded},
	{"script", LOAD_SAMPLES, write_script},
	{"frames", LOAD_SAMPLES, write_frames},
};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* ---- the command ---- */

static int write_output(struct export *export, const struct format *format,
			const struct options *options)
{
	struct error unsaid;
	int result = save_begin(&export->save, options->output, "-o", -1, export->error);
	if (result)
		return result;
	result = format->write(export);
	result = save_end(&export->save, result, export->cannot_read ? &unsaid : export->error);
	return result ? result
		      : load_write_stats(&export->load, options, export->save.bytes, export->error);
}

int command_export(const struct options *options, struct error *error)
{
	const struct format *format = find_format(options->format);
	struct export export = {.options = options, .error = error};
	if (!format)
		return error_set(error, -EINVAL, "cannot export to %s", options->format);
	int result = load_open(&export.load, options, format->mode, error);
	if (!result && !(export.selection = selection_of_all(export.load.history)))
		result = error_set(error, -ENOMEM, "out of memory");
	if (!result)
		load_tell_damage(&export.load);
	if (!result)
		load_tell_folded(&export.load);
	if (!result && format->mode == LOAD_COUNTS)
		load_tell_event(&export.load);
	if (!result)
		result = write_output(&export, format, export.load.options);
	selection_free(export.selection);
	load_release(&export.load);
	return result;
}

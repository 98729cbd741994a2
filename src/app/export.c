/* SPDX-License-Identifier: MIT */
#include <ctop/app/commands.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/format/folded.h>
#include <ctop/format/frames.h>
#include <ctop/format/script.h>

#include "load.h"
#include "save.h"

/* ---- one function a format: to the output, piece by piece; 0, -ENOMEM or what save_add() said ---- */

static int write_folded(struct history *history, struct save *save)
{
	struct text text = {0};
	int result = folded_write(history, &text);
	if (!result)
		result = save_add(save, text.bytes, text.size);
	text_release(&text);
	return result;
}

static int add_piece(void *context, const void *bytes, size_t size)
{
	return save_add(context, bytes, size);
}

static int write_script(struct history *history, struct save *save)
{
	const struct script_sink sink = {save, add_piece};
	return script_write(history, &sink);
}

static int write_frames(struct history *history, struct save *save)
{
	const struct script_sink sink = {save, add_piece};
	return frames_write(history, &sink);
}

/* By the names that options_table.c lists. */
static const struct format {
	const char *name;
	enum load_mode mode;
	int (*write)(struct history *history, struct save *save);
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

static int write_output(struct load *load, const struct format *format,
			const struct options *options, struct error *error)
{
	struct save save;
	int result = save_begin(&save, options->output, "-o", error);
	if (result)
		return result;
	result = save_end(&save, format->write(load->history, &save), error);
	return result ? result : load_write_stats(load, options, save.bytes, error);
}

int command_export(const struct options *options, struct error *error)
{
	const struct format *format = find_format(options->format);
	struct load load;
	if (!format)
		return error_set(error, -EINVAL, "cannot export to %s", options->format);
	int result = load_open(&load, options, format->mode, error);
	if (!result)
		load_tell_damage(&load);
	if (!result && format->mode == LOAD_COUNTS)
		load_tell_event(&load, options);
	if (!result)
		result = write_output(&load, format, options, error);
	load_release(&load);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "interact_export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/write_all.h>
#include <ctop/format/formats.h>
#include <ctop/metadata/metadata.h>
#include <ctop/output/output.h>
#include <ctop/report/numbers.h>
#include <ctop/report/report_header.h>

enum { FILES_MOST = 1000 };

static int add_piece(void *context, const void *bytes, size_t size)
{
	const int *fd = context;
	return write_all(*fd, bytes, size);
}

/* ---- names ---- */

void interact_suggest_name(char *name, size_t size)
{
	const struct format *format = name[0] ? format_next(format_of_path(name)) : formats;
	snprintf(name, size, "ctop%s", format->ending);
	for (int i = 1; i < FILES_MOST && access(name, F_OK) == 0; i++)
		snprintf(name, size, "ctop-%d%s", i, format->ending);
}

/* ---- writing ---- */

static int write_new(const char *path, struct export_request *request)
{
	const struct output_request new_file = {
		.path = path, .option = "x", .way = OUTPUT_NEW, .wake_fd = -1};
	struct output output;
	struct error unsaid; /* there is one line for it, and the path may be long */
	int result = output_open(&output, &new_file, &unsaid);
	if (result)
		return result;
	int fd = output.fd;
	const struct export_sink sink = {.context = &fd, .write = add_piece, .fd = fd};
	request->sink = &sink;
	result = format_of_path(path)->write(request);
	/* close() is where some file systems report that they are full. */
	output.fd = -1;
	if (close(fd) < 0 && !result)
		result = -errno;
	return output_end(&output, result);
}

struct described {
	struct history *history;
	const struct options *options;
};

static void describe(void *context, size_t event, const struct history_totals *totals,
		     struct text *lines)
{
	const struct described *described = context;
	report_describe(described->history, described->options, event, totals, lines);
}

void interact_export(struct history *history, struct selection *selection,
		     const struct options *options, const char *excerpt, const char *path,
		     struct text *message)
{
	struct described described = {history, options};
	struct export_request request = {
		.describe = describe,
		.describe_context = &described,
		.history = history,
		.selection = selection,
		.excerpt = excerpt,
		.keeps = metadata_holds_for_part,
	};
	int result = write_new(path, &request);
	if (result) {
		text_add(message, "not written: ");
		text_add_safe(message, path);
		text_add(message,
			 result == -EEXIST ? " is there already; x asks for another name" : ": ");
		text_add(message, result == -EEXIST ? "" : strerror(-result));
		return;
	}
	text_add(message, "written: ");
	text_add_safe(message, path);
	text_addf(message, ", %s of ", format_of_path(path)->what);
	add_grouped(message, selection_totals(selection).samples);
	text_add(message, " samples");
}

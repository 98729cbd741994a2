/* SPDX-License-Identifier: MIT */
#include "interact_export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/write_all.h>
#include <ctop/format/folded.h>
#include <ctop/format/script.h>
#include <ctop/format/selection_recording.h>
#include <ctop/output/output.h>
#include <ctop/report/numbers.h>

enum { FILES_MOST = 1000 };

/* What is to be written. */
struct export
{
	struct history *history;
	struct selection *selection;
	const char *excerpt;
};

/* ---- one function a format: into a new file, which it closes. 0 or -errno ---- */

static int add_piece(void *context, const void *bytes, size_t size)
{
	const int *fd = context;
	return write_all(*fd, bytes, size);
}

/* close() is where some file systems report that they are full. */
static int close_file(int fd, int result)
{
	return close(fd) < 0 && !result ? -errno : result;
}

static int write_folded(const struct export *export, int fd)
{
	struct text text = {0};
	int result = folded_write(export->history, export->selection, FOLDED_WEIGHT, &text);
	if (!result)
		result = text.failed ? -ENOMEM : write_all(fd, text.bytes, text.size);
	text_release(&text);
	return close_file(fd, result);
}

static int write_script(const struct export *export, int fd)
{
	const struct script_sink sink = {.context = &fd, .write = add_piece};
	return close_file(fd, script_write(export->history, export->selection, &sink));
}

static int write_recording(const struct export *export, int fd)
{
	return selection_record(export->history, export->selection, export->excerpt, fd);
}

/* By the name's ending; the first where it has none of them. */
static const struct format {
	const char *ending, *what;
	int (*write)(const struct export *export, int fd);
} formats[] = {
	{".folded", "folded stacks", write_folded},
	{".txt", "the text of perf script", write_script},
	{".ctop", "a recording", write_recording},
};
enum { NR_FORMATS = sizeof(formats) / sizeof(*formats) };

/* NR_FORMATS: none of them. */
static size_t format_of(const char *path)
{
	size_t size = strlen(path), i = 0;
	while (i < NR_FORMATS &&
	       (size < strlen(formats[i].ending) ||
		strcmp(path + size - strlen(formats[i].ending), formats[i].ending)))
		i++;
	return i;
}

/* ---- names ---- */

void interact_suggest_name(char *name, size_t size)
{
	const char *ending = formats[name[0] ? (format_of(name) + 1) % NR_FORMATS : 0].ending;
	snprintf(name, size, "ctop%s", ending);
	for (int i = 1; i < FILES_MOST && access(name, F_OK) == 0; i++)
		snprintf(name, size, "ctop-%d%s", i, ending);
}

/* ---- writing ---- */

static int write_new(const struct export *export, const struct format *format, const char *path)
{
	const struct output_request request = {
		.path = path, .option = "x", .way = OUTPUT_NEW, .wake_fd = -1};
	struct output output;
	struct error unsaid; /* there is one line for it, and the path may be long */
	int result = output_open(&output, &request, &unsaid);
	if (result)
		return result;
	int fd = output.fd;
	output.fd = -1;
	return output_end(&output, format->write(export, fd));
}

void interact_export(struct history *history, struct selection *selection, const char *excerpt,
		     const char *path, struct text *message)
{
	const struct export export = {history, selection, excerpt};
	const struct format *format = &formats[format_of(path) % NR_FORMATS];
	int result = write_new(&export, format, path);
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
	text_addf(message, ", %s of ", format->what);
	add_grouped(message, selection_totals(selection).samples);
	text_add(message, " samples");
}

/* SPDX-License-Identifier: MIT */
#include "save.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/write_all.h>

#include "say.h"

static int failed(const struct save *save, int result, struct error *error)
{
	if (!save->path) {
		error_set(error, result, "cannot write to standard output: %s", strerror(-result));
		error_remedy(error, result == -ENOSPC ? "make room, or redirect it to another file"
						      : "redirect it to a file: > FILE");
		return result;
	}
	error_set(error, result, "cannot write '%s': %s", save->path, strerror(-result));
	error_remedy(error, "write elsewhere with %s FILE", save->option);
	return result;
}

int save_begin(struct save *save, const char *path, const char *option, struct error *error)
{
	*save = (struct save){.option = option, .output = {.fd = STDOUT_FILENO, .folder_fd = -1}};
	if (!path || !strcmp(path, "-"))
		return 0;
	save->path = path;
	const struct output_request request = {
		.path = path,
		.option = option,
		.way = OUTPUT_REPLACE,
		.wake_fd = -1,
	};
	return output_open(&save->output, &request, error);
}

int save_add(struct save *save, const void *bytes, size_t size)
{
	struct text ascii = {0};
	if (is_eight_bit_terminal(save->output.fd)) {
		text_add_ascii(&ascii, bytes, size);
		bytes = text_string(&ascii);
		size = ascii.size;
	}
	int result = ascii.failed ? -ENOMEM : write_all(save->output.fd, bytes, size);
	text_release(&ascii);
	save->bytes += result ? 0 : size;
	save->failed |= result != 0;
	return result;
}

int save_end(struct save *save, int result, struct error *error)
{
	if (save->path)
		result = output_end(&save->output, result);
	return result ? failed(save, result, error) : 0;
}

int save_text(const char *path, const char *option, const struct text *text, struct error *error)
{
	struct save save;
	if (text->failed)
		return error_set(error, -ENOMEM, "out of memory");
	int result = save_begin(&save, path, option, error);
	if (!result)
		result = save_end(&save, save_add(&save, text->bytes, text->size), error);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/output/save.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/write_all.h>
#include <ctop/output/say.h>

static int failed(const struct save *save, int result, struct error *error)
{
	const char *why = result == -EINTR ? "interrupted before all was read" : strerror(-result);
	if (!save->path) {
		error_set(error, result, "cannot write to standard output: %s", why);
		return error_remedy(error, result == -ENOSPC
						   ? "make room, or redirect it to another file"
						   : "redirect it to a file: > FILE");
	}
	error_set(error, result, "cannot write '%s': %s", save->path, why);
	return error_remedy(error, "write elsewhere with %s FILE", save->option);
}

int save_begin(struct save *save, const char *path, const char *option, int wake_fd,
	       struct error *error)
{
	*save = (struct save){
		.option = option,
		.output = {.fd = STDOUT_FILENO, .directory_fd = -1},
		.wake_fd = wake_fd,
	};
	if (!path || !strcmp(path, "-"))
		return 0;
	save->path = path;
	const struct output_request request = {
		.path = path,
		.option = option,
		.way = OUTPUT_REPLACE,
		.wake_fd = wake_fd,
	};
	return output_open(&save->output, &request, error);
}

/* Until there is room, which a file always has. 0, -errno, or -EINTR: woken. */
static int wait_for_room(const struct save *save)
{
	struct pollfd fds[] = {
		{.fd = save->output.fd, .events = POLLOUT},
		{.fd = save->wake_fd, .events = POLLIN},
	};
	for (;;) {
		int got = poll(fds, 2, -1);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got < 0)
			continue;
		if (fds[0].revents)
			return 0;
		if (fds[1].revents)
			return -EINTR;
	}
}

static int write_patiently(const struct save *save, const char *from, size_t size)
{
	int result = 0;
	if (save->wake_fd < 0)
		return write_all(save->output.fd, from, size);
	while (size && !result) {
		/* A pipe that has room has as much. */
		size_t piece = size < PIPE_BUF ? size : PIPE_BUF;
		result = wait_for_room(save);
		if (!result)
			result = write_all(save->output.fd, from, piece);
		from += piece;
		size -= piece;
	}
	return result;
}

int save_add(struct save *save, const void *bytes, size_t size)
{
	struct text ascii = {0};
	if (is_eight_bit_terminal(save->output.fd)) {
		text_add_ascii(&ascii, bytes, size);
		bytes = text_string(&ascii);
		size = ascii.size;
	}
	int result = ascii.failed ? -ENOMEM : write_patiently(save, bytes, size);
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

int save_text(const char *path, const char *option, const struct text *text, int wake_fd,
	      struct error *error)
{
	struct save save;
	if (text->failed)
		return error_set(error, -ENOMEM, "out of memory");
	int result = save_begin(&save, path, option, wake_fd, error);
	if (!result)
		result = save_end(&save, save_add(&save, text->bytes, text->size), error);
	return result;
}

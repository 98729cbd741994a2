/* SPDX-License-Identifier: MIT */
#include <ctop/base/error.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void begin(struct error *error, int code, enum error_exit exit_code)
{
	error->code = code;
	error->exit_code = exit_code;
	error->remedy[0] = error->tried[0] = '\0';
	error->refusal = 0;
}

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->cause, sizeof(error->cause), format, args);
	va_end(args);
	begin(error, code, ERROR_EXIT_FAILED);
	return code;
}

int error_usage(struct error *error, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->cause, sizeof(error->cause), format, args);
	va_end(args);
	begin(error, -EINVAL, ERROR_EXIT_USAGE);
	return -EINVAL;
}

/* Typed text on either side of a mark, at most. */
enum { MARKED_BEFORE = 60, MARKED_BEHIND = 40 };

int error_marked(struct error *error, const char *typed, size_t at, const char *format, ...)
{
	va_list args;
	char cause[256];
	va_start(args, format);
	vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	size_t size = strlen(typed);
	if (at > size)
		at = size;
	size_t before = at > MARKED_BEFORE ? MARKED_BEFORE : at;
	size_t behind = size - at > MARKED_BEHIND ? MARKED_BEHIND : size - at;
	return error_usage(error, "%s: '%s%.*s>>>%.*s%s'", cause, before < at ? "..." : "",
			   (int)before, typed + at - before, (int)behind, typed + at,
			   behind < size - at ? "..." : "");
}

int error_remedy(struct error *error, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->remedy, sizeof(error->remedy), format, args);
	va_end(args);
	return error->code;
}

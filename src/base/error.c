/* SPDX-License-Identifier: MIT */
#include <ctop/base/error.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->cause, sizeof(error->cause), format, args);
	va_end(args);
	error->remedy[0] = '\0';
	error->exit_code = ERROR_EXIT_FAILED;
	return code;
}

int error_usage(struct error *error, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->cause, sizeof(error->cause), format, args);
	va_end(args);
	error->remedy[0] = '\0';
	error->exit_code = ERROR_EXIT_USAGE;
	return -EINVAL;
}

void error_remedy(struct error *error, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->remedy, sizeof(error->remedy), format, args);
	va_end(args);
}

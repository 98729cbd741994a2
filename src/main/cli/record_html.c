/* SPDX-License-Identifier: MIT */
#include "record_html.h"

#include <sys/stat.h>

#include <ctop/cli/commands.h>
#include <ctop/format/formats.h>
#include <ctop/output/output.h>
#include <ctop/output/say.h>

int record_html_check(const struct options *options, struct error *error)
{
	struct stat found;
	const bool is_file = output_descriptor(options->output) < 0 &&
			     (stat(options->output, &found) < 0 || S_ISREG(found.st_mode));
	if (!options->html_path || is_file)
		return 0;
	error_usage(error, "--html reads the recording, and '%s' is no file", options->output);
	return error_remedy(error, "record to a file with -o FILE");
}

int record_html_write(const struct options *options, struct error *error)
{
	const struct options page = {
		.command = COMMAND_EXPORT,
		.format = format_named("html"),
		.input = options->output,
		.output = options->html_path,
		.memory_mib = options->memory_mib,
	};
	int result = command_export(&page, error);
	if (!result && !options->quiet)
		say("%s shows it in a browser", options->html_path);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/annotate/code_finder.h>

struct code_request code_request_of(const struct history *history, struct function_id function,
				    uint32_t module, uint64_t start)
{
	struct code_request request = {
		.module = history_module(history, module),
		.start = start,
		.name = history_function_named(history, function)
				? history_function_name(history, function)
				: NULL,
		.dump_fd = -1,
		.origin_ns = history_origin_ns(history),
	};
	history_code(history, module, start, request.name, &request.kept);
	return request;
}

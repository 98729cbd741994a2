/* SPDX-License-Identifier: MIT */
#include "code_told.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <ctop/base/clock.h>

/* When it was read says whether it may be what was sampled. */
static void tell(const struct code_request *request, const char *what, uint64_t read_ns, char *out,
		 size_t out_bytes)
{
	const uint64_t origin_ns = request->origin_ns;
	const uint64_t after_ns = read_ns > origin_ns ? read_ns - origin_ns : 0;
	const bool is_kernel = request->module.kind == MODULE_KERNEL;
	if (!read_ns)
		snprintf(out, out_bytes, "%s as the process's dump has it", what);
	else
		snprintf(out, out_bytes, "%s read in %s memory at %" PRIu64 ".%" PRIu64 " s%s",
			 what, is_kernel ? "its" : "the process's", after_ns / NS_PER_SECOND,
			 after_ns % NS_PER_SECOND / (NS_PER_SECOND / 10),
			 is_kernel ? "" : ": before or after, other code may have been there");
}

void code_tell_made(const struct code_request *request, uint64_t read_ns, char *out,
		    size_t out_bytes)
{
	if (request->module.kind == MODULE_KERNEL)
		tell(request, "the kernel's code, with what was patched by then,", read_ns, out,
		     out_bytes);
	else
		tell(request, "generated code,", read_ns, out, out_bytes);
}

void code_tell_kept(const struct code_request *request, int error, char *out, size_t out_bytes)
{
	struct error why;
	/* What is in no file needs no excuse. */
	if (error == -ENODEV) {
		tell(request, "code kept in the recording,", request->kept.read_ns, out, out_bytes);
		return;
	}
	code_explain(request, error, &why);
	snprintf(out, out_bytes, "code kept in the recording: %.*s", (int)out_bytes / 2, why.cause);
}

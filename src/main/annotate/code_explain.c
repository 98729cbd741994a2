/* SPDX-License-Identifier: MIT */
/* Why a function's code cannot be listed, and what would help. */
#include <ctop/annotate/code_finder.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/text.h>

static int no_file(const struct code_request *request, int code, struct error *error)
{
	const enum module_kind kind = request->module.kind;
	if (kind == MODULE_ANON) {
		error_set(error, code, "that function's code was generated, and was not kept");
		return error_remedy(error, "record it with its JIT's dump (as node --perf-prof), "
					   "or while the process lives on; without --no-keep-code");
	}
	if (kind == MODULE_KERNEL) {
		error_set(error, code, "the recording has no code of that function of the kernel");
		return error_remedy(error,
				    "record it as root, where the kernel has /proc/kcore, without "
				    "--no-keep-code");
	}
	error_set(error, code, "nothing is known of the module of that function");
	return error_remedy(error,
			    "choose a function of a program or a library: ctop report lists them");
}

static int remedy_of_file(const struct code_request *request, struct error *error)
{
	const struct module_identity *identity = &request->module.identity;
	struct text id = {0};
	text_add_hex(&id, identity->build_id,
		     identity->build_id_size <= BUILD_ID_MAX ? identity->build_id_size : 0);
	if (id.size)
		error_remedy(error, "put the file with build-id %s there, or record again",
			     text_string(&id));
	else
		error_remedy(error, "record again: without a build-id only the very file will do");
	text_release(&id);
	return error->code;
}

/* Of a process that is looked at: its dump, its map, its memory. */
static int explain_made(const struct code_request *request, int code, struct error *error)
{
	const int32_t pid = request->module.pid;
	switch (code) {
	case -ESRCH:
		error_set(error, code,
			  "process %d has ended, and with it the code that it generated", pid);
		return error_remedy(error,
				    "annotate while it runs, or let its JIT write a dump, as "
				    "node --perf-prof does");
	case -EPERM:
		error_set(error, code, "the memory of process %d may not be read", pid);
		return error_remedy(error, "run ctop as root, or let the JIT write a dump, as "
					   "node --perf-prof does");
	case -ENOTUNIQ:
		error_set(error, code,
			  "several functions of that name were there, one after the other");
		return error_remedy(error, "nobody knows which of them the samples are of: profile "
					   "again, from when it is compiled");
	case -EFAULT:
	case -ESTALE:
	case -ENXIO:
	case -ENODATA:
	case -ENOENT:
		error_set(error, code, "the code of that function is not there any more");
		return error_remedy(error,
				    "it was generated, and replaced: a JIT's dump keeps all, as "
				    "that of node --perf-prof");
	default:
		error_set(error, code, "generated code of process %d cannot be listed: %s", pid,
			  strerror(-code));
		return error_remedy(error, "try it again");
	}
}

static int explain_kernel(int code, struct error *error)
{
	switch (code) {
	case -ENOENT:
		error_set(error, code, "this kernel has no /proc/kcore, in which its code is read");
		return error_remedy(error, "it is there with CONFIG_PROC_KCORE, as most are built");
	case -EACCES:
	case -EPERM:
		error_set(error, code, "the kernel's memory (/proc/kcore) may not be read");
		return error_remedy(error,
				    "run ctop as root, outside of containers; kernel lockdown "
				    "forbids it");
	case -ENXIO:
	case -EFAULT:
		error_set(error, code,
			  "where that function of the kernel ends is not known, or it is gone");
		return error_remedy(error,
				    "functions of the kernel and its modules are listed, but for "
				    "what it generates (BPF) and has thrown away (init)");
	default:
		error_set(error, code, "the kernel's code cannot be listed: %s", strerror(-code));
		return error_remedy(error, "try it again");
	}
}

int code_explain(const struct code_request *request, int code, struct error *error)
{
	const char *path = request->module.path;
	if (request->is_live && code != -ENOSYS && code != -ENOTSUP)
		return request->module.kind == MODULE_KERNEL ? explain_kernel(code, error)
							     : explain_made(request, code, error);
	switch (code) {
	case -ENODEV:
		return no_file(request, code, error);
	case -ENOSYS:
		error_set(error, code, "libcapstone, which lists instructions, is not installed");
		return error_remedy(error, "install it: apt-get install libcapstone4");
	case -ENOTSUP:
		error_set(error, code, "'%s' is for a machine that ctop lists no code of", path);
		return error_remedy(error, "it lists that of x86-64 and arm64");
	case -ENOENT:
		error_set(error, code, "'%s' is not here", path);
		return remedy_of_file(request, error);
	case -ESTALE:
	case -EINVAL:
		error_set(error, code, "'%s' is not the file that was profiled", path);
		return remedy_of_file(request, error);
	case -EACCES:
	case -EPERM:
		error_set(error, code, "'%s' may not be read: %s", path, strerror(-code));
		return error_remedy(error, "run ctop as a user who may");
	case -ENXIO:
	case -ENODATA:
	case -ENOEXEC:
		error_set(error, code, "'%s' does not have the code of that function", path);
		return remedy_of_file(request, error);
	case -ETIMEDOUT:
		error_set(error, code, "the code of '%s' could not be listed in time", path);
		return error_remedy(error, "try it again when the machine is less busy");
	default:
		error_set(error, code, "the code of '%s' cannot be listed: %s", path,
			  strerror(-code));
		return error_remedy(error, "objdump -d may tell more of that file");
	}
}

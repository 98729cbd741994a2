/* SPDX-License-Identifier: MIT */
#include <ctop/system/runtimes.h>

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

const struct runtime runtimes[NR_RUNTIMES] = {
	{.name = "Java",
	 .files = {"libjvm.so", "java"},
	 .names_now = "jcmd %d Compiler.perfmap",
	 .names_since = "JDK 17 and later; again when more is compiled",
	 .stacks = "java -XX:+PreserveFramePointer",
	 .stacks_word = "-XX:+PreserveFramePointer"},
	{.name = "Node.js",
	 .files = {"node", "nodejs", "libnode.so*"},
	 .names = "node --perf-basic-prof",
	 .names_since = "and --interpreted-frames-native-stack for what is not compiled yet",
	 .names_word = "--perf-basic-prof*"},
	{.name = "Python",
	 .files = {"python3*", "libpython3*"},
	 .interpreter = "_PyEval_EvalFrameDefault",
	 .names = "python3 -X perf",
	 .names_since = "Python 3.12 and later",
	 .names_word = "perf"},
	{.name = "Ruby",
	 .files = {"ruby", "ruby[0-9]*", "libruby*.so*"},
	 .interpreter = "rb_vm_exec", /* what it calls has no name once stripped */
	 .names = "ruby --yjit --yjit-perf",
	 .names_since = "Ruby 3.3 and later; names what YJIT compiles",
	 .names_word = "--yjit-perf*"},
	{.name = "PHP",
	 .files = {"php", "php[0-9]*", "php-fpm*", "libphp*.so*"},
	 .interpreter = "execute_ex",
	 /* By functions: "tracing", its default where it is not off, names traces. */
	 .names = "php -d opcache.enable_cli=1 -d opcache.jit=function -d "
		  "opcache.jit_buffer_size=64M -d opcache.jit_debug=16",
	 .names_since = "PHP 8.0 and later",
	 .names_word = "*opcache.jit_debug=*"},
	{.name = ".NET",
	 .files = {"libcoreclr.so", "libclrjit.so"},
	 .names = "DOTNET_PerfMapEnabled=1"},
	{.name = "LuaJIT",
	 .files = {"luajit*", "libluajit*"},
	 .names = "make XCFLAGS=-DLUAJIT_USE_PERFTOOLS",
	 .names_since = "of LuaJIT itself"},
	{.name = "Erlang",
	 .files = {"beam.*"},
	 .names = "ERL_FLAGS=\"+JPperf true\"",
	 .names_since = "OTP 24 and later"},
	{.name = "Wine", .files = {"ntdll.so", "wine*-preloader"}},
};

/* A file that an upgrade has replaced is run on, and named so by the kernel. */
static size_t without_deleted(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t size = strlen(name), behind = sizeof(deleted) - 1;
	return size > behind && !strcmp(name + size - behind, deleted) ? size - behind : size;
}

int runtime_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[NAME_MAX + 1];
	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	name[without_deleted(name)] = '\0';
	for (int i = 0; i < NR_RUNTIMES; i++)
		for (size_t k = 0; k < RUNTIME_FILES_MAX && runtimes[i].files[k]; k++)
			if (!fnmatch(runtimes[i].files[k], name, 0))
				return i;
	return -1;
}

int runtime_of_process(int32_t pid)
{
	char link[32], path[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t size = readlink(link, path, sizeof(path) - 1);
	privilege_restore(&before);
	path[size > 0 ? size : 0] = '\0';
	return runtime_of_file(path);
}

static void add_since(const struct runtime *runtime, struct text *out)
{
	if (runtime->names_since)
		text_addf(out, " (%s)", runtime->names_since);
}

void runtime_add_names_remedy(const struct runtime *runtime, int32_t pid, struct text *out)
{
	const char *pid_at = runtime->names_now ? strstr(runtime->names_now, "%d") : NULL;
	if (pid_at) {
		text_add_bytes(out, runtime->names_now, (size_t)(pid_at - runtime->names_now));
		if (pid)
			text_addf(out, "%d", pid);
		else
			text_add(out, "PID");
		text_add(out, pid_at + 2);
	} else if (runtime->names) {
		text_addf(out, "restart: %s", runtime->names);
	} else {
		text_add(out, "names of Windows modules (.exe, .dll) are not read");
	}
	add_since(runtime, out);
}

void runtime_add_stacks_remedy(const struct runtime *runtime, struct text *out)
{
	if (runtime->stacks)
		text_addf(out, "restart: %s", runtime->stacks);
}

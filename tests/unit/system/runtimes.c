/* SPDX-License-Identifier: MIT */
#include <ctop/system/runtimes.h>

#include <unistd.h>

#include "test.h"

static void known_by_what_is_mapped(void)
{
	static const struct {
		const char *path, *name;
	} files[] = {
		{"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", "Java"},
		{"/usr/bin/node", "Node.js"},
		{"/usr/lib/x86_64-linux-gnu/libnode.so.108", "Node.js"},
		{"/usr/bin/python3.11", "Python"},
		{"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "Python"},
		{"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", "Ruby"},
		{"/usr/sbin/php-fpm8.2", "PHP"},
		{"/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.0/libcoreclr.so", ".NET"},
		{"libluajit-5.1.so.2", "LuaJIT"},
		/* Of a package that was upgraded meanwhile. */
		{"/usr/bin/node (deleted)", "Node.js"},
		{"/usr/lib/jvm/lib/server/libjvm.so (deleted)", "Java"},
		{"/usr/lib/erlang/erts-13.1.5/bin/beam.debug", "Erlang"},
		{"/usr/lib/x86_64-linux-gnu/wine/x86_64-unix/ntdll.so", "Wine"},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const int runtime = runtime_of_file(files[i].path);
		CHECK(runtime >= 0 && runtime < NR_RUNTIMES);
		CHECK_STR(runtimes[runtime].name, files[i].name);
	}
}

static void none_of_the_others(void)
{
	static const char *const files[] = {"",
					    "/",
					    "[anon]",
					    "/usr/bin/perl",
					    "/lib/libc.so.6",
					    "/home/node/server",
					    "/usr/bin/nodejs/x",
					    "/usr/bin/node/ (deleted)",
					    " (deleted)",
					    "/opt/python3/bin/tool"};
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		CHECK_EQ(runtime_of_file(files[i]), -1);
	CHECK_EQ(runtime_of_process(getpid()), -1);
	CHECK_EQ(runtime_of_process(2147483647), -1);
}

static void remedies_are_whole_commands(void)
{
	struct text text = {0};
	runtime_add_names_remedy(&runtimes[runtime_of_file("libjvm.so")], 1234, &text);
	CHECK(!strncmp(text_string(&text), "jcmd 1234 Compiler.perfmap (", 28));
	text_clear(&text);
	runtime_add_stacks_remedy(&runtimes[runtime_of_file("libjvm.so")], &text);
	CHECK_STR(text_string(&text), "restart: java -XX:+PreserveFramePointer");
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		text_clear(&text);
		runtime_add_names_remedy(&runtimes[i], 0, &text);
		CHECK(text.size > 0 && text.size < 150 && !strchr(text_string(&text), '\n'));
	}
	text_release(&text);
}

int main(void)
{
	RUN(known_by_what_is_mapped);
	RUN(none_of_the_others);
	RUN(remedies_are_whole_commands);
	return test_done();
}

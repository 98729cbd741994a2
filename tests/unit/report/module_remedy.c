/* SPDX-License-Identifier: MIT */
/* What is said to be typed, for modules of any name. */
#include <ctop/report/module_remedy.h>

#include "history/hand_made.h"

static const uint8_t build_id[4] = {0xde, 0xad, 0xbe, 0xef};

/* The command for a file that lacks a debug file, where packages are of that distribution; valid until the next call. */
static const char *command_for(const char *distribution, const char *path, bool has_build_id)
{
	static char command[512];
	struct profile profile;
	struct history *history = history_new();
	struct module_row row = {.kind = MODULE_FILE};
	struct module_id id;
	struct text out = {0};
	const struct module_names stripped = {NAMES_FROM_DYNSYM, NAMES_MISSING_DEBUG_FILE};
	open_profile(&profile);
	CHECK_EQ(tables_add_string(profile.writer, path, strlen(path), &row.path), 0);
	if (has_build_id)
		module_identity_set_build_id(&row.identity, build_id, sizeof(build_id));
	CHECK_EQ(tables_add_module(profile.writer, &row, &id), 0);
	symbols_set_module(profile.namer, id, &stripped);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	add(history, &profile, profile.one, (struct node_id){0}, frame(&profile, id, 0x100, NULL),
	    STACK_COMPLETE, 1);
	if (distribution)
		CHECK_EQ(history_set_info(history, "distribution", distribution), 0);
	module_remedy_add(history, 2, &out);
	snprintf(command, sizeof(command), "%s", text_string(&out));
	text_release(&out);
	history_free(history);
	close_profile(&profile);
	return command;
}

static void of_each_distribution(void)
{
	static const char library[] = "/usr/lib/libx.so.1";
	CHECK_STR(command_for("debian", library, true),
		  "find-dbgsym-packages --install /usr/lib/libx.so.1");
	CHECK_STR(command_for("fedora", library, true),
		  "dnf --enablerepo='*debug*' install /usr/lib/debug/.build-id/de/adbeef.debug");
	CHECK_STR(command_for("suse", library, true),
		  "zypper install -C 'debuginfo(build-id)=deadbeef'");
	CHECK_STR(command_for("arch", library, true),
		  "DEBUGINFOD_URLS=https://debuginfod.archlinux.org debuginfod-find debuginfo "
		  "deadbeef");
	CHECK_STR(command_for(NULL, library, true),
		  "DEBUGINFOD_URLS=https://debuginfod.elfutils.org debuginfod-find debuginfo "
		  "deadbeef");
}

static void what_no_package_brings(void)
{
	CHECK_STR(command_for("debian", "/usr/lib/libx.so.1", false), "");
	CHECK_STR(command_for("debian", "/home/me/program", true), "");
	CHECK_STR(command_for("fedora", "/usr/local/bin/program", true), "");
	CHECK_STR(command_for("fedora", "/usr", true), "");
	CHECK_STR(command_for("fedora", "", true), "");
}

/* A path is the target's to choose: a shell takes none of it for more than a word. */
static void paths_that_are_commands(void)
{
	static const char *const paths[] = {
		"/usr/bin/x;reboot",  "/usr/bin/$(reboot)", "/usr/bin/a b",	    "/usr/bin/`x`",
		"/usr/bin/x\nreboot", "/usr/bin/\x1b[31m",  "/usr/bin/x (deleted)", "/usr/bin/*",
	};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		CHECK_STR(command_for("debian", paths[i], true),
			  "DEBUGINFOD_URLS=https://debuginfod.debian.net debuginfod-find debuginfo "
			  "deadbeef");
	CHECK_STR(command_for("\x1b]52;c;x\a", "/usr/bin/x", true),
		  "DEBUGINFOD_URLS=https://debuginfod.elfutils.org debuginfod-find debuginfo "
		  "deadbeef");
}

static void code_of_a_java_process(void)
{
	struct profile profile;
	struct history *history = history_new();
	struct text out = {0};
	const struct module_names none = {NAMES_FROM_NOTHING, NAMES_MISSING_MAP};
	struct module_row row = {.kind = MODULE_ANON, .pid = 10};
	struct module_id code;
	open_profile(&profile);
	struct module_id machine = module(&profile, MODULE_FILE, "/usr/lib/jvm/lib/libjvm.so");
	CHECK_EQ(tables_add_string(profile.writer, "[anon]", 6, &row.path), 0);
	CHECK_EQ(tables_add_module(profile.writer, &row, &code), 0);
	symbols_set_module(profile.namer, code, &none);
	struct node_id below = node(&profile, (struct node_id){0},
				    frame(&profile, machine, 0x100, "JavaCalls::call"));
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	add(history, &profile, profile.one, below, frame(&profile, code, 0x100, NULL),
	    STACK_COMPLETE, 1);
	for (uint32_t id = 2; id < 4; id++)
		if (history_module(history, id).kind == MODULE_ANON)
			module_remedy_add(history, id, &out);
	CHECK(!strncmp(text_string(&out), "jcmd 10 Compiler.perfmap ", 25));
	text_release(&out);
	history_free(history);
	close_profile(&profile);
}

int main(void)
{
	RUN(of_each_distribution);
	RUN(what_no_package_brings);
	RUN(paths_that_are_commands);
	RUN(code_of_a_java_process);
	return test_done();
}

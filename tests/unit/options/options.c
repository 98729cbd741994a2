/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>

#include <ctop/format/formats.h>
#include <ctop/options/options.h>

static struct options options;
static struct error error;

/* Parses "ctop WORDS...", words separated by blanks. */
static int parse(const char *line)
{
	static char copy[512];
	static char *argv[64];
	int argc = 0;
	char *rest = NULL;
	options_release(&options);
	error = (struct error){0};
	snprintf(copy, sizeof(copy), "ctop %s", line);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	return options_parse(argc, argv, &options, &error);
}

/* A mistake has a cause and a remedy, and says so by exit code 2. */
static bool refused(const char *line, const char *cause, const char *remedy)
{
	int code = parse(line);
	if (code != -EINVAL || error.exit_code != ERROR_EXIT_USAGE || !strstr(error.cause, cause) ||
	    !strstr(error.remedy, remedy) || !error.remedy[0]) {
		printf("# %s: %d, exit code %d, '%s' / '%s'\n", line, code, (int)error.exit_code,
		       error.cause, error.remedy);
		return false;
	}
	return true;
}

static void commands(void)
{
	CHECK_EQ(parse("-p 1"), 0);
	CHECK_EQ(options.command, COMMAND_LIVE);
	CHECK_EQ(parse("record -a"), 0);
	CHECK_EQ(options.command, COMMAND_RECORD);
	CHECK_STR(options.output, "profile.ctop");
	CHECK_EQ(parse("report"), 0);
	CHECK_EQ(options.command, COMMAND_REPORT);
	CHECK_STR(options.input, "profile.ctop");
	CHECK_EQ(parse("export folded"), 0);
	CHECK_EQ(options.command, COMMAND_EXPORT);
	CHECK_STR(options.format->name, "folded");
	CHECK_STR(options.input, "profile.ctop");
	CHECK(!options.output);
	CHECK_EQ(parse("export folded in.ctop -o out"), 0);
	CHECK_STR(options.input, "in.ctop");
	CHECK_STR(options.output, "out");
}

static void help_and_version(void)
{
	static const char *const overview[] = {"help", "--help", "-h", "-p 1 --help"};
	for (size_t i = 0; i < sizeof(overview) / sizeof(*overview); i++) {
		CHECK_EQ(parse(overview[i]), 0);
		CHECK_EQ(options.command, COMMAND_HELP);
		CHECK_EQ(options.help_about, COMMAND_LIVE);
	}
	static const char *const about_record[] = {"help record", "record --help", "record -h"};
	for (size_t i = 0; i < sizeof(about_record) / sizeof(*about_record); i++) {
		CHECK_EQ(parse(about_record[i]), 0);
		CHECK_EQ(options.command, COMMAND_HELP);
		CHECK_EQ(options.help_about, COMMAND_RECORD);
	}
	static const char *const version[] = {"version", "--version", "-V", "report --version"};
	for (size_t i = 0; i < sizeof(version) / sizeof(*version); i++) {
		CHECK_EQ(parse(version[i]), 0);
		CHECK_EQ(options.command, COMMAND_VERSION);
	}
	CHECK(refused("help reocrd", "unknown command 'reocrd'", "ctop record"));
	CHECK(refused("help xyzzy", "unknown command 'xyzzy'", "ctop help"));
}

static void spellings(void)
{
	static const char *const same[] = {"record -p 123",    "record -p123",	 "record --pid 123",
					   "record --pid=123", "record -qp 123", "record -qp123"};
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		CHECK_EQ(parse(same[i]), 0);
		CHECK_EQ(options.pids.nr, 1);
		CHECK_EQ(options.pids.items[0], 123);
	}
	CHECK(options.quiet);
	/* Options may stand after operands. */
	CHECK_EQ(parse("report my.ctop --tree --limit=7 --min-percent 1.5"), 0);
	CHECK_STR(options.input, "my.ctop");
	CHECK(options.tree);
	CHECK_EQ(options.limit, 7);
	CHECK(options.min_percent == 1.5);
	CHECK_EQ(parse("nginx --duration .5 -c 1e6"), 0);
	CHECK_STR(options.process_name, "nginx");
	CHECK(options.duration_seconds == 0.5);
	CHECK_EQ(options.count, 1000000);
	/* "-" is a word like any other. */
	CHECK_EQ(parse("record -a -o -"), 0);
	CHECK_STR(options.output, "-");
}

static void defaults(void)
{
	CHECK_EQ(parse("record -a"), 0);
	CHECK_EQ(options.nr_events, 0);
	CHECK_EQ(options.count, 0);
	CHECK_EQ(options.frequency_hz, 0);
	CHECK_EQ(options.call_graph, CALL_GRAPH_AUTO);
	CHECK_EQ(options.max_overhead_percent, 10);
	CHECK_EQ(options.memory_mib, 128);
	CHECK_EQ(options.limit, 40);
	CHECK(options.min_percent == 0.5);
	CHECK_EQ(options.columns, 0);
}

static void lists(void)
{
	CHECK_EQ(parse("-p 3,1,3 -p 2"), 0);
	CHECK_EQ(options.pids.nr, 3);
	CHECK_EQ(options.pids.items[2], 2);
	CHECK_EQ(parse("-C 0,2-3"), 0);
	CHECK_EQ(options.cpus.nr, 3);
	CHECK_EQ(options.cpus.items[1], 2);
	CHECK_EQ(options.cpus.items[2], 3);
	CHECK(options.system_wide);
	CHECK_EQ(parse("-C 0 -p 1"), 0);
	CHECK(!options.system_wide);
	CHECK_EQ(parse("report --pid 0 --cpu 1-2"), 0);
	CHECK_EQ(options.filter_pids.items[0], 0);
	CHECK_EQ(options.filter_cpus.nr, 2);

	static const char *const bad[] = {"-p 0",  "-p -5",	     "-p 1,",	     "-p ,1",
					  "-p 1x", "-p 99999999999", "-p 2147483648"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(refused(bad[i], "-p requires IDs", "-p 1234"));
	static const char *const bad_cpus[] = {"-C 3-1", "-C -1", "-C 0-", "-C 0,,1", "-C 0-70000"};
	for (size_t i = 0; i < sizeof(bad_cpus) / sizeof(*bad_cpus); i++)
		CHECK(refused(bad_cpus[i], "-C requires a list of CPUs", "0,2-3"));
}

static void parts_of_a_machine(void)
{
	CHECK_EQ(parse("-G a/b --comm x --uid 5 -i"), 0);
	CHECK_STR(options.cgroup, "a/b");
	CHECK_STR(options.only_comm, "x");
	CHECK(options.has_uid && options.uid == 5 && options.no_inherit && !options.system_wide);
	CHECK_EQ(parse("-a --uid root"), 0);
	CHECK_EQ(options.uid, 0);
	CHECK_EQ(parse("-C 0 --comm 123456789012345"), 0);
	CHECK_EQ(parse("-G /a..b/..c/. -G /a..b/..c/."), 0);
	CHECK(!options.no_inherit && !options.has_uid && !options.only_comm);
	/* The same word is a filter of what was recorded. */
	CHECK_EQ(parse("report --comm x"), 0);
	CHECK_STR(options.comm, "x");
	CHECK(!options.only_comm);
	static const char *const bad_cgroups[] = {"..", "../a", "a/..", "/a/../b", "a//.."};
	for (size_t i = 0; i < sizeof(bad_cgroups) / sizeof(*bad_cgroups); i++) {
		char line[64];
		snprintf(line, sizeof(line), "-G %s", bad_cgroups[i]);
		CHECK(refused(line, ">>>..", "/proc/PID/cgroup"));
	}
	CHECK(refused("-G a -G b", "two cgroups", "name one"));
	CHECK(refused("-G a -a", "-a and -G", "give one of"));
	CHECK(refused("-p 1 --comm x", "--comm requires", "-a"));
	CHECK(refused("-t 1 --uid 1", "--uid requires", "-a"));
	CHECK(refused("-a --comm 1234567890123456", "'123456789012345>>>6'", "ps"));
	CHECK(refused("-a --uid 1x", "'1>>>x'", "--uid 1000"));
	CHECK(refused("-a --uid no-such-user", "no user 'no-such-user'", "--uid 1000"));
	CHECK(refused("-a --uid -1", "no user '-1'", "--uid 1000"));
	CHECK(refused("report --uid 1", "does not take --uid", "ctop record"));
}

static void numbers(void)
{
	CHECK(refused("-a -c 0", "-c 0 is too low", "1"));
	CHECK(refused("-a -c -1", "-c requires an integer, not '-1'", "at least 1"));
	CHECK(refused("-a -c 1.5", "an integer", "at least 1"));
	CHECK(refused("-a -c 0x10", "an integer", "at least 1"));
	CHECK(refused("-a -c 9223372036854775808", "too high", "9223372036854775807"));
	CHECK(refused("-a -c 18446744073709551616", "an integer", "at least 1"));
	CHECK(refused("-a -F 1e9", "-F 1e9 is too high", "100000"));
	CHECK(refused("-a -F 100001", "too high", "100000"));
	CHECK(refused("-a -F 0", "too low", "1"));
	CHECK(refused("-a -F inf", "an integer", "1"));
	CHECK_EQ(parse("-a -F 100000"), 0);
	CHECK(refused("-a -c 5 -F 5", "-c and -F are mutually exclusive", "not both"));
	CHECK(refused("-a --duration 0", "out of range", "0.001"));
	CHECK(refused("-a --duration nan", "requires a number", "0.001"));
	CHECK(refused("-a --duration .", "requires a number", "0.001"));
	CHECK(refused("-a --duration 1s", "requires a number", "0.001"));
	CHECK(refused("-a --max-overhead 101", "too high", "100"));
	CHECK_EQ(parse("record -a --budget 0.5%"), 0);
	CHECK_EQ(1e6 * options.budget_share, 5000);
	CHECK(refused("-a --budget 1", "requires a percentage, not '1'", "--budget 1%"));
	CHECK(refused("-a --budget 0%", "out of range", "100%"));
	CHECK(refused("-a --syscalls", "whole CPUs", "leave out --syscalls"));
	CHECK_EQ(parse("record --last 10s -p 1 --syscalls"), 0);
	CHECK(refused("-a --budget 1% --strict", "mutually exclusive", "leave out one"));
	CHECK(refused("-a --memory 15", "too low", "16"));
	CHECK_EQ(parse("-a --memory 256"), 0);
	CHECK_EQ(options.memory_mib, 256);
	CHECK(refused("report --min-percent 101", "out of range", "100"));
	CHECK(refused("report --limit -1", "an integer", "0"));
}

static void rings(void)
{
	CHECK_EQ(parse("-a -m 1"), 0);
	CHECK_EQ(parse("-a -m 2048"), 0);
	CHECK_EQ(options.ring_pages, 2048);
	CHECK(refused("-a -m 3", "not a power of two", "2 or 4"));
	CHECK(refused("-a -m 1000", "not a power of two", "512 or 1024"));
	CHECK(refused("-a -m 0", "too low", "1"));
	CHECK(refused("-a -m 2097152", "too high", "1048576"));
}

static void call_graphs(void)
{
	CHECK_EQ(parse("-a --call-graph fp"), 0);
	CHECK_EQ(options.call_graph, CALL_GRAPH_FP);
	CHECK_EQ(parse("-a --call-graph no"), 0);
	CHECK_EQ(options.call_graph, CALL_GRAPH_NO);
	CHECK_EQ(parse("-a --call-graph dwarf"), 0);
	CHECK_EQ(options.call_graph, CALL_GRAPH_DWARF);
	CHECK_EQ(options.dump_bytes, 0);
	CHECK_EQ(parse("-a --call-graph=dwarf,65528"), 0);
	CHECK_EQ(options.dump_bytes, 65528);
	CHECK(refused("-a --call-graph dwarf,65536", "invalid size", "65528"));
	CHECK(refused("-a --call-graph dwarf,8191", "invalid size", "multiple of 8"));
	CHECK(refused("-a --call-graph dwarf,0", "invalid size", "multiple of 8"));
	CHECK(refused("-a --call-graph dwarf,", "invalid size", "multiple of 8"));
	CHECK(refused("-a --call-graph drawf", "'drawf'", "dwarf"));
}

static void events(void)
{
	CHECK_EQ(parse("-a -e cycles:u,cpu-clock -e page-faults"), 0);
	CHECK_EQ(options.nr_events, 3);
	CHECK_STR(options.events[0].asked, "cycles:u");
	CHECK_STR(options.events[1].asked, "cpu-clock");
	CHECK_STR(options.events[2].asked, "page-faults");
	CHECK(refused("-a -e cycles,,cpu-clock", "empty event", "cycles"));
	CHECK(refused("-a -e cpu-clok", "cpu-clok", ""));
	/* A PMU's commas are its own, those behind a file's path are not. */
	CHECK_EQ(parse("-a -e software/config=1,name=x/,cs -e r1,r2"), 0);
	CHECK_EQ(options.nr_events, 4);
	CHECK_STR(options.events[0].name, "x");
	CHECK_STR(options.events[1].asked, "cs");
	char many[65 * sizeof("cs,") + 16] = "-a -e cs";
	for (int event = 1; event < 65; event++)
		strcat(many, ",cs");
	CHECK(refused(many, "more than 64", "fewer"));
}

static void groups_of_events(void)
{
	CHECK_EQ(parse("-a -e cs,{cpu-clock,page-faults:k}:u,{faults} -e cycles"), 0);
	CHECK_EQ(options.nr_events, 5);
	CHECK_EQ(options.events[0].group, 0);
	CHECK(options.events[1].group && options.events[1].group == options.events[2].group);
	CHECK(options.events[3].group && options.events[3].group != options.events[1].group);
	CHECK_EQ(options.events[4].group, 0);
	CHECK(!options.events[0].asked_user_only && !options.events[3].asked_user_only);
	CHECK(options.events[1].asked_user_only && options.events[2].asked_user_only);
	CHECK(refused("-a -e {cs", "'{cs>>>'", "braces"));
	CHECK(refused("-a -e {cs}}", "'{cs}>>>}'", "braces"));
	CHECK(refused("-a -e {}", "'{>>>}'", "name an event"));
	CHECK(refused("-a -e {cs},", "'{cs},>>>'", "name an event"));
	CHECK(refused("-a -e {{cs}", "unknown event '{cs'", ""));
	CHECK(refused("-a -e {cs}:", "'{cs}:>>>'", "braces"));
	CHECK(refused("-a -e {cs:ppp}:up", "'{cs:ppp}:u>>>p'", "braces"));
}

static void lists_and_doctors(void)
{
	CHECK_EQ(parse("list"), 0);
	CHECK_EQ(options.command, COMMAND_LIST);
	CHECK(!options.pattern);
	CHECK_EQ(parse("list sched:*"), 0);
	CHECK_STR(options.pattern, "sched:*");
	CHECK(refused("list a b", "unexpected argument 'b'", "usage: ctop list"));
	CHECK(refused("list --json", "does not take --json", "ctop doctor"));
	CHECK_EQ(parse("doctor"), 0);
	CHECK_EQ(options.command, COMMAND_DOCTOR);
	CHECK_EQ(parse("doctor --json -e cs -F 99 -p 1"), 0);
	CHECK(options.json && options.nr_events == 1 && options.pids.nr == 1);
	CHECK(refused("doctor -p 1 -a", "conflicting targets", "one of"));
	CHECK(refused("doctro -p 1", "unknown command 'doctro'", "ctop doctor"));
}

static void targets(void)
{
	CHECK(refused("record", "no target given", "-p PID"));
	/* ctop alone: the picker asks, or command_live() refuses. */
	CHECK_EQ(parse("-q"), 0);
	CHECK(!options_have_target(&options));
	CHECK_EQ(options_no_target(&options, &error), -EINVAL);
	CHECK(strstr(error.cause, "no target given") && strstr(error.remedy, "-p PID"));
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
	CHECK_EQ(parse("-p 1"), 0);
	CHECK(options_have_target(&options));
	CHECK(refused("-p 1 -a", "conflicting targets: -p and -a", "one of"));
	CHECK(refused("-p 1 -t 2", "conflicting targets: -p and -t", "one of"));
	/* A file is shown. */
	CHECK_EQ(parse("./x.ctop"), 0);
	CHECK_EQ(options.command, COMMAND_REPORT);
	CHECK_STR(options.input, "./x.ctop");
	CHECK_EQ(parse("perf.data --tree"), 0);
	CHECK_EQ(options.command, COMMAND_REPORT);
	CHECK_EQ(parse("nginx"), 0);
	CHECK_EQ(options.command, COMMAND_LIVE);
	CHECK(refused("-F 99 x.ctop", "nothing to sample", "help report"));
	CHECK(refused("-p 1 x.ctop", "nothing to sample", "help report"));
	CHECK(refused("-p 1 -- ls", "conflicting targets: -p and -- CMD", "one of"));
	CHECK_EQ(parse("-a -- ls"), 0);
	CHECK_EQ(parse("-G x -- ls"), 0);
	CHECK(refused("record nginx -- ls", "conflicting targets", "nginx"));
	CHECK(refused("record --", "no command after --", "--"));
	CHECK(refused("report -- ls", "runs no command", "--"));
	CHECK(refused("record ls -l", "unknown option '-l'", "ctop record -- ls"));
	CHECK(refused("record ls foo", "unexpected argument 'foo'", "ctop record -- ls"));

	/* What follows -- is the command's own, and ends what is ours. */
	CHECK_EQ(parse("record -q -- ls -l --help"), 0);
	CHECK_EQ(options.command, COMMAND_RECORD);
	CHECK_STR(options.argv[0], "ls");
	CHECK_STR(options.argv[1], "-l");
	CHECK_STR(options.argv[2], "--help");
	CHECK(!options.argv[3]);
}

static void near_misses(void)
{
	CHECK(refused("-a --duratoin 3", "unknown option '--duratoin'", "did you mean --duration"));
	CHECK(refused("report --min 3", "unknown option '--min'", "did you mean --min-percent"));
	CHECK(refused("report --zzz", "unknown option '--zzz'", "ctop help report"));
	CHECK(refused("report -c 1", "does not take -c", "ctop, ctop record"));
	CHECK_EQ(parse("export folded --samples"), 0);
	CHECK(options.samples);
	CHECK(refused("export script --samples", "--samples is for folded", "leave out"));
	CHECK(refused("export folded --tree", "does not take --tree", "ctop report"));
	CHECK(refused("reocrd -p 1", "unknown command 'reocrd'", "ctop record"));
	CHECK(refused("expotr folded", "unknown command 'expotr'", "ctop export"));
	CHECK(refused("repotr --kernel", "unknown command 'repotr'", "ctop report"));
	CHECK(refused("export flded", "unknown format 'flded'", "ctop export folded"));
	CHECK(refused("export png", "unknown format 'png'", "ctop help export"));
	CHECK(refused("export", "no export format", "folded"));
	/* A process may be called anything, a mistyped command included. */
	CHECK_EQ(parse("reocrd"), 0);
	CHECK_STR(options.process_name, "reocrd");
	CHECK_STR(options_nearest_command("reocrd"), "record");
	CHECK(!options_nearest_command("nginx"));
	CHECK(!options_nearest_command(""));
}

static void arguments(void)
{
	CHECK(refused("-p", "-p needs an argument", "-p PID"));
	CHECK(refused("--pid", "--pid needs an argument", "--pid PID"));
	CHECK(refused("-p -- ls", "-p needs an argument", "-p PID"));
	CHECK(refused("--pid= -q", "--pid requires IDs", "--pid 1234"));
	CHECK(refused("-a --strict=1", "--strict takes no argument", "=1"));
	CHECK(refused("record -a --output=", "--output requires a non-empty argument", "FILE"));
	CHECK(refused("report --from 3 --to 2", "--from is not before --to", "seconds"));
	CHECK(refused("report --kernel --user", "are mutually exclusive", "both"));
	CHECK(refused("report a b", "unexpected argument 'b'", "ctop report"));
	CHECK(refused("--print-completion=csh", "no completions for 'csh'", "fish"));
}

static void hostile_words(void)
{
	static char long_option[4096];
	memset(long_option, 'x', sizeof(long_option) - 1);
	memcpy(long_option, "--", 2);
	char program[] = "ctop", empty[] = "";
	char *long_argv[] = {program, long_option, NULL};
	CHECK_EQ(options_parse(2, long_argv, &options, &error), -EINVAL);
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
	char *empty_argv[] = {program, empty, NULL};
	CHECK_EQ(options_parse(2, empty_argv, &options, &error), -EINVAL);
	CHECK(strstr(error.cause, "empty argument"));
	/* execve() may leave out even the program's name. */
	char *no_argv[] = {NULL};
	CHECK_EQ(options_parse(0, no_argv, &options, &error), 0);
	CHECK(!options_have_target(&options));
}

/* Longer than what can be counted in ns: that long, and not no time at all. */
static void long_times(void)
{
	CHECK_EQ(parse("record --last 1s --trigger wait>1000000000h -- true"), 0);
	CHECK(options.nr_triggers == 1 && options.triggers[0].for_ns == INT64_MAX);
	CHECK_EQ(parse("record --last 1s --trigger wait>24h -- true"), 0);
	CHECK_EQ(options.triggers[0].for_ns, UINT64_C(86400000000000));
	CHECK(refused("record --last 1000000000h -- true", "out of range", "86400s"));
}

int main(void)
{
	RUN(commands);
	RUN(help_and_version);
	RUN(spellings);
	RUN(defaults);
	RUN(lists);
	RUN(parts_of_a_machine);
	RUN(numbers);
	RUN(rings);
	RUN(call_graphs);
	RUN(events);
	RUN(groups_of_events);
	RUN(lists_and_doctors);
	RUN(targets);
	RUN(near_misses);
	RUN(arguments);
	RUN(hostile_words);
	RUN(long_times);
	options_release(&options);
	return test_done();
}

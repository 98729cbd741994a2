/* SPDX-License-Identifier: MIT */
#include <ctop/options/options_table.h>

#include <stdio.h>

enum {
	LIVE = COMMAND_BIT(COMMAND_LIVE),
	RECORD = COMMAND_BIT(COMMAND_RECORD),
	REPORT = COMMAND_BIT(COMMAND_REPORT),
	EXPORT = COMMAND_BIT(COMMAND_EXPORT),
	DOCTOR = COMMAND_BIT(COMMAND_DOCTOR),
	SAMPLERS = LIVE | RECORD,
	TARGETED = SAMPLERS | DOCTOR,
	READERS = REPORT | EXPORT,
	ANY = TARGETED | READERS | COMMAND_BIT(COMMAND_LIST) | COMMAND_BIT(COMMAND_HELP) |
	      COMMAND_BIT(COMMAND_VERSION)
};

#define EVENT_WORDS "cycles cpu-clock task-clock page-faults context-switches"

/* Letters and long names are perf's where perf has the same option. */
const struct option_row option_rows[] = {
	{OPTION_PID, GROUP_TARGET, TARGETED, 'p', "pid", "PID[,PID...]", COMPLETE_PID, NULL,
	 "processes, with all their threads and children",
	 "Children that run already are part of it, and theirs; the header says how many. Whose "
	 "parent has ended is "
	 "found only in a session that one of them leads, as services do. Those "
	 "that this user may not "
	 "profile are left out, and counted."},
	{OPTION_TID, GROUP_TARGET, TARGETED, 't', "tid", "TID[,TID...]", COMPLETE_NOTHING, NULL,
	 "single threads", NULL},
	{OPTION_ALL_CPUS, GROUP_TARGET, TARGETED, 'a', "all-cpus", NULL, COMPLETE_NOTHING, NULL,
	 "the whole system (needs privilege)",
	 "Idle time and ctop's own processes are left out. With \\fB\\-\\-\\fR \\fICMD\\fR: while "
	 "that runs."},
	{OPTION_CPU, GROUP_TARGET, TARGETED, 'C', "cpu", "CPUS", COMPLETE_NOTHING, NULL,
	 "these CPUs only, as in 0,2-3; alone it implies -a", NULL},
	{OPTION_CGROUP, GROUP_TARGET, TARGETED, 'G', "cgroup", "PATH", COMPLETE_FILE, NULL,
	 "the tasks of a cgroup (version 2; needs privilege)",
	 "PATH is that of its directory, or relative to the mount of cgroup2: "
	 "\\fB\\-G system.slice/cron.service\\fR. The cgroups in it are part of it, and tasks "
	 "that come into it later, too. When it is removed, the profile ends."},
	{OPTION_TARGET_COMM, GROUP_TARGET, TARGETED, 0, "comm", "NAME", COMPLETE_NOTHING, NULL,
	 "with -a, -C or -G: only threads of this name", NULL},
	{OPTION_TARGET_UID, GROUP_TARGET, TARGETED, 0, "uid", "USER", COMPLETE_NOTHING, NULL,
	 "with -a, -C or -G: only this user's processes",
	 "A number or a name; it is the real or the effective user, looked up at a process's "
	 "first sample, after each exec, and once a second.\nWhat \\fB\\-\\-comm\\fR and "
	 "\\fB\\-\\-uid\\fR leave out is counted."},
	{OPTION_NO_INHERIT, GROUP_TARGET, TARGETED, 'i', "no-inherit", NULL, COMPLETE_NOTHING, NULL,
	 "leave out children, and threads started later", NULL},
	{OPTION_EVENT, GROUP_SAMPLING, TARGETED, 'e', "event", "EVENT[:MODS][,...]", COMPLETE_WORDS,
	 EVENT_WORDS, "what to sample (default: cycles, else cpu-clock)",
	 "See Events above.\nOnly cycles has a stand-in, cpu-clock, where the machine has no "
	 "counters; any other event that cannot be opened is an error."},
	{OPTION_TRACE_FILTER, GROUP_SAMPLING, TARGETED, 0, "filter", "EXPR", COMPLETE_NOTHING, NULL,
	 "only hits of the tracepoints before it that match",
	 "FIELD OPERATOR VALUE, with &&, ||, ! and parentheses, as in \\fB\\-e "
	 "sched:sched_switch \\-\\-filter 'prev_prio < 120 && next_comm ~ \"sh*\"'\\fR. A "
	 "tracepoint's "
	 "fields are in its \\fIformat\\fR below /sys/kernel/tracing/events. Operators are ==, !=, "
	 "<, "
	 "<=, >, >= and & of numbers, ==, != and ~ (with * and ?) of texts, ==, != and & of CPUs, "
	 "as in \\fB'CPU & CPUS{0-3,8}'\\fR (Linux 6.6)."},
	{OPTION_COUNT, GROUP_SAMPLING, TARGETED, 'c', "count", "COUNT", COMPLETE_NOTHING, NULL,
	 "one sample every COUNT events (of a clock: ns)",
	 "A count given for cycles is not nanoseconds: when the clock stands in, it becomes that "
	 "many cycles of time, and is raised to what --max-overhead allows."},
	{OPTION_FREQ, GROUP_SAMPLING, TARGETED, 'F', "freq", "HZ", COMPLETE_NOTHING, NULL,
	 "samples per second on each busy CPU (default 999)",
	 "Of events that are neither clocks nor the CPU's counters all, where they are fewer; else "
	 "between a tenth and "
	 "twice as many."},
	{OPTION_CALL_GRAPH, GROUP_SAMPLING, TARGETED, 0, "call-graph", "MODE", COMPLETE_WORDS,
	 "auto dwarf fp no", "auto (default), dwarf[,BYTES], fp or no",
	 "\\fBdwarf\\fR unwinds a copy of the stack's top BYTES (a multiple of 8, at most 65528) "
	 "by the program's own unwind tables, \\fBfp\\fR follows frame pointers, \\fBno\\fR "
	 "keeps the sampled instruction alone.\n\\fBauto\\fR is dwarf with the largest copy that "
	 "the rings have room for, at the rate asked for and as long as they are read in time: "
	 "where they fill, copies become smaller and, with \\fB\\-F\\fR, samples fewer, before "
	 "any is lost, and larger again when the load drops. Of events that nothing paces, as each "
	 "fault or each hit of a probe (\\fB\\-c 1\\fR), copies begin at 8 KiB, and shrink to 1 "
	 "KiB in a burst."},
	{OPTION_DURATION, GROUP_SAMPLING, TARGETED, 0, "duration", "SECONDS", COMPLETE_NOTHING,
	 NULL, "stop after this long; fractions are fine",
	 "Without it ctop goes on until ^C or until the target ends."},
	{OPTION_DELAY, GROUP_SAMPLING, TARGETED, 0, "delay", "SECONDS", COMPLETE_NOTHING, NULL,
	 "let the target run this long before sampling it",
	 "\\-1 waits for the signal USR1, which switches sampling on and off at any time: "
	 "\\fBkill \\-USR1\\fR \\fIPID\\fR of ctop.\n\\fB\\-\\-duration\\fR counts from the end "
	 "of the delay."},
	{OPTION_MMAP_PAGES, GROUP_SAMPLING, TARGETED, 'm', "mmap-pages", "PAGES", COMPLETE_NOTHING,
	 NULL, "size of each CPU's ring, a power of two",
	 "By default 8 MiB, which hold a tenth of a second of the largest copies at 1 kHz; of "
	 "whole CPUs up to 32 MiB, "
	 "128 MiB in all, where the user may lock them."},
	{OPTION_MAX_OVERHEAD, GROUP_SAMPLING, TARGETED, 0, "max-overhead", "PERCENT",
	 COMPLETE_NOTHING, NULL, "most it may slow the target (default 10)",
	 "0 turns the guard off."},
	{OPTION_MEMORY, GROUP_SAMPLING, LIVE | READERS, 0, "memory", "MIB", COMPLETE_NOTHING, NULL,
	 "most that the history may take (default 128)",
	 "When about half of it is in use, stacks of little weight that were not sampled lately "
	 "are forgotten: they count "
	 "as \\fB[folded]\\fR below those of their callers that matter. Seconds long past are "
	 "merged. Of a file, stacks are kept up to there, and later ones folded. What that cost is "
	 "counted and shown, totals stay true, and the window shown stays whole as far as it "
	 "fits."},
	{OPTION_STRICT, GROUP_SAMPLING, TARGETED, 0, "strict", NULL, COMPLETE_NOTHING, NULL,
	 "fail rather than fall back to less than was asked", NULL},
	{OPTION_FILTER_PID, GROUP_FILTER, READERS, 0, "pid", "PID[,PID...]", COMPLETE_NOTHING, NULL,
	 "samples of these processes", NULL},
	{OPTION_FILTER_TID, GROUP_FILTER, READERS, 0, "tid", "TID[,TID...]", COMPLETE_NOTHING, NULL,
	 "samples of these threads", NULL},
	{OPTION_FILTER_COMM, GROUP_FILTER, READERS, 0, "comm", "NAME", COMPLETE_NOTHING, NULL,
	 "samples of threads of this name", NULL},
	{OPTION_FILTER_CPU, GROUP_FILTER, READERS, 0, "cpu", "CPUS", COMPLETE_NOTHING, NULL,
	 "samples on these CPUs, as in 0,2-3", NULL},
	{OPTION_FILTER_EVENT, GROUP_FILTER, READERS, 0, "event", "EVENT", COMPLETE_WORDS,
	 EVENT_WORDS, "samples of this event (default: first sampled)",
	 "\\fBctop export script\\fR writes all events by default."},
	{OPTION_FILTER_FROM, GROUP_FILTER, READERS, 0, "from", "SECONDS", COMPLETE_NOTHING, NULL,
	 "samples from this time on, from the first sample", NULL},
	{OPTION_FILTER_TO, GROUP_FILTER, READERS, 0, "to", "SECONDS", COMPLETE_NOTHING, NULL,
	 "samples up to this time", NULL},
	{OPTION_FILTER_KERNEL, GROUP_FILTER, READERS, 0, "kernel", NULL, COMPLETE_NOTHING, NULL,
	 "samples taken in the kernel", NULL},
	{OPTION_FILTER_USER, GROUP_FILTER, READERS, 0, "user", NULL, COMPLETE_NOTHING, NULL,
	 "samples taken in user code", NULL},
	{OPTION_FILTER_MODULE, GROUP_FILTER, READERS, 0, "module", "NAME", COMPLETE_NOTHING, NULL,
	 "samples taken in this module: file name or path", NULL},
	{OPTION_OUTPUT, GROUP_OUTPUT, RECORD | EXPORT, 'o', "output", "FILE", COMPLETE_FILE, NULL,
	 "where to write; - is standard output",
	 "\\fBctop record\\fR writes profile.ctop by default and keeps an existing one as "
	 "FILE.old; \\fBctop export\\fR writes to standard output by default. /dev/stderr, "
	 "/dev/fd/N and a "
	 "shell's >(COMMAND) are written as they are; so are a fifo or a device that is yours or "
	 "root's. Symbolic "
	 "links are refused: another user may have put them there."},
	{OPTION_STDIO, GROUP_OUTPUT, LIVE | REPORT, 0, "stdio", NULL, COMPLETE_NOTHING, NULL,
	 "plain text, also on a terminal", NULL},
	{OPTION_JSON, GROUP_OUTPUT, DOCTOR, 0, "json", NULL, COMPLETE_NOTHING, NULL,
	 "one JSON object instead of text", NULL},
	{OPTION_TREE, GROUP_OUTPUT, LIVE | REPORT, 0, "tree", NULL, COMPLETE_NOTHING, NULL,
	 "the call tree instead of the list of functions", NULL},
	{OPTION_SAMPLES, GROUP_OUTPUT, EXPORT, 0, "samples", NULL, COMPLETE_NOTHING, NULL,
	 "count samples, not what they stand for (folded)", NULL},
	{OPTION_MIN_PERCENT, GROUP_OUTPUT, LIVE | REPORT, 0, "min-percent", "PERCENT",
	 COMPLETE_NOTHING, NULL, "leave out rows whose total is below (default 0.5)", NULL},
	{OPTION_LIMIT, GROUP_OUTPUT, LIVE | REPORT, 0, "limit", "N", COMPLETE_NOTHING, NULL,
	 "most functions to list (default 40, 0: all)", NULL},
	{OPTION_THEME, GROUP_OUTPUT, LIVE | REPORT, 0, "theme", "THEME", COMPLETE_WORDS,
	 "auto dark light mono", "colours: auto (default), dark, light or mono",
	 "\\fBauto\\fR uses none where the terminal has none or NO_COLOR is set."},
	{OPTION_ASCII, GROUP_OUTPUT, LIVE | REPORT, 0, "ascii", NULL, COMPLETE_NOTHING, NULL,
	 "no characters beyond ASCII on the screen", NULL},
	{OPTION_STATS, GROUP_OUTPUT, RECORD | READERS, 0, "stats", "FILE", COMPLETE_FILE, NULL,
	 "write what was measured as one JSON object", NULL},
	{OPTION_QUIET, GROUP_OUTPUT, SAMPLERS, 'q', "quiet", NULL, COMPLETE_NOTHING, NULL,
	 "no progress line and no summary", NULL},
	{OPTION_HELP, GROUP_GENERAL, ANY, 'h', "help", NULL, COMPLETE_NOTHING, NULL,
	 "this text; after a command, that command's", NULL},
	{OPTION_VERSION, GROUP_GENERAL, ANY, 'V', "version", NULL, COMPLETE_NOTHING, NULL,
	 "the version", NULL},
	{OPTION_PRINT_COMPLETION, GROUP_INTERNAL, LIVE, 0, "print-completion", "SHELL",
	 COMPLETE_NOTHING, NULL, "a shell's completion script", NULL},
	{OPTION_PRINT_MAN_OPTIONS, GROUP_INTERNAL, LIVE, 0, "print-man-options", NULL,
	 COMPLETE_NOTHING, NULL, "the man page's option list", NULL},
	{OPTION_PRINT_MAN_KEYS, GROUP_INTERNAL, LIVE, 0, "print-man-keys", NULL, COMPLETE_NOTHING,
	 NULL, "the man page's list of keys", NULL},
};
const size_t nr_option_rows = sizeof(option_rows) / sizeof(*option_rows);

const struct command_row command_rows[] = {
	{COMMAND_LIVE, NULL, "[TARGET] [SAMPLING]", "profile, live; or show a FILE",
	 "Shows where time goes while it does; ? lists the keys, q leaves. With --stdio,\n"
	 "or where there is no terminal, it samples until ^C, --duration or the target's\n"
	 "exit, then prints the text report. ctop FILE is ctop report FILE.\n"
	 "\n"
	 "TARGET is one of -p, -t, -a, -C, -G, NAME (the one process of that name)\n"
	 "and -- CMD [ARG...] (run and profile a command; with -a or -G: those, while\n"
	 "it runs).\n"},
	{COMMAND_RECORD, "record", "[TARGET] [SAMPLING] [-o FILE]", "profile into a file",
	 "Samples until ^C, --duration or the target's exit. FILE is profile.ctop if not\n"
	 "given; an existing one is kept as FILE.old.\n"
	 "\n"
	 "TARGET is one of -p, -t, -a, -C, -G, NAME (the one process of that name)\n"
	 "and -- CMD [ARG...] (run and profile a command; with -a or -G: those, while\n"
	 "it runs).\n"},
	{COMMAND_REPORT, "report", "[FILE] [FILTER]", "show a recording",
	 "Shows a recording in the same interface. With --stdio, or where there is no\n"
	 "terminal, it prints what was sampled and how well, then the functions that took\n"
	 "the time, or with --tree who called them. FILE is profile.ctop if not given. It\n"
	 "may also be a perf.data file: its stacks are unwound as those of live profiles.\n"},
	{COMMAND_EXPORT, "export", "FORMAT [FILE] [FILTER] [-o OUT]",
	 "turn a recording into another format",
	 "FILE is profile.ctop if not given; it may also be a perf.data file. Formats:\n"},
	{COMMAND_LIST, "list", "[PATTERN]", "the events of this machine",
	 "Lists what can be given to -e, and whether this user can sample it now.\n"
	 "PATTERN is a part of a name, a name with * and ?, or a group: hardware, cache,\n"
	 "software, clocks, pmus, probes, cpu, tracepoints.\n"},
	{COMMAND_DOCTOR, "doctor", "[TARGET] [SAMPLING]", "would it work here?",
	 "Checks what profiling needs: the kernel, privileges, limits, the target. Then it\n"
	 "opens what ctop record would, with the same TARGET and SAMPLING, and says what\n"
	 "came of it and what to change, the smallest change first. Without TARGET it looks\n"
	 "at a process of this user's. Exits with 0 when profiling would work, else 1.\n"},
	{COMMAND_HELP, "help", "[COMMAND]", "this text, or a command's", ""},
	{COMMAND_VERSION, "version", "", "the version", ""},
};
const size_t nr_command_rows = sizeof(command_rows) / sizeof(*command_rows);

const struct format_row format_rows[] = {
	{"folded", "one line per stack, as FlameGraph's tools read it"},
	{"script", "sample by sample, as perf script prints it"},
	{"frames", "the same, and how each frame was found and each stack ended"},
};
const size_t nr_format_rows = sizeof(format_rows) / sizeof(*format_rows);

const char *option_group_title(enum option_group group)
{
	static const char *const titles[NR_OPTION_GROUPS] = {
		[GROUP_TARGET] = "Target",   [GROUP_SAMPLING] = "Sampling",
		[GROUP_FILTER] = "Filter",   [GROUP_OUTPUT] = "Output",
		[GROUP_GENERAL] = "General", [GROUP_INTERNAL] = "Internal",
	};
	return titles[group];
}

const struct command_row *command_row(enum command command)
{
	for (size_t i = 0; i < nr_command_rows; i++)
		if (command_rows[i].command == command)
			return &command_rows[i];
	return NULL;
}

bool option_shown(const struct option_row *row, enum command command)
{
	return row->group != GROUP_INTERNAL && (row->commands & COMMAND_BIT(command));
}

void option_owners(const struct option_row *row, char *owners, size_t size)
{
	size_t used = 0;
	owners[0] = '\0';
	for (size_t i = 0; i < nr_command_rows; i++) {
		const struct command_row *command = &command_rows[i];
		if (!(row->commands & COMMAND_BIT(command->command)) || used >= size)
			continue;
		int added = snprintf(owners + used, size - used, "%sctop%s%s", used ? ", " : "",
				     command->name ? " " : "", command->name ? command->name : "");
		used += added > 0 ? (size_t)added : 0;
	}
}

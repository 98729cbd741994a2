/* SPDX-License-Identifier: MIT */
#include <ctop/options/options_table.h>

#include <stdio.h>

enum {
	LIVE = COMMAND_BIT(COMMAND_LIVE),
	RECORD = COMMAND_BIT(COMMAND_RECORD),
	REPORT = COMMAND_BIT(COMMAND_REPORT),
	EXPORT = COMMAND_BIT(COMMAND_EXPORT),
	DIFF = COMMAND_BIT(COMMAND_DIFF),
	MERGE = COMMAND_BIT(COMMAND_MERGE),
	DOCTOR = COMMAND_BIT(COMMAND_DOCTOR),
	SERVE = COMMAND_BIT(COMMAND_SERVE),
	SAMPLERS = LIVE | RECORD,
	TARGETED = SAMPLERS | DOCTOR,
	READERS = REPORT | EXPORT,
	FILTERED = READERS | DIFF,
	ANY = TARGETED | FILTERED | MERGE | SERVE | COMMAND_BIT(COMMAND_DUMP) |
	      COMMAND_BIT(COMMAND_LIST) | COMMAND_BIT(COMMAND_HELP) | COMMAND_BIT(COMMAND_VERSION)
};

#define EVENT_WORDS "cycles cpu-clock task-clock page-faults context-switches"

/* Letters and long names are perf's where perf has the same option. */
const struct option_row option_rows[] = {
	{OPTION_PID, GROUP_TARGET, TARGETED | SERVE, 'p', "pid", "PID[,PID...]", COMPLETE_PID, NULL,
	 "processes, with all their threads and children",
	 "Their running descendants are profiled, too; the header says how many there are. A "
	 "descendant whose parent has ended is found only if it is in a session that one of the "
	 "others leads, as services do. Those that this user may not profile are left out and "
	 "counted."},
	{OPTION_TID, GROUP_TARGET, TARGETED, 't', "tid", "TID[,TID...]", COMPLETE_NOTHING, NULL,
	 "single threads", NULL},
	{OPTION_ALL_CPUS, GROUP_TARGET, TARGETED | SERVE, 'a', "all-cpus", NULL, COMPLETE_NOTHING,
	 NULL, "the whole system (needs privilege)",
	 "Idle time and ctop's own processes are left out. With \\fB\\-\\-\\fR \\fICMD\\fR: while "
	 "that runs."},
	{OPTION_CPU, GROUP_TARGET, TARGETED | SERVE, 'C', "cpu", "CPUS", COMPLETE_NOTHING, NULL,
	 "these CPUs only, as in 0,2-3; alone it implies -a", NULL},
	{OPTION_CGROUP, GROUP_TARGET, TARGETED | SERVE, 'G', "cgroup", "PATH", COMPLETE_FILE, NULL,
	 "the tasks of a cgroup (version 2; needs privilege)",
	 "PATH is its directory, absolute or relative to the mount of cgroup2: \\fB\\-G "
	 "system.slice/cron.service\\fR. Cgroups below it are included, and so are tasks that "
	 "enter it later. When it is removed, the profile ends."},
	{OPTION_TARGET_COMM, GROUP_TARGET, TARGETED, 0, "comm", "NAME", COMPLETE_NOTHING, NULL,
	 "with -a, -C or -G: only threads of this name", NULL},
	{OPTION_TARGET_UID, GROUP_TARGET, TARGETED, 0, "uid", "USER", COMPLETE_NOTHING, NULL,
	 "with -a, -C or -G: only this user's processes",
	 "A number or a name; it is the real or the effective user, looked up at a process's "
	 "first sample, after each exec, and once a second.\nWhat \\fB\\-\\-comm\\fR and "
	 "\\fB\\-\\-uid\\fR leave out is counted."},
	{OPTION_NO_INHERIT, GROUP_TARGET, TARGETED | SERVE, 'i', "no-inherit", NULL,
	 COMPLETE_NOTHING, NULL, "leave out children, and threads started later", NULL},
	{OPTION_EVENT, GROUP_SAMPLING, TARGETED, 'e', "event", "EVENT[:MODS][,...]", COMPLETE_WORDS,
	 EVENT_WORDS, "what to sample (default: cycles, else cpu-clock)",
	 "See Events above.\nOnly cycles has a stand-in, cpu-clock, where the machine has no "
	 "counters; any other event that cannot be opened is an error."},
	{OPTION_TIME, GROUP_SAMPLING, SAMPLERS | FILTERED, 0, "time", "TIME", COMPLETE_WORDS,
	 TIME_SHOWN_WORDS, "cpu (default), wait, wall, goroutines, wakeups",
	 "Waiting is shown where it is spent: threads that wait are looked at, without stopping "
	 "them, and their stacks have all the time that they waited there, what for as the "
	 "innermost frame: \\fB[lock]\\fR, \\fB[io]\\fR, \\fB[poll]\\fR, \\fB[sleep]\\fR, "
	 "\\fB[child]\\fR, \\fB[page fault]\\fR, \\fB[wait]\\fR for others. How long is known from "
	 "the kernel's records of switches, to the nanosecond; waits too short to be looked at "
	 "are shared out over seen ones that took about as long, and counted as an estimate. Time "
	 "without a CPU is \\fB[run queue]\\fR. Wall shows computing and waiting in one tree. A "
	 "recording made with \\fBwait\\fR or \\fBwall\\fR has both. Of \\fBwait\\fR the report "
	 "also lists "
	 "what was waited for longest: files, pipes, sockets, processes, and futexes with who "
	 "likely holds them, and, where the kernel lets ctop see that (root), who woke whom. "
	 "Goroutines that are parked are on no thread: \\fBgoroutines\\fR "
	 "shows what they wait for, where and how long, by looks at their descriptors about each "
	 "100 ms, of programs that Go has linked with symbols. It is a sum of its own, recorded "
	 "with any of the three. \\fBwakeups\\fR shows who ended waits of 1 ms and more, where the "
	 "kernel lets ctop see that: each has the thread that was woken, how long it had waited, "
	 "and the stack of whoever woke it, \\fB[woken by NAME]\\fR as its innermost frame. It is "
	 "a "
	 "sum of its own, too. Whoever may trace a process may see where it waits. With \\-a it is "
	 "of all "
	 "processes, without the kernel's threads."},
	{OPTION_STATE_FRAMES, GROUP_OUTPUT, LIVE | READERS, 0, "state-frames", "WHERE",
	 COMPLETE_WORDS, STATE_FRAMES_WORDS, "of waits, what for: leaf (default), root, none",
	 "With \\fBroot\\fR all that waits for a lock is below one \\fB[lock]\\fR; with "
	 "\\fBnone\\fR the "
	 "function that waits has the time itself."},
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
	 "Of events other than clocks and the CPU's counters, all are sampled where they come more "
	 "slowly than that; otherwise between a tenth and twice the rate."},
	{OPTION_CALL_GRAPH, GROUP_SAMPLING, TARGETED, 0, "call-graph", "MODE", COMPLETE_WORDS,
	 "auto dwarf fp no", "auto (default), dwarf[,BYTES], fp or no",
	 "\\fBdwarf\\fR unwinds a copy of the stack's top BYTES (a multiple of 8, at most 65528) "
	 "by the program's own unwind tables, \\fBfp\\fR follows frame pointers, \\fBno\\fR keeps "
	 "only the sampled instruction.\n\\fBauto\\fR is dwarf with the largest copy that the "
	 "rings have room for at the rate asked for. Where the rings fill, copies become smaller "
	 "and, with \\fB\\-F\\fR, samples fewer before any is lost; both recover when the load "
	 "drops. For events without a rate, such as each fault or each hit of a probe (\\fB\\-c "
	 "1\\fR), copies begin at 8 KiB and shrink to 1 KiB in a burst."},
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
	 "The default is 8 MiB, which holds a tenth of a second of the largest copies at 1 kHz. "
	 "For whole CPUs it is up to 32 MiB, 128 MiB in all, if the user may lock that much."},
	{OPTION_MAX_OVERHEAD, GROUP_SAMPLING, TARGETED, 0, "max-overhead", "PERCENT",
	 COMPLETE_NOTHING, NULL, "slow the target by at most this (default 10)",
	 "0 turns the guard off."},
	{OPTION_SYSCALLS, GROUP_SAMPLING, SAMPLERS, 0, "syscalls", NULL, COMPLETE_NOTHING, NULL,
	 "each system call, at twice a short one's cost",
	 "When each began and how long it took, of the target's threads: in view 9 and in "
	 "\\fBexport chrome\\fR. Two records of a call make one that does nothing take twice "
	 "as long or more. From 100,000 a second on they are not recorded any more, which is "
	 "said. Where there are too many for the timeline's memory, or a recording's 256 KiB, the "
	 "shortest are left out one by one, and counted. A flight recorder keeps those of its "
	 "stretch in a quarter of \\fB\\-\\-last\\-size\\fR; where there was no room for all of "
	 "a slice, it says of how much. It takes who may trace whole CPUs: root, or CAP_PERFMON "
	 "with a tracefs to read."},
	{OPTION_BUDGET, GROUP_SAMPLING, SAMPLERS | SERVE, 0, "budget", "PERCENT%", COMPLETE_NOTHING,
	 NULL, "take no more of all CPUs' time, as in 1%",
	 "Of all CPUs that are online, as long as it samples. What ctop's processes take is "
	 "measured once a second; what a sample costs in the kernel is measured at the start, and "
	 "counted. Where both come to more, samples become fewer (down to a 64th of the rate asked "
	 "for, or less), copies of the stack smaller, and threads that wait are looked at less "
	 "often; where there is room again, more. A sample then stands for more, so that sums stay "
	 "right. Bursts, as of names that are read, are paid back in the minute behind them. With "
	 "\\fB\\-c\\fR copies and looks alone become less. What cannot be held is said: at the "
	 "end, in the report, in the interface by the key i. \\fBctop serve\\fR begins no capture "
	 "before what the last ones took is paid back: until then it answers 429."},
	{OPTION_MEMORY, GROUP_SAMPLING, LIVE | FILTERED, 0, "memory", "MIB", COMPLETE_NOTHING, NULL,
	 "limit of the history's memory (default 128)",
	 "When about half of it is in use, stacks of little weight that were not sampled lately "
	 "are forgotten: they count as \\fB[folded]\\fR below those of their callers that matter. "
	 "Old seconds are merged. A file's stacks are kept up to the limit, and later ones are "
	 "folded; the default for files is 128 MiB and 128 bytes for each byte of the file, at "
	 "most half of the machine's memory, which is enough for all stacks. What was folded is "
	 "counted and shown, totals stay true, and the window shown stays complete as far as it "
	 "fits."},
	{OPTION_JOBS, GROUP_SAMPLING, FILTERED | MERGE, 'j', "jobs", "N", COMPLETE_NOTHING, NULL,
	 "processes that read a perf.data file (1 to 16)",
	 "Each unwinds the samples of its own threads, so that a file with one busy thread is not "
	 "read faster. What is shown is the same for any number. The default is one for each CPU, "
	 "and one for files of less than 100 MB."},
	{OPTION_STRICT, GROUP_SAMPLING, TARGETED, 0, "strict", NULL, COMPLETE_NOTHING, NULL,
	 "fail instead of falling back to less than asked", NULL},
	{OPTION_LABEL, GROUP_SAMPLING, RECORD, 0, "label", "KEY=VALUE", COMPLETE_NOTHING, NULL,
	 "give the recording a label, as in env=test",
	 "May be given several times. \\fBctop report\\fR shows labels, exports in json and pprof "
	 "have them. "
	 "After \\fBctop merge\\fR they tell which run samples are of. KEY is made of letters, "
	 "digits, \\-, _ and ."},
	{OPTION_LAST, GROUP_SAMPLING, RECORD, 0, "last", "TIME", COMPLETE_NOTHING, NULL,
	 "keep the last TIME in memory, write it when asked",
	 "A flight recorder, for days: as in \\fB\\-\\-last 30s\\fR. \\fBctop dump\\fR, the signal "
	 "USR2 "
	 "or a \\fB\\-\\-trigger\\fR writes a slice, the time before that moment, into a file of "
	 "its "
	 "own, named after \\fB\\-o\\fR and the time, and recording goes on. At the end the last "
	 "TIME is "
	 "written to FILE, unless there are triggers. A slice of fewer than two samples is not "
	 "written. A slice has no code of functions inside."},
	{OPTION_LAST_SIZE, GROUP_SAMPLING, RECORD, 0, "last-size", "SIZE", COMPLETE_NOTHING, NULL,
	 "memory for it (default 64M)",
	 "Alone: as much as it has room for, a day at most. About: where samples come faster, less "
	 "than TIME is kept, and a slice says so. A quarter "
	 "of it is for what threads did, which the timeline shows as unknown where there was no "
	 "room."},
	{OPTION_POST, GROUP_SAMPLING, RECORD, 0, "post", "TIME", COMPLETE_NOTHING, NULL,
	 "with --last: a slice goes on so long (default 0)", NULL},
	{OPTION_KEEP, GROUP_SAMPLING, RECORD, 0, "keep", "N", COMPLETE_NOTHING, NULL,
	 "with --last: only the newest N slices of this run", NULL},
	{OPTION_TRIGGER, GROUP_SAMPLING, RECORD, 0, "trigger", "EXPR", COMPLETE_NOTHING, NULL,
	 "with --last: what makes it write a slice",
	 "May be given several times.\n\\fBcpu>150% for 2s\\fR: the target uses more than one and "
	 "a half CPUs for two seconds;\n\\fBwait>500ms for lock\\fR: a thread waits longer than "
	 "that, for "
	 "\\fBlock\\fR, \\fBio\\fR, \\fBpoll\\fR, \\fBsleep\\fR, \\fBchild\\fR, \\fBfault\\fR or "
	 "\\fBother\\fR, or several of them as in \\fBlock,io\\fR (without \\fBfor\\fR: lock, io, "
	 "child, "
	 "fault); with \\fBat NAME\\fR behind it at a function that has NAME in its name, as in "
	 "\\fBwait>1s at send_query\\fR: then, and with \\fB\\-\\-time wall\\fR, the slice has "
	 "where they wait;\n\\fBlatency "
	 "FUNCTION>20ms\\fR, \\fBlatency FILE:FUNCTION>20ms\\fR: a call of that "
	 "function, of the target's own program if no other file is named, takes longer than that, "
	 "known when it returns; each of its calls is two samples "
	 "(\\fBuprobe:FILE:FUNCTION\\fR, \\fBuretprobe:\\fR);\n\\fBevent EVENT\\fR: a sample "
	 "of that event, as in \\fBevent sched:sched_process_exit\\fR, which is sampled besides "
	 "those of \\fB\\-e\\fR;\n\\fBfile PATH\\fR: that file is made, written or "
	 "touched;\n\\fBexit!=0\\fR: the command ends with an error or by a signal.\nFor TIME "
	 "after "
	 "a slice no trigger writes another one; how often one would have is said."},
	{OPTION_FILTER_PID, GROUP_FILTER, FILTERED, 0, "pid", "PID[,PID...]", COMPLETE_NOTHING,
	 NULL, "samples of these processes", NULL},
	{OPTION_FILTER_TID, GROUP_FILTER, FILTERED, 0, "tid", "TID[,TID...]", COMPLETE_NOTHING,
	 NULL, "samples of these threads", NULL},
	{OPTION_FILTER_COMM, GROUP_FILTER, FILTERED, 0, "comm", "NAME", COMPLETE_NOTHING, NULL,
	 "samples of threads of this name", NULL},
	{OPTION_FILTER_CPU, GROUP_FILTER, FILTERED, 0, "cpu", "CPUS", COMPLETE_NOTHING, NULL,
	 "samples on these CPUs, as in 0,2-3", NULL},
	{OPTION_FILTER_EVENT, GROUP_FILTER, FILTERED, 0, "event", "EVENT", COMPLETE_WORDS,
	 EVENT_WORDS, "samples of this event (default: first sampled)",
	 "Without it, the list and the tree of a report and the code of a function are of the "
	 "first event, and have a column for each other one: its share in the row itself, in the "
	 "tree in all that is below it, in code of the function. "
	 "With instructions and cycles there are instructions per cycle (IPC), with instructions "
	 "and events of misses those per thousand instructions; \\fBn\\fR is the number of "
	 "samples behind such a ratio, of the event that has fewer, and \\fB~\\fR stands before "
	 "one that chance may have made off by more than a quarter. "
	 "Where lines are too narrow for all columns, ratios come first.\n"
	 "\\fBctop export script\\fR writes all events by default."},
	{OPTION_FILTER_FROM, GROUP_FILTER, FILTERED, 0, "from", "SECONDS", COMPLETE_NOTHING, NULL,
	 "samples from this time on, from the first sample",
	 "Of a wait, only the part between --from and --to counts."},
	{OPTION_FILTER_TO, GROUP_FILTER, FILTERED, 0, "to", "SECONDS", COMPLETE_NOTHING, NULL,
	 "samples up to this time", NULL},
	{OPTION_FILTER_KERNEL, GROUP_FILTER, FILTERED, 0, "kernel", NULL, COMPLETE_NOTHING, NULL,
	 "samples taken in the kernel", NULL},
	{OPTION_FILTER_USER, GROUP_FILTER, FILTERED, 0, "user", NULL, COMPLETE_NOTHING, NULL,
	 "samples taken in user code", NULL},
	{OPTION_FILTER_MODULE, GROUP_FILTER, FILTERED, 0, "module", "NAME", COMPLETE_NOTHING, NULL,
	 "samples taken in this module: file name or path", NULL},
	{OPTION_FILTER_LABEL, GROUP_FILTER, FILTERED, 0, "label", "KEY=VALUE", COMPLETE_NOTHING,
	 NULL, "samples of runs with this label",
	 "Of several, runs that have all of them. \\fBhost\\fR is the machine's name, unless it "
	 "was "
	 "given as a label."},
	{OPTION_LISTEN, GROUP_OUTPUT, SERVE, 0, "listen", "ADDRESS", COMPLETE_NOTHING, NULL,
	 "a socket, unix:PATH, or 127.0.0.1:PORT with --token-file",
	 "The default is a unix socket, /run/ctop.sock or $XDG_RUNTIME_DIR/ctop.sock, which the "
	 "user "
	 "who runs ctop and root can use and nobody else. A port of this machine alone can be "
	 "reached by all of its users, so that it takes a token."},
	{OPTION_TOKEN_FILE, GROUP_OUTPUT, SERVE, 0, "token-file", "FILE", COMPLETE_FILE, NULL,
	 "clients must send its line as Bearer token",
	 "One line of 16 to 255 printable characters, in a file of yours or root's that nobody "
	 "else "
	 "may read."},
	{OPTION_PUSH, GROUP_OUTPUT, SERVE, 0, "push", "URL", COMPLETE_NOTHING, NULL,
	 "send profiles to a Pyroscope server, too",
	 "As pprof, to \\fIURL\\fR/ingest, as \\fBctop{hostname=...}\\fR: Alloy's "
	 "pyroscope.receive_http takes "
	 "them as well. Profiles that cannot be sent wait, 32 and 64 MiB at most, and are tried "
	 "again ever "
	 "later, up to 5 minutes apart; what is dropped is said and counted. While one is captured "
	 "for "
	 "that, requests for others get 429. It needs libcurl."},
	{OPTION_PUSH_EVERY, GROUP_OUTPUT, SERVE, 0, "push-every", "TIME", COMPLETE_NOTHING, NULL,
	 "a profile of 10 s each TIME (default 1m)",
	 "Of less than 20 s, half of the time is captured."},
	{OPTION_OUTPUT, GROUP_OUTPUT, RECORD | EXPORT | DIFF, 'o', "output", "FILE", COMPLETE_FILE,
	 NULL, "where to write; - is standard output",
	 "\\fBctop record\\fR writes profile.ctop by default and keeps an existing one as "
	 "FILE.old; \\fBctop export\\fR writes to standard output by default. /dev/stderr, "
	 "/dev/fd/N and a shell's >(COMMAND) are written directly; so is a FIFO or a device that "
	 "belongs to you or root. Symbolic links are refused: another user may have put them "
	 "there."},
	{OPTION_STDIO, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "stdio", NULL, COMPLETE_NOTHING, NULL,
	 "plain text, also on a terminal", NULL},
	{OPTION_JSON, GROUP_OUTPUT, DOCTOR, 0, "json", NULL, COMPLETE_NOTHING, NULL,
	 "one JSON object instead of text", NULL},
	{OPTION_TREE, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "tree", NULL, COMPLETE_NOTHING, NULL,
	 "the call tree instead of the list of functions",
	 "In a report, calls without branches that pass on nine tenths are one row, FIRST ... LAST "
	 "and how many; --names full has a row for each."},
	{OPTION_TIMELINE, GROUP_OUTPUT, LIVE | REPORT, 0, "timeline", NULL, COMPLETE_NOTHING, NULL,
	 "what each thread did when",
	 "A row for each thread: how many seconds it computed, wanted a CPU and waited, and its "
	 "time from left to right, a character for each part: # computing, + some computing, q "
	 "waiting for a CPU, waiting for a l(ock), i(o), p(oll), s(leep), c(hild), f(ault), "
	 "o(ther), "
	 "- waiting for what nobody saw, ? unknown. Below, for each thread of which there are "
	 "records: when it was created and by whom, how long it waited for its first CPU, when it "
	 "ended, how often it was preempted and migrated to another CPU. Where there are several "
	 "cgroups, the sums of each. --from and --to choose a part; its seconds are about. In the "
	 "interface it is the first view."},
	{OPTION_MODULES, GROUP_OUTPUT, LIVE | REPORT, 0, "modules", NULL, COMPLETE_NOTHING, NULL,
	 "the modules, and where their names come from",
	 "Each program, library, the kernel and generated code, with its build-id and the source "
	 "of its functions' names: the symbol table, a debug file, a JIT's map. Where names are "
	 "missing, the reason and a command that would bring them stand below it."},
	{OPTION_GROUP, GROUP_OUTPUT, LIVE | READERS, 0, "group", "GROUP", COMPLETE_WORDS,
	 GROUPING_WORDS, "a row is: inline (default), function, line, ...",
	 "What a row of the list is, and in an export what a frame is called:\n"
	 "\\fBinline\\fR, the default: a function; one that was inlined is a row of its own;\n"
	 "\\fBfunction\\fR: a function that is called, with all that was inlined into it;\n"
	 "\\fBline\\fR: a line of the source, in one function; without known lines, the function;\n"
	 "\\fBaddress\\fR: an instruction; of callers, the byte before the return address;\n"
	 "\\fBmodule\\fR: a program, a library, the kernel; in exports one that calls itself is "
	 "one "
	 "frame;\n"
	 "\\fBthread\\fR, \\fBprocess\\fR: also for how many seconds each computed, wanted a CPU "
	 "and waited, and for what mostly, with those that have no samples; in exports for folded, "
	 "and of processes for svg. Others have threads and processes of their own.\n"
	 "Each sample counts for one row's SELF%, and once for the TOTAL% of each row that its "
	 "stack "
	 "has."},
	{OPTION_ANNOTATE, GROUP_OUTPUT, REPORT, 0, "annotate", "FUNCTION", COMPLETE_NOTHING, NULL,
	 "a function's code, samples by instruction",
	 "Its instructions and the source lines that they come from, as text. CODE% is the share "
	 "of the function's samples; what has a tenth is marked **, a hundredth *. A > stands "
	 "where "
	 "a jump of the function leads to; behind a jump v or ^ says whether that is below or "
	 "above; behind # stand the name of what is called, and the function that was inlined; the "
	 "line before says by which calls. A "
	 "processor tells of an instruction a little late: the one before may be meant. The file "
	 "must be the one that was profiled, by its build-id; where it is not there, the code that "
	 "the recording has kept is listed, with the lines of what was in stacks. Generated code "
	 "is always that: as the "
	 "JIT's dump has it, or as it was read in the process's memory; when, is said. Of an "
	 "inlined function, the function that has most of it is shown. FUNCTION is a name with or "
	 "without parameters, or a part "
	 "of it: of several that match, the one that took most; the header names others. It needs "
	 "libcapstone."},
	{OPTION_SOURCE_DIR, GROUP_OUTPUT, LIVE | REPORT, 0, "source-dir", "OLD=NEW", COMPLETE_FILE,
	 NULL, "sources compiled in OLD are in NEW",
	 "May be given several times. Without it they are looked for where they were compiled, "
	 "then below the working directory."},
	{OPTION_SAMPLES, GROUP_OUTPUT, EXPORT, 0, "samples", NULL, COMPLETE_NOTHING, NULL,
	 "count samples, not what they stand for (folded)", NULL},
	{OPTION_NO_INLINE, GROUP_OUTPUT, SAMPLERS | FILTERED, 0, "no-inline", NULL,
	 COMPLETE_NOTHING, NULL, "no inlined functions, and no lines",
	 "Functions that the compiler put into others are rows of their own, marked "
	 "\\fB(inlined)\\fR, where a file or its separate debug file has DWARF, and in Go programs "
	 "without it. They are looked up in the background: a live profile shows them as they "
	 "come, and files are written "
	 "after at most 10 s for those that are left. A recording has them inside. With this "
	 "option none are looked up, or none of a recording are shown."},
	{OPTION_KEEP_CODE, GROUP_OUTPUT, RECORD, 0, "keep-code", NULL, COMPLETE_NOTHING, NULL,
	 "keep the code of hot functions (default)",
	 "The recording has their instructions inside, so that \\fBctop report \\-\\-annotate\\fR "
	 "and view 7 show them where the programs are not, or are others by now: at most 128 KiB "
	 "of "
	 "a function, and 1 MiB in all, the hottest first; of those with a thousandth of the "
	 "samples or more. It is not more than the files have. Code that a JIT has made is kept as "
	 "its dump has it, or is read in the memory of the process, if that lives long enough."},
	{OPTION_NO_KEEP_CODE, GROUP_OUTPUT, RECORD, 0, "no-keep-code", NULL, COMPLETE_NOTHING, NULL,
	 "no code in the recording", NULL},
	{OPTION_MIN_PERCENT, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "min-percent", "PERCENT",
	 COMPLETE_NOTHING, NULL, "leave out rows with a lower total (default 0.5)", NULL},
	{OPTION_LIMIT, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "limit", "N", COMPLETE_NOTHING, NULL,
	 "list at most N rows (default 40, 0: all)", NULL},
	{OPTION_NAMES, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "names", "NAMES", COMPLETE_WORDS,
	 "fit full", "in text: fit the line (default), or full",
	 "The line is as wide as the terminal, or 200 columns. What is the same in many names goes "
	 "first: parameters, then template arguments, then namespaces, then the middle."},
	{OPTION_PER, GROUP_OUTPUT, DIFF, 0, "per", "WHAT", COMPLETE_WORDS,
	 "total run second instructions", "by total (default), run, second or a counter",
	 "What weights are divided by before they are compared. By \\fBtotal\\fR they are shares "
	 "of each "
	 "profile, and nothing is said of how much it is in all. By \\fBrun\\fR, for programs that "
	 "do the "
	 "same in each, by \\fBsecond\\fR of the time recorded, and by the events of a counter "
	 "that was "
	 "recorded, too, as in \\fB\\-\\-per instructions\\fR, they are amounts, shown as shares "
	 "of A's."},
	{OPTION_FAIL_ABOVE, GROUP_OUTPUT, DIFF, 0, "fail-above", "PERCENT", COMPLETE_NOTHING, NULL,
	 "exit with 1 if a function grew by more",
	 "PERCENT is a share of A's whole, as the column CHANGE has it; what is within noise does "
	 "not count. It is looked for in what functions cost themselves and with what they call."},
	{OPTION_FOLDED, GROUP_OUTPUT, DIFF, 0, "folded", NULL, COMPLETE_NOTHING, NULL,
	 "stacks with two numbers, for flamegraph.pl",
	 "As difffolded.pl writes them. What A has is scaled to B: to its total, or to its seconds "
	 "or events with \\fB\\-\\-per\\fR."},
	{OPTION_THEME, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "theme", "THEME", COMPLETE_WORDS,
	 "auto dark light mono", "colours: auto (default), dark, light or mono",
	 "\\fBauto\\fR uses none where the terminal has none or NO_COLOR is set. It takes the "
	 "background from COLORFGBG, which some terminals set; without it, it uses colours that "
	 "suit both."},
	{OPTION_ASCII, GROUP_OUTPUT, LIVE | REPORT | DIFF, 0, "ascii", NULL, COMPLETE_NOTHING, NULL,
	 "no characters beyond ASCII on the screen", NULL},
	{OPTION_DEBUGINFOD, GROUP_OUTPUT, SAMPLERS | READERS, 0, "debuginfod", NULL,
	 COMPLETE_NOTHING, NULL, "fetch debug files that are not here",
	 "From the servers that DEBUGINFOD_URLS names, for modules whose functions else have no "
	 "names; "
	 "the servers learn their build-ids. A process of its own fetches, as the user who called "
	 "ctop and without privileges, into the cache that all debuginfod clients share. It takes "
	 "2 minutes and 1 GiB for a file at most, and libdebuginfod; servers that are silent for "
	 "two files in a row are asked no more. Of a recording of ctop's, which has its names "
	 "inside, it changes nothing but a function's code: its source files that are not here are "
	 "asked for, too, 20 seconds and 16 MiB each, 256 at most, and where there are no lines "
	 "the "
	 "debug file. The servers learn the paths that debug information names."},
	{OPTION_NO_CACHE, GROUP_OUTPUT, SAMPLERS | READERS, 0, "no-cache", NULL, COMPLETE_NOTHING,
	 NULL, "have the kernel print its names again",
	 "They are else kept from one run to the next, as long as the same kernel runs with the "
	 "same modules: see FILES. Names of files are not kept."},
	{OPTION_VMLINUX, GROUP_OUTPUT, SAMPLERS, 0, "vmlinux", "FILE", COMPLETE_FILE, NULL,
	 "the running kernel's vmlinux, for its lines",
	 "Inlined functions and lines of the kernel come from the file that it was made of, which "
	 "distributions have in packages of debug information. Without this option it is looked "
	 "for below /usr/lib/debug, /boot and /lib/modules. It must have the kernel's build-id "
	 "(/sys/kernel/notes), and belong to root or you. Names are always the kernel's own."},
	{OPTION_HTML, GROUP_OUTPUT, RECORD | DIFF, 0, "html", "FILE", COMPLETE_FILE, NULL,
	 "write it as a page for a browser, too",
	 "Of a recording what \\fBctop export html\\fR writes, as soon as it is whole; of two a "
	 "flame graph of their differences, and all functions."},
	{OPTION_STATS, GROUP_OUTPUT, RECORD | READERS, 0, "stats", "FILE", COMPLETE_FILE, NULL,
	 "write the measurements as one JSON object", NULL},
	{OPTION_QUIET, GROUP_OUTPUT, SAMPLERS | SERVE, 'q', "quiet", NULL, COMPLETE_NOTHING, NULL,
	 "no progress line and no summary", NULL},
	{OPTION_HELP, GROUP_GENERAL, ANY, 'h', "help", NULL, COMPLETE_NOTHING, NULL,
	 "this text; after a command, that command's", NULL},
	{OPTION_VERSION, GROUP_GENERAL, ANY, 'V', "version", NULL, COMPLETE_NOTHING, NULL,
	 "the version", NULL},
	{OPTION_PRINT_COMPLETION, GROUP_INTERNAL, LIVE, 0, "print-completion", "SHELL",
	 COMPLETE_NOTHING, NULL, "a shell's completion script", NULL},
	{OPTION_PRINT_MAN_OPTIONS, GROUP_INTERNAL, LIVE, 0, "print-man-options", NULL,
	 COMPLETE_NOTHING, NULL, "the man page's option list", NULL},
	{OPTION_PRINT_MAN_FORMATS, GROUP_INTERNAL, LIVE, 0, "print-man-formats", NULL,
	 COMPLETE_NOTHING, NULL, "the man page's list of formats", NULL},
	{OPTION_PRINT_MAN_KEYS, GROUP_INTERNAL, LIVE, 0, "print-man-keys", NULL, COMPLETE_NOTHING,
	 NULL, "the man page's list of keys", NULL},
};
const size_t nr_option_rows = sizeof(option_rows) / sizeof(*option_rows);

const struct command_row command_rows[] = {
	{COMMAND_LIVE, NULL, "[TARGET] [SAMPLING]", "profile live, or show a FILE",
	 "Shows live where time goes; ? lists the keys, q quits. With --stdio, or where\n"
	 "there is no terminal, it samples until ^C, --duration or the target's exit, then\n"
	 "prints the text report. ctop FILE is ctop report FILE.\n"
	 "\n"
	 "TARGET is one of -p, -t, -a, -C, -G, NAME (a process of that name)\n"
	 "and -- CMD [ARG...] (run a command and profile it; with -a or -G, profile those\n"
	 "while it runs).\n"},
	{COMMAND_RECORD, "record", "[TARGET] [SAMPLING] [-o FILE]", "profile into a file",
	 "Samples until ^C, --duration or the target's exit. FILE is profile.ctop if not\n"
	 "given; an existing one is kept as FILE.old.\n"
	 "\n"
	 "TARGET is one of -p, -t, -a, -C, -G, NAME (a process of that name)\n"
	 "and -- CMD [ARG...] (run a command and profile it; with -a or -G, profile those\n"
	 "while it runs).\n"},
	{COMMAND_REPORT, "report", "[FILE] [FILTER]", "show a recording",
	 "Shows a recording in the same interface. With --stdio, or where there is no\n"
	 "terminal, it prints what was sampled and how well, then the functions that took\n"
	 "the time or, with --tree, the call tree. FILE is profile.ctop if not given. It\n"
	 "may also be a perf.data file, whose stacks are unwound as in a live profile.\n"},
	{COMMAND_EXPORT, "export", "FORMAT [FILE] [FILTER] [-o OUT]",
	 "turn a recording into another format",
	 "FILE is profile.ctop if not given; it may also be a perf.data file. Formats:\n"},
	{COMMAND_DIFF, "diff", "A B [FILTER]", "what differs between two recordings",
	 "Compares two recordings or perf.data files, function by function or, with\n"
	 "--tree, path by path, and marks what is within noise (~). Either side may be\n"
	 "several runs, as in A1,A2,A3 B1,B2,B3: then noise is what runs of a side differ\n"
	 "by, too. Functions are the same if their names and modules are. On a terminal,\n"
	 "without --stdio, the interface shows B, each function with its change.\n"},
	{COMMAND_MERGE, "merge", "OUT IN...", "several recordings in one",
	 "Writes one recording of all: of several hosts, or several runs. Their times are\n"
	 "those of the clock on the wall, where the recordings know it. Their labels tell\n"
	 "the runs apart: ctop report OUT --label host=web1; file is a label, too.\n"
	 "An OUT that is there already is not replaced.\n"},
	{COMMAND_DUMP, "dump", "[PID]", "a flight recorder's last stretch",
	 "Asks a running ctop record --last to write what it has in memory, and to go on.\n"
	 "PID is that ctop's; it may be left out where there is only one.\n"},
	{COMMAND_SERVE, "serve", "[TARGET] [--listen ADDRESS]", "profiles over HTTP, for fleets",
	 "Answers on a socket of this machine until ^C, one capture at a time:\n"
	 "  /debug/pprof/profile  computing, as pprof (seconds, hz, pid)\n"
	 "  /debug/fgprof         computing and waiting (and format=pprof or folded)\n"
	 "  /debug/fgtrace        the same in time, as a Chrome trace\n"
	 "  /flame                computing, as a page for a browser\n"
	 "  /metrics, /healthz    what ctop costs, for Prometheus; that it runs\n"
	 "  POST /debug/dump      what ctop dump does, on a unix socket (pid)\n"
	 "TARGET is -p PID, -a, -C or -G. It needs libmicrohttpd. docs/FLEET.md shows how\n"
	 "Parca, Grafana Alloy and the OpenTelemetry Collector ask it.\n"},
	{COMMAND_LIST, "list", "[PATTERN]", "the events of this machine",
	 "Lists what can be given to -e, and whether this user can sample it now.\n"
	 "PATTERN is a part of a name, a name with * and ?, or a group: hardware, cache,\n"
	 "software, clocks, pmus, probes, cpu, tracepoints.\n"},
	{COMMAND_DOCTOR, "doctor", "[TARGET] [SAMPLING]", "would profiling work here?",
	 "Checks what profiling needs: the kernel, privileges, limits, the target. Then it\n"
	 "opens what ctop record would, with the same TARGET and SAMPLING, and says what\n"
	 "came of it and what to change, the smallest change first. Without TARGET it looks\n"
	 "at a process of this user. Exits with 0 if profiling would work, else 1.\n"},
	{COMMAND_HELP, "help", "[COMMAND]", "this text, or a command's", ""},
	{COMMAND_VERSION, "version", "", "the version", ""},
};
const size_t nr_command_rows = sizeof(command_rows) / sizeof(*command_rows);

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

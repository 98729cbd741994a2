/* SPDX-License-Identifier: MIT */
#include <ctop/format/formats.h>

#include <string.h>

#include "writers.h"

const struct format formats[] = {
	{
		.name = "folded",
		.help = "one line per stack, as FlameGraph's tools read it",
		.ending = ".folded",
		.what = "folded stacks",
		.details = "One line per stack, root first, and what its samples stand for: "
			   "events, for a clock nanoseconds\n(\\fBflamegraph.pl "
			   "\\-\\-countname=ns\\fR); with\n.B \\-\\-samples\ntheir number. "
			   "FlameGraph's tools and speedscope read it.\n",
		.counts_samples = true,
		.groups_threads = true,
		.groups_processes = true,
		.write = folded_write,
	},
	{
		.name = "script",
		.help = "sample by sample, as perf script prints it",
		.ending = ".txt",
		.what = "the text of perf script",
		.details =
			"Sample by sample in the order of time, in the words and columns of\n"
			".BR \"perf script \\-F +pid,+cpu\" :\n"
			"what stackcollapse\\-perf.pl, speedscope, the Firefox Profiler and every "
			"other reader of that text take.\n"
			"Times are those of CLOCK_MONOTONIC.\n"
			"A frame's address in a program or library is the one in its ELF file, "
			"which\n"
			".BR addr2line (1)\n"
			"and\n"
			".BR nm (1)\n"
			"know; recordings do not keep where in each process a file was mapped.\n"
			"(perf prints the offset in the file, which most often is the same "
			"number.)\n"
			"As there, a caller's address in user code is the return address less 1, "
			"one in the kernel the return address itself;\n"
			"the kernel is [kernel.kallsyms], and code without a file is of "
			"/tmp/perf\\-PID.map.\n",
		.of_samples = true,
		.write = script_write,
	},
	{
		.name = "frames",
		.help = "the same, and how each frame was found and each stack ended",
		.details =
			"The same text; after the event stands how the stack ended, and after each "
			"address how the frame was found. Add it to a report of a wrong "
			"stack.\n.BR leaf ,\n.B kernel\n(the kernel's own chain),\n.B cfi\nand\n.B "
			"expression\n(unwind tables),\n.B plt\n(a stub of the linker),\n.B "
			"signal\n(interrupted by a signal),\n.B return\n(a function without tables "
			"that had just been called),\n.B fp\n(a frame pointer),\n.B code\n(no "
			"table has it: the function's instructions say it, and the call before the "
			"return address, which leads there, proves it),\n.B likely\n(the same, but "
			"that call is by a pointer or to another function, which may have led "
			"there),\n.B created\n(whoever began a goroutine), or\n.BR joined .\n",
		.of_samples = true,
		.write = frames_write,
	},
	{
		.ending = ".ctop",
		.what = "a recording",
		.details =
			"A recording of what the interface shows; only the interface writes it.\n",
		.of_samples = true,
		.write = selection_recording_write,
	},
	{
		.name = "pprof",
		.help = "for go tool pprof and whatever reads its profiles",
		.ending = ".pb.gz",
		.what = "a pprof profile",
		.details = "A compressed protocol buffer, for\n.BR \"go tool pprof\" ,\nGrafana, "
			   "Parca, Perfetto and speedscope. Each event is a sample type, in its "
			   "unit, and has its number of samples beside it\n(\\fBpprof "
			   "\\-sample_index=\\fR). Labels are pid, tid, comm (the process's), "
			   "thread_comm, cpu, and stack_end of stacks that do not reach their "
			   "root; cpu is left out if there are more than 2 million samples. "
			   "Addresses are those of the ELF files, with their build-ids, so that "
			   "pprof can look up names and lines itself.\n",
		.of_samples = true,
		.write = pprof_write,
	},
	{
		.name = "speedscope",
		.help = "for speedscope, each thread along time",
		.ending = ".speedscope.json",
		.what = "a speedscope profile",
		.details =
			"For\n.UR https://www.speedscope.app\n.UE :\na profile for each thread and "
			"event, its samples in the order of time, and where waits are known one of "
			"computing and waiting together. With more than 2 million samples "
			"each distinct stack is one sample, and the order means nothing.\n",
		.of_samples = true,
		.write = speedscope_write,
	},
	{
		.name = "firefox",
		.help = "for the Firefox Profiler",
		.ending = ".firefox.json",
		.what = "a profile for the Firefox Profiler",
		.details = "For\n.UR https://profiler.firefox.com\n.UE ,\nwhich keeps it on your "
			   "machine, and for Perfetto. Each event of a thread is a thread, along "
			   "time; categories are the kernel, user code, code generated at run "
			   "time, and what threads wait for; waits are markers, too. With more "
			   "than 2 million samples each distinct stack is one "
			   "sample, and its time means nothing.\n",
		.of_samples = true,
		.write = firefox_write,
	},
	{
		.name = "chrome",
		.help = "trace events, for Perfetto and chrome://tracing",
		.ending = ".trace.json",
		.what = "trace events",
		.details = "Slices along time, for\n.UR https://ui.perfetto.dev\n.UE\nand "
			   "chrome://tracing. A slice is not a call: neighbouring samples with the "
			   "same function at the same place of their stacks are merged. A sample "
			   "of a clock lasts the time that it stands for, one of another event a "
			   "microsecond; a slice's arguments are its number of samples and what "
			   "they stand for. A second row of each thread has its states: computing, "
			   "run queue, waiting for what, as the timeline has them, and arrows from "
			   "who ended one of the 1,024 longest waits to its end. Threads begin "
			   "with an arrow from who created them; their end, preemptions and "
			   "migrations from CPU to CPU are instants. A third row has the "
			   "system calls that a thread is known to have waited in, with what "
			   "it waited for, or, recorded with --syscalls, each one.\n",
		.of_samples = true,
		.of_timeline = true,
		.write = chrome_write,
	},
	{
		.name = "callgrind",
		.help = "for KCachegrind and callgrind_annotate",
		.ending = ".callgrind",
		.what = "a callgrind profile",
		.details =
			"For KCachegrind, QCachegrind and\n.BR callgrind_annotate (1).\nEach "
			"event is a column, in its unit; each thread is a function that calls "
			"the roots of its stacks. Source lines have what they cost, where they are "
			"known. The number of calls is that of samples, since "
			"the real one is not known; recursive calls cost nothing.\n",
		.all_events = true,
		.write = callgrind_write,
	},
	{
		.name = "svg",
		.help = "a flame graph as a picture",
		.ending = ".svg",
		.what = "a flame graph",
		.details =
			"A flame graph of one event, the root at the bottom, for READMEs and "
			"mails: one file without scripts. A box shows its numbers when the pointer "
			"rests on it; boxes narrower than a tenth of a pixel are left out.\n",
		.groups_processes = true,
		.write = svg_write,
	},
	{
		.name = "html",
		.help = "one page to look at it in, for any browser",
		.ending = ".html",
		.what = "a page to look at it in",
		.details =
			"One file that needs nothing else and connects to nothing, for any "
			"browser: flame graph and icicle with zoom and search, functions, callers "
			"and callees, threads, a strip of time to choose a stretch from, several "
			"events, and how well it was measured. Its keys are those of the "
			"interface; \\fB?\\fR lists them.\n",
		.of_slices = true,
		.write = html_write,
	},
	{
		.name = "csv",
		.help = "a table of functions by thread, for spreadsheets",
		.ending = ".csv",
		.what = "a table of functions",
		.details = "A row for each function in each thread, of each event: what its "
			   "samples stand for, their number, and their share of the "
			   "event, in the function itself (self) and in all that it called "
			   "(total). Sums over threads are right; sums of totals over "
			   "functions mean nothing.\n",
		.all_events = true,
		.write = csv_write,
	},
	{
		.name = "json",
		.help = "stacks and all that is known about them, for programs",
		.ending = ".json",
		.what = "stacks as JSON",
		.details = "Facts about the run, events, modules with their build-ids, functions, "
			   "frames with their addresses, the tree of calls, and "
			   "by thread and event each distinct stack, its samples and how it ended. "
			   "docs/export.schema.json says what each field is.\n",
		.all_events = true,
		.write = json_write,
	},
};
enum { NR_FORMATS = sizeof(formats) / sizeof(*formats) };
const size_t nr_formats = NR_FORMATS;

const struct format *format_named(const char *name)
{
	for (size_t i = 0; i < NR_FORMATS; i++)
		if (formats[i].name && !strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct format *format_of_path(const char *path)
{
	const size_t size = strlen(path);
	for (size_t i = 0; i < NR_FORMATS; i++) {
		const char *ending = formats[i].ending;
		if (ending && size >= strlen(ending) &&
		    !strcmp(path + size - strlen(ending), ending))
			return &formats[i];
	}
	return formats;
}

const struct format *format_next(const struct format *format)
{
	do
		format = format + 1 == formats + NR_FORMATS ? formats : format + 1;
	while (!format->ending);
	return format;
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_SCRIPT_H
#define CTOP_FORMAT_SCRIPT_H

/*
 * The text that `perf script -F +pid,+cpu` prints (checked against perf 6.1), which stackcollapse-perf.pl,
 * speedscope, the Firefox Profiler and Perfetto read: sample by sample in the order of time
 *
 *     comm   pid/tid   [cpu] seconds.micros:     period event: 
 *     	         address symbol+0xoffset (module)
 *     	         ...
 *
 * leaf first, an empty line behind. As perf does it: a user frame found by unwinding shows its look-up address
 * (of a caller, the return address less 1), a kernel frame the address of the kernel's own chain; the kernel is
 * [kernel.kallsyms], code without a file is of /tmp/perf-PID.map, what is not known is [unknown], a comm that is
 * not known is :TID.
 *
 * Unlike perf: a user frame's address is that of the ELF file, as addr2line and nm know it, where perf shows the offset
 * in the file; most programs have the same number for both. Names are escaped (base/text.h), and the
 * blanks a comm begins with are _, so that no name can pass for another line.
 */

#include <stddef.h>

#include <ctop/history/history.h>
#include <ctop/query/selection.h>

struct script_sink {
	void *context;
	int (*write)(void *context, const void *bytes,
		     size_t size); /* 0 or -errno: writing stops */
	/*
	 * Imports the history's source once more, as history_follow_samples() wants it, and refreshes the selection. 0 or
	 * -errno. NULL where the history keeps no single samples.
	 */
	int (*read_again)(void *context);
};

/*
 * Writes the samples that a selection of the history shows, in pieces of some 64 KiB: memory does not grow with their number. Where there
 * were too many to be kept (history_keep_samples()), reads them again: all of them, whatever the selection's filter. Of samples that
 * were not kept one by one (selection_each_sample()) the CPU is not known, and said to be 0. 0, -ENOMEM or what the sink said.
 */
int script_write(struct history *history, struct selection *selection,
		 const struct script_sink *sink);

#endif

/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include "sample_text.h"

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

static void add_frame(struct sample_text *text, const struct history_stack *stack,
		      const struct history_frame *frame, bool is_leaf)
{
	/* What the kernel's chain held, before 1 was taken from it to look it up. */
	unsigned back = frame->method == FRAME_KERNEL && !is_leaf;
	text_add(&text->text, "\t");
	sample_text_add_hex(text, frame->address + back, 16);
	text_add(&text->text, " ");
	sample_text_add_function(text, frame, back);
	text_add(&text->text, " (");
	sample_text_add_module(text, frame, stack->pid);
	text_add(&text->text, ")\n");
}

static void add_sample(struct sample_text *text, const struct history_sample *sample)
{
	const struct history_stack *stack = &sample->stack;
	sample_text_add_head(text, sample);
	text_add(&text->text, "\n");
	for (size_t i = stack->nr_frames; i-- > 0;)
		add_frame(text, stack, &stack->frames[i], i == stack->nr_frames - 1);
	text_add(&text->text, "\n");
}

int script_write(const struct export_request *request)
{
	return sample_text_write(request, add_sample);
}

/* SPDX-License-Identifier: MIT */
#include "sample_text.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/clock.h>

#include "pieces.h"

enum { NS_PER_MICROSECOND = 1000 };

void sample_text_add_hex(struct sample_text *text, uint64_t number, size_t cols)
{
	char digits[16];
	size_t at = sizeof(digits);
	do {
		digits[--at] = "0123456789abcdef"[number & 15];
		number >>= 4;
	} while (number);
	while (sizeof(digits) - at < cols)
		digits[--at] = ' ';
	text_add_bytes(&text->text, digits + at, sizeof(digits) - at);
}

static void add_comm(struct text *text, const struct history_stack *stack)
{
	const char *comm = stack->comm;
	if (!*comm)
		text_addf(text, ":%" PRId32, stack->tid);
	for (; *comm == ' '; comm++)
		text_add(text, "_");
	text_add_safe(text, comm);
}

void sample_text_add_head(struct sample_text *sample_text, const struct history_sample *sample)
{
	struct text *text = &sample_text->text;
	const struct history_stack *stack = &sample->stack;
	add_comm(text, stack);
	text_addf(text, " %5" PRId32 "/%-5" PRId32 " [%03" PRIu32 "] %5" PRIu64 ".%06" PRIu64 ": ",
		  stack->pid, stack->tid, sample->cpu, sample->time_ns / NS_PER_SECOND,
		  sample->time_ns % NS_PER_SECOND / NS_PER_MICROSECOND);
	const char *event = history_event_name(sample_text->history, stack->event);
	text_addf(text, "%10" PRIu64 " %*s", stack->weight,
		  sample_text->event_cols - (int)strlen(event), "");
	text_add_safe(text, event);
	text_add(text, ": ");
}

void sample_text_add_function(struct sample_text *sample_text, const struct history_frame *frame,
			      unsigned back)
{
	struct text *text = &sample_text->text;
	const struct history *history = sample_text->history;
	if (!history_function_named(history, frame->function) &&
	    !history_function_bounded(history, frame->function)) {
		text_add(text, "[unknown]");
		return;
	}
	text_add_safe(text, history_function_name(history, frame->function));
	if (frame->offset != UINT32_MAX) {
		text_add(text, "+0x");
		sample_text_add_hex(sample_text, (uint64_t)frame->offset + back, 0);
	}
}

void sample_text_add_module(struct sample_text *sample_text, const struct history_frame *frame,
			    int32_t pid)
{
	struct text *text = &sample_text->text;
	if (frame->inlined) {
		text_add(text, "inlined");
		return;
	}
	const char *path = history_function_module(sample_text->history, frame->function);
	if (!strcmp(path, "[kernel]"))
		text_add(text, "[kernel.kallsyms]");
	else if (!strcmp(path, "[anon]"))
		text_addf(text, "/tmp/perf-%" PRId32 ".map", pid);
	else
		text_add_safe(text, *path ? path : "[unknown]");
}

struct writing {
	struct sample_text text;
	const struct export_sink *sink;
	void (*each)(struct sample_text *text, const struct history_sample *sample);
};

static int add_sample(void *context, const struct history_sample *sample)
{
	struct writing *writing = context;
	struct text *text = &writing->text.text;
	writing->each(&writing->text, sample);
	return pieces_offer(writing->sink, text);
}

int sample_text_write(const struct export_request *request,
		      void (*each)(struct sample_text *text, const struct history_sample *sample))
{
	struct history *history = request->history;
	struct writing writing = {{.history = history}, request->sink, each};
	for (size_t i = 0; i < history_nr_events(history); i++) {
		int cols = (int)strlen(history_event_name(history, i));
		if (cols > writing.text.event_cols)
			writing.text.event_cols = cols;
	}
	int result = pieces_each_sample(request, add_sample, &writing);
	if (!result)
		result = pieces_flush(request->sink, &writing.text.text);
	text_release(&writing.text.text);
	return result;
}

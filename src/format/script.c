/* SPDX-License-Identifier: MIT */
#include <ctop/format/script.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>

enum { PIECE_BYTES = 1 << 16, NS_PER_MICROSECOND = 1000 };

struct script {
	struct history *history;
	const struct script_sink *sink;
	struct text text; /* not handed over yet */
	int event_cols;	  /* of the longest name: all end in one column */
};

/* As wide as perf prints it, and without the cost of a format: most of the text is addresses. */
static void add_hex(struct text *text, uint64_t number, size_t cols)
{
	char digits[16];
	size_t at = sizeof(digits);
	do {
		digits[--at] = "0123456789abcdef"[number & 15];
		number >>= 4;
	} while (number);
	while (sizeof(digits) - at < cols)
		digits[--at] = ' ';
	text_add_bytes(text, digits + at, sizeof(digits) - at);
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

static void add_head(struct script *script, const struct history_sample *sample)
{
	struct text *text = &script->text;
	const struct history_stack *stack = &sample->stack;
	add_comm(text, stack);
	text_addf(text, " %5" PRId32 "/%-5" PRId32 " [%03" PRIu32 "] %5" PRIu64 ".%06" PRIu64 ": ",
		  stack->pid, stack->tid, sample->cpu, sample->time_ns / NS_PER_SECOND,
		  sample->time_ns % NS_PER_SECOND / NS_PER_MICROSECOND);
	const char *event = history_event_name(script->history, stack->event);
	text_addf(text, "%10" PRIu64 " %*s", stack->weight, script->event_cols - (int)strlen(event),
		  "");
	text_add_safe(text, event);
	text_add(text, ": \n");
}

static void add_module(struct text *text, const char *path, int32_t pid)
{
	if (!strcmp(path, "[kernel]"))
		text_add(text, "[kernel.kallsyms]");
	else if (!strcmp(path, "[anon]"))
		text_addf(text, "/tmp/perf-%" PRId32 ".map", pid);
	else
		text_add_safe(text, *path ? path : "[unknown]");
}

static void add_frame(struct script *script, const struct history_stack *stack,
		      const struct history_frame *frame, bool is_leaf)
{
	struct text *text = &script->text;
	const struct history *history = script->history;
	/* What the kernel's chain held, before 1 was taken from it to look it up. */
	unsigned back = frame->method == FRAME_KERNEL && !is_leaf;
	text_add(text, "\t");
	add_hex(text, frame->address + back, 16);
	text_add(text, " ");
	if (history_function_named(history, frame->function)) {
		text_add_safe(text, history_function_name(history, frame->function));
		if (frame->offset != UINT32_MAX) {
			text_add(text, "+0x");
			add_hex(text, (uint64_t)frame->offset + back, 0);
		}
	} else {
		text_add(text, "[unknown]");
	}
	text_add(text, " (");
	add_module(text, history_function_module(history, frame->function), stack->pid);
	text_add(text, ")\n");
}

static int hand_over(struct script *script)
{
	struct text *text = &script->text;
	int result = text->failed ? -ENOMEM : 0;
	if (!result && text->size)
		result = script->sink->write(script->sink->context, text->bytes, text->size);
	text_clear(text);
	return result;
}

static int add_sample(void *context, const struct history_sample *sample)
{
	struct script *script = context;
	const struct history_stack *stack = &sample->stack;
	add_head(script, sample);
	for (size_t i = stack->nr_frames; i-- > 0;)
		add_frame(script, stack, &stack->frames[i], i == stack->nr_frames - 1);
	text_add(&script->text, "\n");
	return script->text.size < PIECE_BYTES && !script->text.failed ? 0 : hand_over(script);
}

int script_write(struct history *history, const struct script_sink *sink)
{
	struct script script = {.history = history, .sink = sink};
	for (size_t i = 0; i < history_nr_events(history); i++) {
		int cols = (int)strlen(history_event_name(history, i));
		if (cols > script.event_cols)
			script.event_cols = cols;
	}
	int result = history_each_sample(history, 0, UINT64_MAX, add_sample, &script);
	if (!result)
		result = hand_over(&script);
	text_release(&script.text);
	return result;
}

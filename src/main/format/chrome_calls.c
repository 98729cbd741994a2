/* SPDX-License-Identifier: MIT */
#include "chrome_calls.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "pieces.h"

struct writing {
	struct text *out, name, scratch;
	const struct timeline_thread *thread;
};

/* Above the rows of states. */
static void begin(const struct writing *writing, const char *phase)
{
	text_addf(writing->out, ",\n{\"ph\":\"%s\",\"pid\":%" PRId32 ",\"tid\":%" PRIu64, phase,
		  writing->thread->pid, chrome_states_id(writing->thread) + CHROME_STATES_FIRST_ID);
}

static void add_row(struct writing *writing)
{
	text_clear(&writing->name);
	timeline_add_run(writing->thread, &writing->name);
	text_addf(&writing->name, "%s, system calls", writing->thread->name);
	begin(writing, "M");
	text_add(writing->out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
	json_add_name(writing->out, &writing->scratch, text_string(&writing->name));
	text_add(writing->out, "}}");
}

/* "read, pipe:[4711]": the call is its name, what it waits for an argument. */
static void add_slice(struct writing *writing, const struct timeline_call *call)
{
	const size_t size = strcspn(call->name, ",");
	const char *what = call->name + size + strspn(call->name + size, ", ");
	begin(writing, "X");
	text_add(writing->out, ",\"ts\":");
	chrome_add_us(call->from_ns, writing->out);
	text_add(writing->out, ",\"dur\":");
	chrome_add_us(call->to_ns - call->from_ns, writing->out);
	text_addf(writing->out, ",\"cat\":\"%s\",\"name\":",
		  call->is_whole ? "system call" : "wait in system call");
	text_clear(&writing->name);
	text_add_bytes(&writing->name, call->name, size);
	json_add_name(writing->out, &writing->scratch, text_string(&writing->name));
	text_add(writing->out, ",\"args\":{\"waits for\":");
	json_add_name(writing->out, &writing->scratch, what);
	text_add(writing->out, "}}");
}

int chrome_add_calls(const struct chrome_part *part, struct text *out)
{
	const struct timeline *timeline = part->timeline;
	struct writing writing = {.out = out};
	int result = 0;
	for (size_t row = 0; !result && row < timeline_nr_threads(timeline); row++) {
		const size_t nr = timeline_nr_calls(timeline, row);
		writing.thread = timeline_thread(timeline, row);
		if (!nr || !chrome_shows(part, writing.thread))
			continue;
		add_row(&writing);
		for (size_t i = 0; !result && i < nr; i++) {
			struct timeline_call call = timeline_call_at(timeline, row, i);
			if (chrome_cut(part, &call.from_ns, &call.to_ns))
				add_slice(&writing, &call);
			result = pieces_offer(part->request->sink, out);
		}
	}
	out->failed |= writing.name.failed || writing.scratch.failed;
	text_release(&writing.name);
	text_release(&writing.scratch);
	return result;
}

/* SPDX-License-Identifier: MIT */
#include "live.h"

#include <errno.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/code/live_code.h>
#include <ctop/kernel/record.h>

#include "internal.h"

/* All processes' copies; then all are forgotten, and those that are still sampled are asked for again. */
#define COPIES_BYTES_MAX ((size_t)32 << 20)
/* What main has no bytes left for, it has some second later. What it refuses stays refused, as far as anybody knows. */
#define BUSY_NS	   (NS_PER_SECOND / 4)
#define REFUSED_NS (10 * NS_PER_SECOND)

struct module *live_code_of(struct collector *collector, struct process *process)
{
	if (collector->source.file || collector->config.without_tables)
		return NULL;
	struct module *module = modules_of_code(&collector->unwinding.modules, process);
	if (module && !module->live)
		module->live = live_code_new();
	return module && module->live ? module : NULL;
}

static void forget_when_full(struct modules *modules)
{
	size_t bytes = 0;
	for (const struct module *module = modules->first; module; module = module->next)
		bytes += module->live ? live_code_bytes(module->live) : 0;
	if (bytes < COPIES_BYTES_MAX)
		return;
	for (struct module *module = modules->first; module; module = module->next)
		live_code_forget(module->live);
}

int live_code_ask(struct collector *collector, const struct stack_gap *gap)
{
	const struct mapping *map = process_mapping_at(gap->process, gap->address);
	const uint64_t first = gap->address & ~(uint64_t)(LIVE_CODE_WINDOW - 1);
	struct message message = {
		.kind = MESSAGE_NEED_CODE,
		.code = {.pid = gap->code->row.pid,
			 .started_ns = gap->code->row.started_ns,
			 .start = first,
			 .end = first + LIVE_CODE_WINDOW},
	};
	if (!map || map->module != gap->code) {
		live_code_refuse(gap->code->live, gap->address, UINT64_MAX);
		return 0;
	}
	if (message.code.start < map->start)
		message.code.start = map->start;
	if (message.code.end > map->end)
		message.code.end = map->end;
	forget_when_full(&collector->unwinding.modules);
	const int result = protocol_send(collector->channel, &message, -1);
	if (!result)
		live_code_asked(gap->code->live, gap->address);
	return result;
}

static struct module *find_asked(struct modules *modules, const struct message_code *answer)
{
	for (struct module *module = modules->first; module; module = module->next)
		if (module->live && module->row.pid == answer->pid &&
		    module->row.started_ns == answer->started_ns)
			return module;
	return NULL;
}

int live_code_answer(struct collector *collector, const struct message_code *answer, int fd)
{
	static uint8_t bytes[PROTOCOL_CODE_MAX];
	const struct module *module = find_asked(&collector->unwinding.modules, answer);
	if (!module)
		return 0;
	const ssize_t got = fd < 0 ? answer->error : pread(fd, bytes, sizeof(bytes), 0);
	if (got > 0)
		return live_code_take(module->live, answer->start, bytes, (size_t)got,
				      answer->read_ns);
	live_code_refuse(module->live, answer->start,
			 clock_now_ns() + (answer->error == -EBUSY ? BUSY_NS : REFUSED_NS));
	return 0;
}

void live_code_follow(struct collector *collector, const struct record *record)
{
	const struct record_mmap *mmap = &record->mmap;
	for (struct module *module = collector->unwinding.modules.first; module;
	     module = module->next)
		if (module->live && module->row.pid == record->pid)
			live_code_outdate(module->live, mmap->start, mmap->start + mmap->length,
					  record->time_ns);
}

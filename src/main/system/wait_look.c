/* SPDX-License-Identifier: MIT */
#include <ctop/system/wait_look.h>

#include <errno.h>

#include <ctop/system/process_memory.h>
#include <ctop/system/system_call.h>
#include <ctop/system/wait_kind.h>

int wait_look_read(int32_t pid, int32_t tid, char state, const struct sched_stat *before,
		   struct wait_look *look, uint8_t *stack, size_t most)
{
	const struct system_call call = system_call_read(pid, tid);
	const bool is_stopped = state == 'T' || state == 't'; /* wherever that met it */
	*look = (struct wait_look){.kind = wait_kind_read(&call, pid, tid, state),
				   .call = call.is_ours && !is_stopped ? call.number : -1};
	if (!before->is_known)
		return -ENOTSUP;
	if (call.runs)
		return -EAGAIN;
	if (call.is_ours)
		look->stack_bytes = process_read(pid, call.sp, stack, most);
	if (!is_stopped)
		look->object = wait_object_read(pid, &call);
	struct sched_stat after;
	sched_stat_read(pid, tid, &after);
	if (!after.is_known || after.nr_runs != before->nr_runs)
		return -EAGAIN;
	if (!call.is_told || (call.is_ours && !look->stack_bytes))
		return -EACCES;
	look->sp = call.sp;
	look->pc = call.pc;
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/system/wait_look.h>

#include <errno.h>
#include <sys/uio.h>

#include <ctop/base/privilege.h>
#include <ctop/system/system_call.h>
#include <ctop/system/wait_kind.h>

#define PAGE_BYTES ((uint64_t)4096)
/* As far as it is mapped: a part for each page, since a part is read in whole or not at all. */
static size_t read_stack(int32_t pid, uint64_t sp, uint8_t *stack, size_t most)
{
	enum { PARTS_MOST = 32 };
	struct iovec there[PARTS_MOST], here = {.iov_base = stack, .iov_len = most};
	size_t nr = 0, bytes = 0;
	while (nr < PARTS_MOST && bytes < most && sp + bytes >= sp) {
		const uint64_t at = sp + bytes;
		size_t part = (size_t)(PAGE_BYTES - at % PAGE_BYTES);
		part = part < most - bytes ? part : most - bytes;
		/* Addresses of another process: nothing is read through the pointer here. */
		there[nr++] = (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = part};
		bytes += part;
	}
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	const ssize_t got = process_vm_readv(pid, &here, 1, there, nr, 0);
	privilege_restore(&before);
	return got > 0 ? (size_t)got : 0;
}

int wait_look_read(int32_t pid, int32_t tid, char state, const struct sched_stat *before,
		   struct wait_look *look, uint8_t *stack, size_t most)
{
	const struct system_call call = system_call_read(pid, tid);
	*look = (struct wait_look){.kind = wait_kind_read(&call, pid, tid, state)};
	if (!before->is_known)
		return -ENOTSUP;
	if (call.runs)
		return -EAGAIN;
	if (call.is_ours)
		look->stack_bytes = read_stack(pid, call.sp, stack, most);
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

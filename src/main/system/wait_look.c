/* SPDX-License-Identifier: MIT */
#include <ctop/system/wait_look.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include <ctop/base/privilege.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/wait_kind.h>

#define PAGE_BYTES ((uint64_t)4096)
/* Above it a stack pointer is one of a 64-bit program. */
#define LOW_ADDRESSES (UINT64_C(1) << 32)

/* "202 0x7f… (six arguments) SP PC", or "-1 SP PC" in no call: proc_pid_syscall(5). */
static bool parse_registers(const char *text, uint64_t *sp, uint64_t *pc)
{
	long number;
	if (sscanf(text, "%ld", &number) != 1)
		return false;
	const int nr = number < 0 ? sscanf(text, "%*d %" SCNx64 " %" SCNx64, sp, pc)
				  : sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64,
					   sp, pc);
	return nr == 2 && *sp >= LOW_ADDRESSES;
}

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
	char what[48], text[256], place[PROC_PLACE_BYTES];
	*look = (struct wait_look){0};
	snprintf(what, sizeof(what), "task/%d/syscall", tid);
	proc_text(pid, what, text, sizeof(text));
	proc_place(pid, tid, place);
	look->kind = wait_kind_of(text, state, place);
	if (!before->is_known)
		return -ENOTSUP;
	if (!text[0])
		return -EACCES;
	if (strncmp(text, "running", strlen("running")) == 0)
		return -EAGAIN;
	uint64_t sp, pc;
	const bool has_registers = parse_registers(text, &sp, &pc);
	if (has_registers)
		look->stack_bytes = read_stack(pid, sp, stack, most);
	struct sched_stat after;
	sched_stat_read(pid, tid, &after);
	if (!after.is_known || after.nr_runs != before->nr_runs)
		return -EAGAIN;
	if (has_registers && !look->stack_bytes)
		return -EACCES;
	look->sp = has_registers ? sp : 0;
	look->pc = has_registers ? pc : 0;
	return 0;
}

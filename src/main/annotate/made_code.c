/* SPDX-License-Identifier: MIT */
#include "made_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/ipc/protocol.h>
#include <ctop/module_identity.h>
#include <ctop/system/proc_text.h>

void made_code_init(struct made_code *made, struct opener *opener)
{
	*made = (struct made_code){.opener = opener, .memory_fd = -1, .map_fd = -1};
#ifdef __aarch64__
	made->machine = EM_AARCH64;
#else
	made->machine = EM_X86_64;
#endif
}

void made_code_forget(struct made_code *made)
{
	if (made->opener)
		opener_forget(made->opener, made);
	if (made->memory_fd >= 0)
		close(made->memory_fd);
	if (made->map_fd >= 0)
		close(made->map_fd);
	made->memory_fd = made->map_fd = -1;
}

/* The next owner of its number has code of his own. */
static bool is_still(const struct made_code *made)
{
	const uint64_t since_ns = proc_start_ns(made->pid);
	return since_ns && process_is_still(since_ns, made->started_ns);
}

static void ask(struct made_code *made, const struct opener_request *request, opener_taker *taker)
{
	int result = opener_ask(made->opener, request, taker, made);
	if (result)
		taker(made, &(struct opener_answer){.error = result}, -1);
}

static void take_map(void *context, const struct opener_answer *answer, int fd)
{
	struct made_code *made = context;
	made->map_fd = fd;
	made->taker(made->context, !is_still(made) ? -ESRCH : fd < 0 ? answer->error : 0);
}

static void take_memory(void *context, const struct opener_answer *answer, int fd)
{
	struct made_code *made = context;
	const struct opener_request map = {.kind = OPENER_PERF_MAP, .request = {.pid = made->pid}};
	struct stat status;
	made->memory_fd = fd;
	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0 &&
	    status.st_size <= PROTOCOL_CODE_MAX) {
		made->size = (uint64_t)status.st_size;
		ask(made, &map, take_map);
		return;
	}
	const int error = fd >= 0 ? -EFAULT : answer->error;
	made->taker(made->context, !is_still(made) ? -ESRCH : error == -EACCES ? -EFAULT : error);
}

void made_code_ask(struct made_code *made, const struct code_request *request,
		   made_code_taker *taker, void *context)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t start = request->start & ~(page_bytes - 1);
	const struct opener_request memory = {
		.kind = OPENER_CODE,
		.request = {.pid = request->module.pid,
			    .start = start,
			    .end = start + PROTOCOL_CODE_MAX},
	};
	made_code_forget(made);
	made->pid = request->module.pid;
	made->started_ns = request->module.started_ns;
	made->start = start;
	made->is_cut = false;
	made->read_ns = clock_now_ns();
	made->taker = taker;
	made->context = context;
	if (!is_still(made))
		taker(context, -ESRCH);
	else if (start > UINT64_MAX - PROTOCOL_CODE_MAX)
		taker(context, -EFAULT);
	else
		ask(made, &memory, take_memory);
}

static void take_kernels(void *context, const struct opener_answer *answer, int fd)
{
	struct made_code *made = context;
	struct stat status = {0};
	int result = fd < 0 ? answer->error : fstat(fd, &status) ? -errno : 0;
	if (!result && (status.st_size <= 0 || status.st_size > OPENER_KERNEL_CODE_MAX))
		result = -EIO;
	made->memory_fd = fd;
	made->size = (uint64_t)status.st_size;
	made->is_cut = made->size < answer->whole_bytes;
	made->taker(made->context, result);
}

/* Names that were demangled are none of the kernel's list. */
void made_code_ask_kernel(struct made_code *made, const struct code_request *request,
			  made_code_taker *taker, void *context)
{
	const char *name = request->name;
	const struct opener_request code = {
		.kind = OPENER_KERNEL_CODE,
		.request = {.start = request->start,
			    .path = name && !strpbrk(name, ":<( ") ? name : ""},
	};
	made_code_forget(made);
	made->start = request->start;
	made->read_ns = clock_now_ns();
	made->taker = taker;
	made->context = context;
	ask(made, &code, take_kernels);
}

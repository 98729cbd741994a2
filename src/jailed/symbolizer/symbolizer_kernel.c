/* SPDX-License-Identifier: MIT */
/*
 * The code of the kernel's hot functions: in no file that anybody has, and not as the kernel was built, since it patches itself. Main has
 * it copied out of the kernel's memory, where it may. A module's function may have gone: what is kept has its name, and when it was read.
 */
#include "symbolizer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/ipc/protocol.h>
#include <ctop/store/kept_code.h>

static const char *name_of(const struct symbolizer *symbolizer, uint32_t function)
{
	const struct hot_function *hot = &symbolizer->hot_code.functions.items[function];
	return symbols_string(symbolizer->symbols, (struct string_id){hot->name});
}

/* One that was demangled is none of the kernel's list: then the place has to do. */
static const char *name_for_kernel(const char *name)
{
	return strpbrk(name, ":<( ") || strlen(name) >= PROTOCOL_KERNEL_NAME_MAX ? "" : name;
}

bool symbolizer_copy_kernel_code(struct symbolizer *symbolizer, const struct hot_function *function)
{
	struct kernel_copies *copies = &symbolizer->kernel_copies;
	const struct kernel_copy copy = {
		.start = function->start,
		.function = (uint32_t)(function - symbolizer->hot_code.functions.items),
	};
	if (!symbolizer->requests.need_kernel_code || copies->is_refused)
		return true;
	if (copies->nr == KERNEL_COPIES_MAX)
		return false;
	copies->items[copies->nr++] = copy;
	symbolizer->requests.need_kernel_code(symbolizer->requests.context, copy.start,
					      name_for_kernel(name_of(symbolizer, copy.function)));
	return true;
}

/* 0 or -errno. */
static int keep(struct symbolizer *symbolizer, const struct kernel_copy *copy, int fd,
		uint64_t whole_bytes, uint64_t read_ns)
{
	const struct hot_function *function = &symbolizer->hot_code.functions.items[copy->function];
	const char *name = name_of(symbolizer, copy->function);
	uint8_t *bytes = malloc(KEPT_FUNCTION_MAX);
	if (!bytes)
		return -ENOMEM;
	const ssize_t got = pread(fd, bytes, KEPT_FUNCTION_MAX, 0);
	const struct kept_code code = {
		.start = copy->start,
		.read_ns = read_ns,
		.name = name,
		.name_bytes = (uint32_t)strlen(name),
		.module = {function->module},
		.size = got > 0 ? (uint32_t)got : 0,
		.machine = CODE_COPY_MACHINE,
		.is_cut = (uint64_t)got < whole_bytes,
	};
	const int result =
		got > 0 ? symbols_keep_code(symbolizer->symbols, &code, bytes) : -ENODATA;
	free(bytes);
	return result;
}

/* Later there may be more, or it is not to be had at all. */
static void take_error(struct symbolizer *symbolizer, const struct kernel_copy *copy, int error)
{
	if (error == -EBUSY && !symbolizer->looks_again)
		symbolizer->hot_code.functions.items[copy->function].is_done = false;
	symbolizer->kernel_copies.is_refused |=
		error == -EACCES || error == -EPERM || error == -ENOENT;
}

/* Two may begin at one place, one after the other: modules come and go. */
static bool is_of(const struct symbolizer *symbolizer, const struct kernel_copy *copy,
		  uint64_t start, const char *name)
{
	return copy->start == start &&
	       !strcmp(name_for_kernel(name_of(symbolizer, copy->function)), name);
}

int symbolizer_give_kernel_code(struct symbolizer *symbolizer, uint64_t start, const char *name,
				int fd, int error, uint64_t whole_bytes, uint64_t read_ns)
{
	struct kernel_copies *copies = &symbolizer->kernel_copies;
	size_t i = 0;
	int result = -EINVAL;
	while (i < copies->nr && !is_of(symbolizer, &copies->items[i], start, name))
		i++;
	if (i < copies->nr) {
		const struct kernel_copy copy = copies->items[i];
		copies->items[i] = copies->items[--copies->nr];
		result = fd < 0 ? error : keep(symbolizer, &copy, fd, whole_bytes, read_ns);
		take_error(symbolizer, &copy, fd < 0 ? error : 0);
	}
	if (fd >= 0)
		close(fd);
	return result == -ENOMEM || result == -EINVAL ? result : 0;
}

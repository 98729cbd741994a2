/* SPDX-License-Identifier: MIT */
/*
 * The code of hot functions that only a perf map tells of: it is nowhere but in the process's memory, and may be replaced there at any
 * time. So the map is read again behind the copy, and must still say of the whole place that it is that function's. When the copy was
 * made is kept beside it.
 */
#include "symbolizer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/ipc/protocol.h>
#include <ctop/store/kept_code.h>
#include <ctop/symbol/perf_map.h>

static const char *name_of(const struct symbolizer *symbolizer, uint32_t function)
{
	const struct hot_function *hot = &symbolizer->hot_code.functions.items[function];
	return symbols_string(symbolizer->symbols, (struct string_id){hot->name});
}

/* The pages of as much of it as a copy may have. False: there are none. */
static bool find_pages(struct code_copy *copy)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t most = KEPT_FUNCTION_MAX;
	const uint64_t end = copy->end - copy->start < most ? copy->end : copy->start + most;
	copy->range.start = copy->start & ~(page_bytes - 1);
	if (end > UINT64_MAX - page_bytes)
		return false;
	copy->range.end = (end + page_bytes - 1) & ~(page_bytes - 1);
	if (copy->range.end - copy->range.start > PROTOCOL_CODE_MAX)
		copy->range.end = copy->range.start + PROTOCOL_CODE_MAX;
	return copy->range.end > copy->start;
}

bool symbolizer_copy_code(struct symbolizer *symbolizer, const struct module *module,
			  const struct hot_function *function)
{
	struct code_copies *copies = &symbolizer->copies;
	struct code_copy copy = {
		.start = function->start,
		.module = function->module,
		.function = (uint32_t)(function - symbolizer->hot_code.functions.items),
	};
	struct module_row row;
	if (!symbolizer->requests.need_code ||
	    !tables_module(&symbolizer->reader, (struct module_id){function->module}, &row) ||
	    !perf_map_end(module->file->map, copy.start, name_of(symbolizer, copy.function),
			  PROTOCOL_CODE_MAX, &copy.end) ||
	    !find_pages(&copy))
		return true;
	if (copies->nr == CODE_COPIES_MAX)
		return false;
	copy.range.pid = row.pid;
	copy.range.started_ns = row.started_ns;
	copies->items[copies->nr++] = copy;
	symbolizer->requests.need_code(symbolizer->requests.context, &copy.range);
	return true;
}

static struct code_copy *find_asked(struct symbolizer *symbolizer, const struct code_range *range)
{
	for (size_t i = 0; i < symbolizer->copies.nr; i++) {
		struct code_copy *copy = &symbolizer->copies.items[i];
		if (!copy->bytes && copy->range.pid == range->pid &&
		    copy->range.started_ns == range->started_ns &&
		    copy->range.start == range->start && copy->range.end == range->end)
			return copy;
	}
	return NULL;
}

/* 0 or -errno: the function's code is not in it. */
static int read_copy(struct code_copy *copy, int fd)
{
	const uint64_t skipped = copy->start - copy->range.start;
	uint64_t most = copy->range.end - copy->start;
	if (most > copy->end - copy->start)
		most = copy->end - copy->start;
	copy->bytes = malloc(most);
	if (!copy->bytes)
		return -ENOMEM;
	const ssize_t got = pread(fd, copy->bytes, most, (off_t)skipped);
	copy->size = got > 0 ? (uint32_t)got : 0;
	return got > 0 ? 0 : -ENODATA;
}

int symbolizer_give_code(struct symbolizer *symbolizer, const struct code_range *range, int fd,
			 int error, uint64_t read_ns)
{
	struct code_copy *copy = find_asked(symbolizer, range);
	if (!copy) {
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	const int result = fd < 0 ? error : read_copy(copy, fd);
	copy->read_ns = read_ns;
	if (fd >= 0)
		close(fd);
	/* Later there may be more. */
	if (result == -EBUSY && !symbolizer->looks_again)
		symbolizer->hot_code.functions.items[copy->function].is_done = false;
	if (result)
		code_copies_drop(&symbolizer->copies, (size_t)(copy - symbolizer->copies.items));
	return result == -ENOMEM ? result : 0;
}

static void keep(struct symbolizer *symbolizer, const struct code_copy *copy,
		 const struct perf_map *map)
{
	const char *name = name_of(symbolizer, copy->function);
	const struct kept_code code = {
		.start = copy->start,
		.read_ns = copy->read_ns,
		.name = name,
		.name_bytes = (uint32_t)strlen(name),
		.module = {copy->module},
		.size = copy->size,
		.machine = CODE_COPY_MACHINE,
		.is_cut = copy->size < copy->end - copy->start,
	};
	uint64_t end;
	if (code.name_bytes && perf_map_end(map, copy->start, name, copy->size, &end) &&
	    end == copy->end)
		symbols_keep_code(symbolizer->symbols, &code, copy->bytes);
}

/* Once for all copies of the process that are here. */
static void ask_for_map(struct symbolizer *symbolizer, struct symbol_file *file, uint32_t module)
{
	for (size_t i = 0; i < symbolizer->copies.nr; i++) {
		struct code_copy *copy = &symbolizer->copies.items[i];
		if (copy->module != module || !copy->bytes || copy->asked_map)
			continue;
		copy->asked_map = true;
		copy->maps_read = file->nr_maps_read;
	}
	symbolizer_ask(symbolizer, file, (struct module_id){module});
}

/* True: nothing is awaited for it any more. */
static bool is_settled(struct symbolizer *symbolizer, struct code_copy *copy)
{
	struct symbol_file *file = symbolizer->modules.items[copy->module].file;
	if (!copy->bytes || file->asked != ASKED_NOTHING)
		return false;
	if (!copy->asked_map) {
		ask_for_map(symbolizer, file, copy->module);
		return false;
	}
	if (file->nr_maps_read != copy->maps_read && file->map)
		keep(symbolizer, copy, file->map);
	return true;
}

void symbolizer_keep_copies(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->copies.nr;)
		if (is_settled(symbolizer, &symbolizer->copies.items[i]))
			code_copies_drop(&symbolizer->copies, i);
		else
			i++;
}

/* SPDX-License-Identifier: MIT */
#include <ctop/disassembler/listing.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/elf/object.h>
#include <ctop/lines/source_lines.h>
#include <ctop/symbol/perf_map.h>

#include "decoder.h"
#include "listing_maker.h"

/* Mnemonics are that wide, and a blank. */
enum { MNEMONIC_COLS = 8, TEXT_BYTES = sizeof(struct instruction) + MNEMONIC_COLS };

void listing_prepare(void)
{
	decoder_prepare();
	source_lines_prepare();
}

static bool is_file(const struct maker *maker, const struct listing_file *file)
{
	return !strcmp(maker->strings + file->path, maker->row.file) &&
	       !strcmp(maker->strings + file->directory, maker->row.directory);
}

/* 1 + the row of the file that the line table names; 0: there is no room for it, or it has no name that could be opened. */
static uint32_t find_file(struct maker *maker)
{
	struct listing_answer *answer = maker->answer;
	if (maker->row_file && is_file(maker, &maker->listed[maker->row_file - 1]))
		return maker->row_file;
	for (uint32_t i = 0; i < answer->nr_files; i++)
		if (is_file(maker, &maker->listed[i]))
			return i + 1;
	if (answer->nr_files == LISTING_FILES_MAX || strlen(maker->row.file) >= LISTING_PATH_MAX ||
	    strlen(maker->row.directory) >= LISTING_PATH_MAX)
		return 0;
	maker->listed[answer->nr_files] =
		(struct listing_file){listing_add_string(maker, maker->row.file),
				      listing_add_string(maker, maker->row.directory)};
	return ++answer->nr_files;
}

static bool find_line(struct maker *maker, uint64_t address)
{
	if (!maker->dump)
		return file_lines_row(&maker->files, &maker->file, address, &maker->row);
	maker->row = (struct source_row){.directory = "", .end = address + 1};
	return jitdump_line(maker->dump, &maker->made, address - maker->answer->start,
			    &maker->row.file, &maker->row.line);
}

/* Rows are many instructions long: the next look-up is where one ends. */
static void add_line(struct maker *maker, struct listing_row *row)
{
	if (!maker->may_have_lines)
		return;
	if (row->address >= maker->row.end) {
		const bool found = find_line(maker, row->address);
		maker->row_file = found ? find_file(maker) : 0;
		if (maker->row.end <= row->address)
			maker->row.end = row->address + 1;
	}
	row->file = maker->row_file;
	row->line = maker->row_file ? maker->row.line : 0;
}

static void add_target(struct maker *maker, struct listing_row *row)
{
	const struct listing_answer *answer = maker->answer;
	struct symbol_hit hit;
	char text[SYMBOL_NAME_MAX + 32];
	if (!maker->file.object || !row->target ||
	    (row->target >= answer->start && row->target < answer->end) ||
	    !symbol_file_find(&maker->file, row->target, 0, &hit))
		return;
	const char *name = name_cache_show(maker->demangled, hit.name, hit.by_ada);
	if (row->target == hit.start)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "%s+0x%llx", name,
			 (unsigned long long)(row->target - hit.start));
	row->target_name = listing_add_string(maker, text);
}

/* "mov     eax, 1" */
static void put_together(const struct instruction *instruction, char text[TEXT_BYTES])
{
	char *end = stpcpy(text, instruction->mnemonic);
	if (!instruction->operands[0])
		return;
	do
		*end++ = ' ';
	while (end < text + MNEMONIC_COLS);
	strcpy(end, instruction->operands);
}

static void list(struct maker *maker, const uint8_t *bytes, size_t size)
{
	struct listing_answer *answer = maker->answer;
	struct instruction instruction;
	char text[TEXT_BYTES];
	size_t at = 0;
	for (; at < size && answer->nr_rows < LISTING_ROWS_MAX; at += instruction.size) {
		decoder_next(maker->decoder, bytes + at, size - at, answer->start + at,
			     &instruction);
		struct listing_row *row = &maker->rows[answer->nr_rows++];
		*row = (struct listing_row){
			.address = answer->start + at,
			.target = instruction.target,
			.size = instruction.size,
			.kind = (uint16_t)instruction.kind,
		};
		put_together(&instruction, text);
		row->text = listing_add_string(maker, text);
		add_target(maker, row);
		add_line(maker, row);
		listing_add_call(maker, row);
	}
	answer->is_cut |= at < size;
	answer->end = answer->start + at;
}

/* Whether a function begins at an elf address: one of that name, or with NULL any. */
static bool is_start(struct maker *maker, uint64_t address, const char *name)
{
	struct symbol_hit hit;
	uint64_t start;
	const bool is_symbols =
		symbol_file_find(&maker->file, address, 0, &hit) && hit.start == address;
	if (name)
		return is_symbols &&
		       !strcmp(name_cache_show(maker->demangled, hit.name, hit.by_ada), name);
	return is_symbols || (symbol_file_bound(&maker->file, address, &start) && start == address);
}

/*
 * The elf address of the function: addresses of recorded frames are such, or, where nobody knew segments, offsets in the file. The name
 * says which; where the file has it no more, as after strip, or another for that address, it is proved all the same.
 */
static int find_start(struct maker *maker, const struct listing_question *question)
{
	uint64_t places[2] = {question->start};
	const size_t nr = symbol_file_address(&maker->file, question->start, &places[1]) ? 2 : 1;
	const char *names[] = {question->name, NULL};
	for (size_t name = question->has_name ? 0 : 1; name < 2; name++) {
		for (size_t i = 0; i < nr; i++) {
			if (!is_start(maker, places[i], names[name]))
				continue;
			maker->answer->start = places[i];
			maker->answer->bias = places[i] - question->start;
			return 0;
		}
	}
	return -ENXIO;
}

static int make(struct maker *maker, const struct listing_question *question)
{
	struct listing_answer *answer = maker->answer;
	struct object_code code;
	int result = find_start(maker, question);
	if (result)
		return result;
	if (!object_code(maker->file.object, answer->start, &code))
		return -ENODATA;
	const size_t skipped = (size_t)(answer->start - code.start);
	size_t size = code.size - skipped;
	if (size > LISTING_CODE_MAX)
		size = LISTING_CODE_MAX;
	answer->end = symbol_file_end(&maker->file, answer->start, size);
	answer->is_cut = answer->end - answer->start > size;
	if (!answer->is_cut)
		size = (size_t)(answer->end - answer->start);
	result = decoder_open(object_machine(maker->file.object), &maker->decoder);
	if (result)
		return result;
	maker->may_have_lines = true;
	maker->calls.may_have_any = question->wants_calls;
	list(maker, code.bytes + skipped, size);
	return object_is_as_opened(maker->file.object, true) && file_lines_still_hold(&maker->file)
		       ? 0
		       : -EBUSY;
}

/* Takes fd over, which has no more than these bytes. */
static int make_of_bytes(struct maker *maker, int fd, const struct listing_question *question)
{
	const struct listing_bytes *bytes = &question->bytes;
	struct listing_answer *answer = maker->answer;
	const uint8_t *code = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code == MAP_FAILED)
		return -errno;
	int result = decoder_open(bytes->machine, &maker->decoder);
	if (!result) {
		answer->start = question->start + bytes->bias;
		answer->bias = bytes->bias;
		answer->is_cut = bytes->is_cut != 0;
		list(maker, code, bytes->size);
	}
	munmap((void *)(uintptr_t)code, bytes->size);
	return result;
}

static int list_made(struct maker *maker, uint64_t start, uint16_t machine, const uint8_t *code,
		     size_t size, bool is_cut)
{
	int result = decoder_open(machine, &maker->decoder);
	if (result)
		return result;
	maker->answer->start = start;
	maker->answer->is_cut = is_cut;
	list(maker, code, size);
	return 0;
}

/* Takes fd over. */
static int make_of_dump(struct maker *maker, int fd, const struct listing_question *question)
{
	struct jitdump *dump = jitdump_new();
	uint8_t *code = malloc(LISTING_CODE_MAX);
	int result = dump && code ? jitdump_read(dump, fd) : -ENOMEM;
	if (dump)
		jitdump_hold(dump, fd);
	else
		close(fd);
	if (!result)
		result = jitdump_code(dump, question->start, question->name, code, LISTING_CODE_MAX,
				      &maker->made);
	maker->dump = dump;
	maker->may_have_lines = true;
	if (!result)
		result = list_made(maker, question->start, maker->made.machine, code,
				   maker->made.size, maker->made.size < maker->made.whole_bytes);
	maker->dump = NULL;
	jitdump_free(dump);
	free(code);
	return result == -ENOENT ? -ENXIO : result;
}

/* The map was read behind the memory: what it says of the place now was true then, or is not yet. Takes both over. */
static int make_of_memory(struct maker *maker, int fd, int map_fd,
			  const struct listing_question *question)
{
	const struct listing_bytes *bytes = &question->bytes;
	const uint64_t skipped = question->start - question->memory_start;
	const uint8_t *memory = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, fd, 0);
	struct perf_map *map = perf_map_new();
	uint64_t end;
	int result = memory == MAP_FAILED     ? -errno
		     : !map		      ? -ENOMEM
		     : skipped >= bytes->size ? -ENODATA
					      : perf_map_read(map, map_fd);
	close(fd);
	close(map_fd);
	if (!result &&
	    !perf_map_end(map, question->start, question->name, bytes->size - skipped, &end))
		result = -ESTALE;
	if (!result) {
		const uint64_t whole = end - question->start, there = bytes->size - skipped;
		result = list_made(maker, question->start, bytes->machine, memory + skipped,
				   whole < there ? whole : there, there < whole);
	}
	if (memory != MAP_FAILED)
		munmap((void *)(uintptr_t)memory, bytes->size);
	perf_map_free(map);
	return result;
}

/* Takes the descriptors over. */
static int read_own_files(struct maker *maker, int fd, int debug_fd)
{
	enum debug_file lacking;
	int result = symbol_file_give(&maker->file, fd, 0);
	if (result > 0)
		return symbol_file_give_debug(&maker->file, debug_fd);
	if (!result && file_lines_lack(&maker->files, &maker->file, &lacking) &&
	    lacking == DEBUG_FILE_OWN)
		symbol_file_give_debug_lines(&maker->file, debug_fd);
	else if (debug_fd >= 0)
		close(debug_fd);
	return result;
}

static int read_files(struct maker *maker, const struct listing_fds *fds, uint64_t split_unit)
{
	int result = read_own_files(maker, fds->module, fds->debug);
	if (!result && fds->common >= 0)
		symbol_file_give_common(&maker->file, fds->common);
	else if (fds->common >= 0)
		close(fds->common);
	if (!result && fds->split >= 0)
		symbol_file_give_split(&maker->file, split_unit, fds->split);
	else if (fds->split >= 0)
		close(fds->split);
	return result;
}

void listing_make(const struct listing_fds *fds, const struct listing_question *question,
		  void *memory, struct listing_answer *answer)
{
	char *bytes = memory;
	struct maker maker = {
		.file = {.key = {.kind = MODULE_FILE}},
		.demangled = name_cache_new(),
		.rows = memory,
		.inlined = (struct listing_call *)(void *)(bytes + LISTING_CALLS_AT),
		.names = (uint32_t *)(void *)(bytes + LISTING_NAMES_AT),
		.listed = (struct listing_file *)(void *)(bytes + LISTING_FILES_AT),
		.strings = bytes + LISTING_STRINGS_AT,
		.answer = answer,
	};
	*answer = (struct listing_answer){.string_bytes = 1};
	switch ((enum listing_source)question->source) {
	case LISTING_OF_BYTES:
		answer->error = make_of_bytes(&maker, fds->module, question);
		break;
	case LISTING_OF_DUMP:
		answer->error = make_of_dump(&maker, fds->module, question);
		break;
	case LISTING_OF_MEMORY:
		answer->error = make_of_memory(&maker, fds->module, fds->debug, question);
		break;
	case LISTING_OF_FILE:
	case NR_LISTING_SOURCES:
	default:
		answer->error = read_files(&maker, fds, question->split_unit);
		if (!answer->error)
			answer->error = maker.demangled ? make(&maker, question) : -ENOMEM;
	}
	if (answer->error)
		*answer = (struct listing_answer){.error = answer->error};
	decoder_close(maker.decoder);
	listing_calls_release(&maker.calls);
	name_cache_free(maker.demangled);
	symbol_file_release(&maker.file);
}

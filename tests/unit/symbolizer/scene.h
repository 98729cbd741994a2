/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_SYMBOL_SCENE_H
#define CTOP_TEST_SYMBOL_SCENE_H

/* An epoch in plain memory, a symbolizer that names its frames, and a main that notes what it is asked for. */

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/symbolizer/symbolizer.h>

#include "symbol/elf_file.h"
#include "test.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

struct asked {
	struct module_id module;
	struct module_row row;
	bool debug;
	uint32_t build_id_size;
	char debuglink[64];
};

struct scene {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbolizer *symbolizer;
	struct asked asked[64];
	size_t nr_asked;
	struct code_range ranges[128]; /* of processes' memory, that were asked for */
	size_t nr_ranges;
	struct {
		uint64_t start;
		char name[64];
	} kernel_code[8]; /* that was asked for */
	size_t nr_kernel_code;
};

static const struct tables_capacity tables_capacity = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_METADATA] = 16,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 2048,
	       [TABLE_TASKS] = 16,
	       [TABLE_FRAMES] = 1 << 16,
	       [TABLE_NODES] = 16},
	.nr_samples = 16,
};
static const struct symbols_capacity symbols_capacity = {
	.nr_frames = 1 << 16,
	.string_units = 1 << 18,
	.nr_modules = 2048,
	.nr_lines = 1 << 12,
	.nr_code = 64,
	.code_bytes = 1 << 20,
};

static inline void note_module(void *context, struct module_id module, const struct module_row *row)
{
	struct scene *scene = context;
	CHECK(scene->nr_asked < NR(scene->asked));
	scene->asked[scene->nr_asked++] = (struct asked){.module = module, .row = *row};
}

static inline void note_debug_file(void *context, struct module_id module, enum debug_file which,
				   const uint8_t *build_id, size_t build_id_size,
				   const char *debuglink, uint64_t unit)
{
	struct scene *scene = context;
	CHECK_EQ(which, DEBUG_FILE_OWN);
	(void)build_id, (void)unit;
	CHECK(scene->nr_asked < NR(scene->asked));
	struct asked *asked = &scene->asked[scene->nr_asked++];
	*asked = (struct asked){
		.module = module, .debug = true, .build_id_size = (uint32_t)build_id_size};
	snprintf(asked->debuglink, sizeof(asked->debuglink), "%s", debuglink);
}

static inline void note_code(void *context, const struct code_range *range)
{
	struct scene *scene = context;
	CHECK(scene->nr_ranges < NR(scene->ranges));
	scene->ranges[scene->nr_ranges++] = *range;
}

static inline void note_kernel_code(void *context, uint64_t start, const char *name)
{
	struct scene *scene = context;
	CHECK(scene->nr_kernel_code < NR(scene->kernel_code));
	scene->kernel_code[scene->nr_kernel_code].start = start;
	snprintf(scene->kernel_code[scene->nr_kernel_code++].name, 64, "%s", name);
}

static inline void open_epoch(struct scene *scene, const struct symbols_capacity *capacity)
{
	CHECK_EQ(tables_map(&scene->tables, -1, &tables_capacity, true), 0);
	CHECK_EQ(symbols_map(&scene->symbols, -1, capacity, true), 0);
	scene->writer = tables_writer_new(&scene->tables);
	CHECK(scene->writer != NULL);
	CHECK_EQ(symbolizer_begin_epoch(scene->symbolizer, &scene->tables, &scene->symbols), 0);
}

static inline void close_epoch(struct scene *scene)
{
	tables_writer_free(scene->writer);
	tables_unmap(&scene->tables);
	symbols_unmap(&scene->symbols);
}

static inline struct scene *scene_new(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct symbolizer_requests requests = {scene, note_module, note_debug_file,
						     NULL,  note_code,	 note_kernel_code};
	scene->symbolizer = symbolizer_new(&requests);
	CHECK(scene->symbolizer != NULL);
	open_epoch(scene, &symbols_capacity);
	return scene;
}

static inline void next_epoch(struct scene *scene)
{
	struct scene old = *scene;
	open_epoch(scene, &symbols_capacity);
	close_epoch(&old);
	scene->nr_asked = 0;
}

static inline void scene_free(struct scene *scene)
{
	symbolizer_free(scene->symbolizer);
	close_epoch(scene);
	free(scene);
}

static inline struct module_id add_module(struct scene *scene, struct module_row row,
					  const char *path)
{
	struct module_id id;
	CHECK_EQ(tables_add_string(scene->writer, path, strlen(path), &row.path), 0);
	CHECK_EQ(tables_add_module(scene->writer, &row, &id), 0);
	return id;
}

static inline struct module_id add_file(struct scene *scene, uint64_t inode, const char *path)
{
	return add_module(
		scene, (struct module_row){.kind = MODULE_FILE, .identity.inode = inode, .pid = 7},
		path);
}

static inline struct frame_id add_frame(struct scene *scene, struct module_id module,
					uint64_t address)
{
	struct frame_id id;
	CHECK_EQ(tables_add_frame(scene->writer, module, address, &id), 0);
	tables_publish(scene->writer);
	return id;
}

static inline void work(struct scene *scene)
{
	while (symbolizer_work(scene->symbolizer, 100))
		;
}

static inline uint32_t state_of(const struct scene *scene, struct frame_id frame)
{
	return symbols_row(&scene->symbols, frame).state;
}

static inline const char *name_of(const struct scene *scene, struct frame_id frame)
{
	struct symbol_row row = symbols_row(&scene->symbols, frame);
	return row.state == SYMBOL_NAMED ? symbols_string(&scene->symbols, row.name) : "-";
}

static inline bool is_idle(const struct scene *scene)
{
	return symbolizer_idle(scene->symbolizer);
}

static inline int text_fd(const char *text)
{
	return file_of_bytes(text, strlen(text));
}

static const struct test_symbol program[] = {
	{"main", 0x1000, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"_ZN3foo3barEi", 0x1040, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"fork@@GLIBC_2.2.5", 0x1080, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"_Z3oddv@VER", 0x10c0, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
};
static const struct test_elf program_file = {
	.symbols = program, .nr_symbols = NR(program), .table_type = SHT_SYMTAB};

static inline void give_program(struct scene *scene, struct module_id module)
{
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, test_elf_fd(&program_file), 0),
		 0);
}

static const struct test_symbol exported[] = {
	{"exported", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, TEST_TEXT},
};
static const struct test_symbol internal[] = {
	{"exported", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"internal", 0x1010, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
};

static inline struct module_id add_jit(struct scene *scene, int32_t pid)
{
	return add_module(scene, (struct module_row){.kind = MODULE_ANON, .pid = pid}, "[anon]");
}

#endif

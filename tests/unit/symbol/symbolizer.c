/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctop/symbol/symbolizer.h>

#include "elf_file.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

/* ---- an epoch in plain memory, and a main that notes what it is asked for ---- */

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
};

static const struct tables_capacity tables_capacity = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_INFOS] = 16,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 2048,
	       [TABLE_TASKS] = 16,
	       [TABLE_FRAMES] = 1 << 16,
	       [TABLE_NODES] = 16},
	.nr_samples = 16,
};
static const struct symbols_capacity symbols_capacity = {1 << 16, 1 << 18};

static void note_module(void *context, struct module_id module, const struct module_row *row)
{
	struct scene *scene = context;
	CHECK(scene->nr_asked < NR(scene->asked));
	scene->asked[scene->nr_asked++] = (struct asked){.module = module, .row = *row};
}

static void note_debug_file(void *context, struct module_id module, const uint8_t *build_id,
			    size_t build_id_size, const char *debuglink)
{
	struct scene *scene = context;
	(void)build_id;
	CHECK(scene->nr_asked < NR(scene->asked));
	struct asked *asked = &scene->asked[scene->nr_asked++];
	*asked = (struct asked){
		.module = module, .debug = true, .build_id_size = (uint32_t)build_id_size};
	snprintf(asked->debuglink, sizeof(asked->debuglink), "%s", debuglink);
}

static void open_epoch(struct scene *scene, const struct symbols_capacity *capacity)
{
	CHECK_EQ(tables_map(&scene->tables, -1, &tables_capacity, true), 0);
	CHECK_EQ(symbols_map(&scene->symbols, -1, capacity, true), 0);
	scene->writer = tables_writer_new(&scene->tables);
	CHECK(scene->writer != NULL);
	CHECK_EQ(symbolizer_begin_epoch(scene->symbolizer, &scene->tables, &scene->symbols), 0);
}

static void close_epoch(struct scene *scene)
{
	tables_writer_free(scene->writer);
	tables_unmap(&scene->tables);
	symbols_unmap(&scene->symbols);
}

static struct scene *scene_new(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct symbolizer_requests requests = {scene, note_module, note_debug_file, NULL};
	scene->symbolizer = symbolizer_new(&requests);
	CHECK(scene->symbolizer != NULL);
	open_epoch(scene, &symbols_capacity);
	return scene;
}

static void next_epoch(struct scene *scene)
{
	struct scene old = *scene;
	open_epoch(scene, &symbols_capacity);
	close_epoch(&old);
	scene->nr_asked = 0;
}

static void scene_free(struct scene *scene)
{
	symbolizer_free(scene->symbolizer);
	close_epoch(scene);
	free(scene);
}

static struct module_id add_module(struct scene *scene, struct module_row row, const char *path)
{
	struct module_id id;
	CHECK_EQ(tables_add_string(scene->writer, path, strlen(path), &row.path), 0);
	CHECK_EQ(tables_add_module(scene->writer, &row, &id), 0);
	return id;
}

static struct module_id add_file(struct scene *scene, uint64_t inode, const char *path)
{
	return add_module(scene, (struct module_row){.kind = MODULE_FILE, .inode = inode, .pid = 7},
			  path);
}

static struct frame_id add_frame(struct scene *scene, struct module_id module, uint64_t address)
{
	struct frame_id id;
	CHECK_EQ(tables_add_frame(scene->writer, module, address, &id), 0);
	tables_publish(scene->writer);
	return id;
}

static void work(struct scene *scene)
{
	while (symbolizer_work(scene->symbolizer, 100))
		;
}

static uint32_t state_of(const struct scene *scene, struct frame_id frame)
{
	return symbols_row(&scene->symbols, frame).state;
}

static const char *name_of(const struct scene *scene, struct frame_id frame)
{
	struct symbol_row row = symbols_row(&scene->symbols, frame);
	return row.state == SYMBOL_NAMED ? symbols_string(&scene->symbols, row.name) : "-";
}

static bool is_idle(const struct scene *scene)
{
	return symbolizer_idle(scene->symbolizer);
}

static int text_fd(const char *text)
{
	return test_memfd(text, strlen(text));
}

static const struct test_symbol program[] = {
	{"main", 0x1000, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"_ZN3foo3barEi", 0x1040, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"fork@@GLIBC_2.2.5", 0x1080, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"_Z3oddv@VER", 0x10c0, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
};
static const struct test_elf program_file = {
	.symbols = program, .nr_symbols = NR(program), .table_type = SHT_SYMTAB};

static void give_program(struct scene *scene, struct module_id module)
{
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, test_elf_fd(&program_file), 0),
		 0);
}

/* ---- the cases ---- */

static void names_a_file(void)
{
	struct scene *scene = scene_new();
	CHECK(is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 0);
	struct module_id module = add_file(scene, 11, "/bin/program");
	struct frame_id main_frame = add_frame(scene, module, 0x1004);
	struct frame_id bar = add_frame(scene, module, 0x1040);
	struct frame_id fork_frame = add_frame(scene, module, 0x109f);
	struct frame_id odd = add_frame(scene, module, 0x10c0);
	struct frame_id nothing = add_frame(scene, module, 0x1030);
	/* Published, and not looked at. */
	CHECK(!is_idle(scene));
	CHECK_EQ(scene->nr_asked, 0);
	CHECK_EQ(symbolizer_work(scene->symbolizer, 2), 2);
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 3);
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 0);
	/* Asked once; waiting is not idle. */
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(scene->asked[0].module.index, module.index);
	CHECK_EQ(scene->asked[0].row.kind, MODULE_FILE);
	CHECK_EQ(scene->asked[0].row.pid, 7);
	CHECK_EQ(state_of(scene, main_frame), SYMBOL_PENDING);
	CHECK(!is_idle(scene));
	give_program(scene, module);
	CHECK(!is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 3), 3);
	CHECK(!is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 2);
	CHECK(is_idle(scene));
	CHECK_STR(name_of(scene, main_frame), "main");
	CHECK_EQ(symbols_row(&scene->symbols, main_frame).offset, 4);
	CHECK_STR(name_of(scene, bar), "foo::bar(int)");
	CHECK_STR(name_of(scene, fork_frame), "fork");
	CHECK_STR(name_of(scene, odd), "odd()");
	CHECK_EQ(state_of(scene, nothing), SYMBOL_UNKNOWN);
	CHECK_EQ(symbols_row(&scene->symbols, nothing).offset, UINT32_MAX);
	CHECK_EQ(symbols_row(&scene->symbols, main_frame).module.index, 0);
	/* Later frames need nobody. */
	struct frame_id later = add_frame(scene, module, 0x1008);
	CHECK(!is_idle(scene));
	CHECK_EQ(symbolizer_work(scene->symbolizer, 100), 1);
	CHECK_STR(name_of(scene, later), "main");
	CHECK(is_idle(scene));
	CHECK_EQ(scene->nr_asked, 1);
	scene_free(scene);
}

static void no_file(void)
{
	struct scene *scene = scene_new();
	struct module_id module = add_file(scene, 11, "/gone");
	struct module_id nonsense = add_file(scene, 12, "/no/elf");
	struct frame_id one = add_frame(scene, module, 0x1000);
	struct frame_id two = add_frame(scene, nonsense, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, nonsense, text_fd("#!/bin/sh\n"), 0), 0);
	work(scene);
	CHECK_EQ(state_of(scene, one), SYMBOL_NO_MODULE);
	CHECK_EQ(state_of(scene, two), SYMBOL_NO_MODULE);
	CHECK(is_idle(scene));
	/* It stays like that, without asking again. */
	struct frame_id later = add_frame(scene, module, 0x2000);
	work(scene);
	CHECK_EQ(state_of(scene, later), SYMBOL_NO_MODULE);
	CHECK_EQ(scene->nr_asked, 2);
	scene_free(scene);
}

static void bad_ids(void)
{
	struct scene *scene = scene_new();
	const struct module_id none = {0}, beyond = {999};
	struct frame_id in_none = add_frame(scene, none, 0x1000);
	struct frame_id in_beyond = add_frame(scene, beyond, 0x1000);
	struct frame_id odd_kind =
		add_frame(scene, add_module(scene, (struct module_row){.kind = 99}, "x"), 0x1000);
	work(scene);
	CHECK_EQ(state_of(scene, in_none), SYMBOL_NO_MODULE);
	CHECK_EQ(state_of(scene, in_beyond), SYMBOL_NO_MODULE);
	CHECK_EQ(state_of(scene, odd_kind), SYMBOL_NO_MODULE);
	CHECK(is_idle(scene));
	CHECK_EQ(scene->nr_asked, 0);
	/* Answers that nobody asked for: the descriptor is closed. */
	const struct module_id strange[] = {none, beyond, {1}, {UINT32_MAX}};
	for (size_t i = 0; i < NR(strange); i++) {
		int fd = text_fd("x");
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, strange[i], fd, 0), -EINVAL);
		CHECK(fcntl(fd, F_GETFD) < 0);
		fd = text_fd("x");
		CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, strange[i], fd, 0), -EINVAL);
		CHECK(fcntl(fd, F_GETFD) < 0);
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, strange[i], -1, -1), -EINVAL);
	}
	/* An answer given twice. */
	struct module_id module = add_file(scene, 11, "/bin/program");
	struct frame_id frame = add_frame(scene, module, 0x1000);
	work(scene);
	give_program(scene, module);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd("x"), 0), -EINVAL);
	CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, module, text_fd("x"), 0), -EINVAL);
	work(scene);
	CHECK_STR(name_of(scene, frame), "main");
	scene_free(scene);
}

/* A hostile build-id size is not believed. */
static void bad_build_id(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE, .build_id_size = 4000, .inode = 3};
	struct module_id module = add_module(scene, row, "/x");
	add_frame(scene, module, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(scene->asked[0].row.build_id_size, 0);
	scene_free(scene);
}

static const struct test_symbol exported[] = {
	{"exported", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, TEST_TEXT},
};
static const struct test_symbol internal[] = {
	{"exported", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	{"internal", 0x1010, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
};

static void debug_file(void)
{
	static const struct {
		const char *stripped_id, *debug_id,
			*link;	      /* debug_id NULL: there is no debug file */
		const char *internal; /* the name that is found */
		bool asked;
	} cases[] = {
		{"same", "same", NULL, "internal", true},
		{NULL, NULL, "prog.debug", "-", true},
		{NULL, "any", "prog.debug", "internal", true},
		{"same", "another", NULL, "-", true},
		{NULL, "any", NULL, "-", false},
	};
	for (size_t i = 0; i < NR(cases); i++) {
		struct scene *scene = scene_new();
		struct module_id module = add_file(scene, 11, "/lib/stripped.so");
		struct frame_id inner = add_frame(scene, module, 0x1014);
		struct frame_id outer = add_frame(scene, module, 0x1004);
		work(scene);
		const struct test_elf stripped = {.symbols = exported,
						  .nr_symbols = NR(exported),
						  .table_type = SHT_DYNSYM,
						  .build_id = cases[i].stripped_id,
						  .debuglink = cases[i].link};
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, test_elf_fd(&stripped),
						0),
			 0);
		work(scene);
		CHECK_EQ(scene->nr_asked, cases[i].asked ? 2 : 1);
		if (cases[i].asked) {
			const struct asked *asked = &scene->asked[1];
			CHECK(asked->debug);
			CHECK_EQ(asked->module.index, module.index);
			CHECK_EQ(asked->build_id_size, cases[i].stripped_id ? 20 : 0);
			CHECK_STR(asked->debuglink, cases[i].link ? cases[i].link : "");
			CHECK(!is_idle(scene));
			CHECK_EQ(state_of(scene, outer), SYMBOL_PENDING);
			const struct test_elf debug = {.symbols = internal,
						       .nr_symbols = NR(internal),
						       .table_type = SHT_SYMTAB,
						       .build_id = cases[i].debug_id};
			int fd = cases[i].debug_id ? test_elf_fd(&debug) : -1;
			CHECK_EQ(symbolizer_give_debug_file(scene->symbolizer, module, fd,
							    fd < 0 ? -ENOENT : 0),
				 0);
			work(scene);
		}
		CHECK_STR(name_of(scene, inner), cases[i].internal);
		CHECK_STR(name_of(scene, outer), "exported");
		CHECK(is_idle(scene));
		scene_free(scene);
	}
}

static void another_file_than_asked(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE, .build_id_size = 20};
	memcpy(row.build_id, "wanted", 6);
	struct module_id module = add_module(scene, row, "/lib/a.so");
	struct frame_id frame = add_frame(scene, module, 0x1000);
	work(scene);
	struct test_elf other = program_file;
	other.build_id = "other";
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, test_elf_fd(&other), 0), 0);
	work(scene);
	CHECK_EQ(state_of(scene, frame), SYMBOL_NO_MODULE);
	scene_free(scene);
}

static void rows_of_one_file(void)
{
	struct scene *scene = scene_new();
	struct module_row row = {.kind = MODULE_FILE, .build_id_size = 20, .inode = 1};
	memcpy(row.build_id, "same", 4);
	struct module_id first = add_module(scene, row, "/lib/a.so");
	row.inode = 2;
	struct module_id second = add_module(scene, row, "/container/lib/a.so");
	/* No build-id: the path counts, too. */
	struct module_id third = add_file(scene, 5, "/lib/b.so"),
			 fourth = add_file(scene, 5, "/c.so");
	const struct frame_id frames[] = {
		add_frame(scene, first, 0x1000), add_frame(scene, second, 0x1000),
		add_frame(scene, third, 0x1000), add_frame(scene, fourth, 0x1000)};
	work(scene);
	CHECK_EQ(scene->nr_asked, 3);
	struct test_elf file = program_file;
	file.build_id = "same";
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, first, test_elf_fd(&file), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, frames[0]), "main");
	CHECK_STR(name_of(scene, frames[1]), "main");
	CHECK_STR(name_of(scene, frames[2]), "-");
	give_program(scene, third);
	give_program(scene, fourth);
	work(scene);
	CHECK_STR(name_of(scene, frames[3]), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void kernel(void)
{
	struct scene *scene = scene_new();
	struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	struct frame_id core = add_frame(scene, module, 0xffffffff81000010);
	struct frame_id in_module = add_frame(scene, module, 0xffffffffc0000020);
	struct frame_id nowhere = add_frame(scene, module, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	int fd = text_fd("ffffffff81000000 T do_work\n"
			 "ffffffffc0000000 t ext4_read\t[ext4]\n");
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, fd, 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, core), "do_work");
	CHECK_EQ(symbols_row(&scene->symbols, core).offset, 0x10);
	CHECK_STR(name_of(scene, in_module), "ext4_read");
	CHECK_STR(symbols_string(&scene->symbols, symbols_row(&scene->symbols, in_module).module),
		  "[ext4]");
	CHECK_EQ(state_of(scene, nowhere), SYMBOL_UNKNOWN);
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* kernel.kptr_restrict: the names are there, but no addresses. */
static void kernel_hides(void)
{
	struct scene *scene = scene_new();
	struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	struct frame_id frame = add_frame(scene, module, 0xffffffff81000010);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module,
					text_fd("0000000000000000 T do_work\n"), 0),
		 0);
	work(scene);
	CHECK_EQ(state_of(scene, frame), SYMBOL_NO_MODULE);
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* ---- JITs ---- */

static struct module_id add_jit(struct scene *scene, int32_t pid)
{
	return add_module(scene, (struct module_row){.kind = MODULE_ANON, .pid = pid}, "[anon]");
}

static void jit_grows(void)
{
	struct scene *scene = scene_new();
	struct module_id module = add_jit(scene, 42);
	int fd = text_fd("1000 10 _Z3foov\n");
	struct frame_id known = add_frame(scene, module, 0x1008);
	struct frame_id unknown = add_frame(scene, module, 0x5008);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(scene->asked[0].row.pid, 42);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, dup(fd), 0), 0);
	work(scene);
	/* A JIT's name is shown as it is. */
	CHECK_STR(name_of(scene, known), "_Z3foov");
	CHECK_EQ(symbols_row(&scene->symbols, known).offset, 8);
	CHECK_EQ(state_of(scene, unknown), SYMBOL_UNKNOWN);
	CHECK(is_idle(scene));
	/* A frame that is younger than the map: it says nothing yet. */
	struct frame_id young = add_frame(scene, module, 0x2008);
	work(scene);
	CHECK_EQ(state_of(scene, young), SYMBOL_PENDING);
	CHECK(!is_idle(scene));
	CHECK_EQ(scene->nr_asked, 1);
	symbolizer_refresh(scene->symbolizer);
	symbolizer_refresh(scene->symbolizer);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK_EQ(write(fd, "2000 10 young\n5000", 18), 18);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, dup(fd), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, young), "young");
	CHECK_EQ(state_of(scene, unknown), SYMBOL_UNKNOWN);
	CHECK(is_idle(scene));
	/* One without a name is left: the map is asked for again, and does name it. */
	symbolizer_refresh(scene->symbolizer);
	CHECK_EQ(scene->nr_asked, 3);
	CHECK(is_idle(scene));
	CHECK_EQ(write(fd, " 10 late\n", 9), 9);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, dup(fd), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, unknown), "late");
	/* All have names: nobody asks. */
	symbolizer_refresh(scene->symbolizer);
	CHECK_EQ(scene->nr_asked, 3);
	close(fd);
	scene_free(scene);
}

static void jit_without_map(void)
{
	struct scene *scene = scene_new();
	struct module_id module = add_jit(scene, 42);
	struct frame_id frame = add_frame(scene, module, 0x1008);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
	work(scene);
	CHECK_EQ(state_of(scene, frame), SYMBOL_UNKNOWN);
	/* Without a map nothing waits for one. */
	struct frame_id later = add_frame(scene, module, 0x2008);
	work(scene);
	CHECK_EQ(state_of(scene, later), SYMBOL_UNKNOWN);
	CHECK(is_idle(scene));
	/* It is looked for less and less often, but always again. */
	size_t refreshes = 0;
	for (size_t asked = 1; asked < 10; asked++) {
		while (scene->nr_asked == asked) {
			symbolizer_refresh(scene->symbolizer);
			CHECK(++refreshes < 100);
		}
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
		work(scene);
	}
	CHECK(refreshes > 30);
	while (scene->nr_asked == 10)
		symbolizer_refresh(scene->symbolizer);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd("1000 10 at_last\n"), 0),
		 0);
	work(scene);
	CHECK_STR(name_of(scene, frame), "at_last");
	CHECK_EQ(state_of(scene, later), SYMBOL_UNKNOWN);
	scene_free(scene);
}

/* The process ended before its map could be read again: what waited for it is settled. */
static void jit_ends(void)
{
	struct scene *scene = scene_new();
	struct module_id module = add_jit(scene, 42);
	struct frame_id known = add_frame(scene, module, 0x1008);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd("1000 10 a\n"), 0), 0);
	work(scene);
	struct frame_id young = add_frame(scene, module, 0x2008);
	work(scene);
	CHECK(!is_idle(scene));
	symbolizer_refresh(scene->symbolizer);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
	work(scene);
	CHECK(is_idle(scene));
	CHECK_STR(name_of(scene, known), "a");
	CHECK_EQ(state_of(scene, young), SYMBOL_UNKNOWN);
	/* The map that was read is still good. */
	struct frame_id old_code = add_frame(scene, module, 0x1001);
	work(scene);
	CHECK_STR(name_of(scene, old_code), "a");
	scene_free(scene);
}

static void jits_apart(void)
{
	struct scene *scene = scene_new();
	struct module_id one = add_jit(scene, 1), two = add_jit(scene, 2);
	struct frame_id of_one = add_frame(scene, one, 0x1000),
			of_two = add_frame(scene, two, 0x1000);
	work(scene);
	CHECK_EQ(scene->nr_asked, 2);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, two, text_fd("1000 10 two\n"), 0), 0);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, one, text_fd("1000 10 one\n"), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, of_one), "one");
	CHECK_STR(name_of(scene, of_two), "two");
	scene_free(scene);
}

/* ---- epochs, and a predecessor that died ---- */

static void epochs(void)
{
	struct scene *scene = scene_new();
	struct module_id module = add_file(scene, 11, "/bin/program");
	add_frame(scene, module, 0x1000);
	work(scene);
	give_program(scene, module);
	work(scene);
	/* Another id, another address, the same file: it is not asked for again. */
	next_epoch(scene);
	add_file(scene, 99, "/other");
	module = add_file(scene, 11, "/bin/program");
	struct frame_id frame = add_frame(scene, module, 0x1041);
	work(scene);
	CHECK_EQ(scene->nr_asked, 0);
	CHECK_STR(name_of(scene, frame), "foo::bar(int)");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void epoch_forgets_questions(void)
{
	struct scene *scene = scene_new();
	const struct test_elf stripped = {.symbols = exported,
					  .nr_symbols = NR(exported),
					  .table_type = SHT_DYNSYM,
					  .build_id = "id"};
	struct module_id asked = add_file(scene, 11, "/bin/asked");
	struct module_id debug = add_file(scene, 12, "/bin/debug");
	struct module_id failed = add_file(scene, 13, "/bin/failed");
	add_frame(scene, asked, 0x1000);
	add_frame(scene, debug, 0x1000);
	add_frame(scene, failed, 0x1000);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, debug, test_elf_fd(&stripped), 0), 0);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, failed, -1, -ENOENT), 0);
	work(scene);
	CHECK(!is_idle(scene));
	next_epoch(scene);
	CHECK(is_idle(scene));
	/* All three are asked for anew. */
	asked = add_file(scene, 11, "/bin/asked");
	debug = add_file(scene, 12, "/bin/debug");
	failed = add_file(scene, 13, "/bin/failed");
	const struct frame_id frames[] = {add_frame(scene, asked, 0x1000),
					  add_frame(scene, debug, 0x1000),
					  add_frame(scene, failed, 0x1000)};
	work(scene);
	CHECK_EQ(scene->nr_asked, 3);
	give_program(scene, asked);
	give_program(scene, debug);
	give_program(scene, failed);
	work(scene);
	for (size_t i = 0; i < NR(frames); i++)
		CHECK_STR(name_of(scene, frames[i]), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void epoch_of_a_jit(void)
{
	struct scene *scene = scene_new();
	int fd = text_fd("1000 10 one\n");
	struct module_id module = add_jit(scene, 42);
	add_frame(scene, module, 0x1000);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, dup(fd), 0), 0);
	work(scene);
	next_epoch(scene);
	module = add_jit(scene, 42);
	struct frame_id one = add_frame(scene, module, 0x1000),
			two = add_frame(scene, module, 0x2000);
	work(scene);
	/* Another process may have the number now: what was read counts only once it was asked for. */
	CHECK_EQ(scene->nr_asked, 1);
	CHECK_EQ(state_of(scene, one), SYMBOL_PENDING);
	CHECK_EQ(write(fd, "2000 10 two\n", 12), 12);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, dup(fd), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, one), "one");
	CHECK_STR(name_of(scene, two), "two");
	close(fd);
	scene_free(scene);
}

static void successor(void)
{
	struct scene *scene = scene_new();
	struct module_id file = add_file(scene, 11, "/bin/program"), jit = add_jit(scene, 42);
	struct frame_id named = add_frame(scene, file, 0x1000);
	struct frame_id unknown = add_frame(scene, file, 0x1030);
	struct frame_id jit_unknown = add_frame(scene, jit, 0x1000);
	work(scene);
	give_program(scene, file);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, jit, -1, -ENOENT), 0);
	work(scene);
	struct frame_id waiting = add_frame(scene, file, 0x1040);
	symbolizer_free(scene->symbolizer);
	const struct symbolizer_requests requests = {scene, note_module, note_debug_file, NULL};
	scene->symbolizer = symbolizer_new(&requests);
	CHECK_EQ(symbolizer_begin_epoch(scene->symbolizer, &scene->tables, &scene->symbols), 0);
	scene->nr_asked = 0;
	work(scene);
	/* The file for the one without a row; the map for the one that may still get a name. */
	CHECK_EQ(scene->nr_asked, 2);
	give_program(scene, file);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, jit, text_fd("1000 10 now\n"), 0), 0);
	work(scene);
	CHECK_STR(name_of(scene, named), "main");
	CHECK_EQ(state_of(scene, unknown), SYMBOL_UNKNOWN);
	CHECK_STR(name_of(scene, waiting), "foo::bar(int)");
	CHECK_STR(name_of(scene, jit_unknown), "now");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void symbols_fill_up(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct symbolizer_requests requests = {scene, note_module, note_debug_file, NULL};
	const struct symbols_capacity small = {.nr_frames = 4, .string_units = 3};
	scene->symbolizer = symbolizer_new(&requests);
	open_epoch(scene, &small);
	struct module_id module = add_file(scene, 11, "/bin/program");
	/* "main" fits, "foo::bar(int)" does not, and the last frames have no rows. */
	const uint64_t addresses[] = {0x1000, 0x1040, 0x1004, 0x1041, 0x1005};
	struct frame_id frames[NR(addresses)];
	for (size_t i = 0; i < NR(addresses); i++)
		frames[i] = add_frame(scene, module, addresses[i]);
	work(scene);
	give_program(scene, module);
	work(scene);
	CHECK_STR(name_of(scene, frames[0]), "main");
	CHECK_EQ(state_of(scene, frames[1]), SYMBOL_UNKNOWN);
	CHECK_STR(name_of(scene, frames[2]), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

/* More files than may stay open at once: all get their names, and few descriptors are in use. */
static void many_files(void)
{
	enum { NR_FILES = 1700, NR_DESCRIPTORS = 4096 };
	struct rlimit limit;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < NR_DESCRIPTORS)
		SKIP("too few descriptors allowed");
	limit.rlim_cur = NR_DESCRIPTORS; /* as the symbolizer's process has */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	struct scene *scene = scene_new();
	struct frame_id frames[2];
	for (uint64_t i = 0; i < NR_FILES; i++) {
		struct module_id module = add_file(scene, 1000 + i, "/lib/some.so");
		frames[i % 2] = add_frame(scene, module, 0x1000);
		work(scene);
		CHECK_EQ(scene->nr_asked, 1);
		scene->nr_asked = 0;
		give_program(scene, module);
		work(scene);
		CHECK_STR(name_of(scene, frames[i % 2]), "main");
	}
	int fd = text_fd("");
	CHECK(fd < 1600);
	close(fd);
	/* The first one went, the last one is there. */
	struct module_id first = {1}, last = {NR_FILES};
	struct frame_id of_last = add_frame(scene, last, 0x1001);
	work(scene);
	CHECK_STR(name_of(scene, of_last), "main");
	CHECK_EQ(scene->nr_asked, 0);
	struct frame_id of_first = add_frame(scene, first, 0x1001);
	work(scene);
	CHECK_EQ(scene->nr_asked, 1);
	CHECK(!is_idle(scene));
	give_program(scene, first);
	work(scene);
	CHECK_STR(name_of(scene, of_first), "main");
	CHECK(is_idle(scene));
	scene_free(scene);
}

static void no_epoch(void)
{
	const struct symbolizer_requests requests = {NULL, note_module, note_debug_file, NULL};
	struct symbolizer *symbolizer = symbolizer_new(&requests);
	CHECK_EQ(symbolizer_work(symbolizer, 10), 0);
	CHECK(symbolizer_idle(symbolizer));
	symbolizer_refresh(symbolizer);
	CHECK_EQ(symbolizer_give_module(symbolizer, (struct module_id){1}, text_fd("x"), 0),
		 -EINVAL);
	symbolizer_free(symbolizer);
	symbolizer_free(NULL);
}

int main(void)
{
	RUN(names_a_file);
	RUN(no_file);
	RUN(bad_ids);
	RUN(bad_build_id);
	RUN(debug_file);
	RUN(another_file_than_asked);
	RUN(rows_of_one_file);
	RUN(kernel);
	RUN(kernel_hides);
	RUN(jit_grows);
	RUN(jit_without_map);
	RUN(jit_ends);
	RUN(jits_apart);
	RUN(epochs);
	RUN(epoch_forgets_questions);
	RUN(epoch_of_a_jit);
	RUN(successor);
	RUN(symbols_fill_up);
	RUN(many_files);
	RUN(no_epoch);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Whose code is kept, and when. */
#include <ctop/base/clock.h>
#include <ctop/base/lost_pages.h>
#include <ctop/elf/object.h>
#include <ctop/store/kept_code.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

enum { MAIN = 0x1000, BAR = 0x1040, FORK = 0x1080, ODD = 0x10c0 };

static char program_bytes[MAIN + 0x1000];

/* The program with its code, of which the offsets are the addresses. */
static int program_fd(void)
{
	char *file = program_bytes;
	CHECK(test_elf_bytes(&program_file, file, sizeof(program_bytes)) <= MAIN);
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr text;
	memcpy(&header, file, sizeof(header));
	memcpy(&segment, file + header.e_phoff, sizeof(segment));
	segment.p_filesz = sizeof(program_bytes);
	memcpy(file + header.e_phoff, &segment, sizeof(segment));
	memcpy(&text, file + header.e_shoff + TEST_TEXT * sizeof(text), sizeof(text));
	text.sh_type = SHT_PROGBITS;
	text.sh_offset = MAIN;
	memcpy(file + header.e_shoff + TEST_TEXT * sizeof(text), &text, sizeof(text));
	for (size_t i = MAIN; i < sizeof(program_bytes); i++)
		file[i] = (char)(i * 7);
	return file_of_bytes(file, sizeof(program_bytes));
}

static void give_code(struct scene *scene, struct module_id module)
{
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, program_fd(), 0), 0);
}

static void sample(struct scene *scene, struct module_id module, uint64_t address, unsigned nr)
{
	const struct sample sample = {.leaf = add_frame(scene, module, address)};
	for (unsigned i = 0; i < nr; i++)
		tables_add_sample(scene->writer, &sample);
	tables_publish(scene->writer);
}

static struct kept_code kept(const struct scene *scene, uint32_t number, const uint8_t **bytes)
{
	struct kept_code code;
	CHECK(symbols_code(&scene->symbols, number, &code, bytes));
	return code;
}

static void keep(struct scene *scene)
{
	work(scene);
	symbolizer_keep_code(scene->symbolizer);
}

static void the_hottest_come_first(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_file(scene, 1, "/program");
	const uint8_t *bytes;
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	sample(scene, module, MAIN + 1, 2);
	sample(scene, module, BAR + 1, 2);
	sample(scene, module, BAR + 5, 2);
	sample(scene, module, FORK, 1); /* one sample says little */
	sample(scene, module, ODD, 1);
	work(scene);
	give_code(scene, module);
	keep(scene);
	CHECK_EQ(symbols_nr_code(&scene->symbols), 2);
	const uint64_t starts[] = {BAR, MAIN, FORK};
	for (uint32_t i = 0; i < 2; i++) {
		const struct kept_code code = kept(scene, i, &bytes);
		CHECK_EQ(code.start, starts[i]);
		CHECK_EQ(code.size, 0x20);
		CHECK_EQ(code.module.index, module.index);
		CHECK_EQ(code.bias, 0);
		CHECK(!code.is_cut);
		CHECK(memcmp(bytes, program_bytes + code.start, code.size) == 0);
	}
	/* Once, and at the end what has two samples by then. */
	keep(scene);
	CHECK_EQ(symbols_nr_code(&scene->symbols), 2);
	CHECK(!symbolizer_has_kept_code(scene->symbolizer));
	sample(scene, module, FORK, 1);
	symbolizer_look_again(scene->symbolizer);
	keep(scene);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	CHECK_EQ(symbols_nr_code(&scene->symbols), 3);
	CHECK_EQ(kept(scene, 2, &bytes).start, FORK);
	scene_free(scene);
}

static void without_being_wanted_none_is_kept(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_file(scene, 1, "/program");
	sample(scene, module, MAIN, 5);
	work(scene);
	give_code(scene, module);
	keep(scene);
	symbolizer_look_again(scene->symbolizer);
	keep(scene);
	CHECK_EQ(symbols_nr_code(&scene->symbols), 0);
	scene_free(scene);
}

static void a_file_that_cannot_be_had_has_none(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_file(scene, 1, "/program");
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	sample(scene, module, MAIN, 5);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -EACCES), 0);
	symbolizer_look_again(scene->symbolizer);
	keep(scene);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	CHECK_EQ(symbols_nr_code(&scene->symbols), 0);
	scene_free(scene);
}

/* Another file has been put into its place since: its bytes are not those that were profiled. */
static void a_file_that_was_overwritten_has_none(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_file(scene, 1, "/program");
	const int fd = program_fd();
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const int writable = open(path, O_RDWR | O_CLOEXEC);
	CHECK(writable >= 0);
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	sample(scene, module, MAIN, 5);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, fd, 0), 0);
	work(scene);
	CHECK_EQ(ftruncate(writable, sizeof(program_bytes) - 1), 0);
	symbolizer_look_again(scene->symbolizer);
	keep(scene);
	CHECK_EQ(symbols_nr_code(&scene->symbols), 0);
	close(writable);
	scene_free(scene);
}

/* ---- generated code ---- */

static char dump_bytes[4096];
static size_t dump_size;
static uint64_t loaded_ns = 1;

static void put(const void *bytes, size_t size)
{
	CHECK(dump_size + size <= sizeof(dump_bytes));
	memcpy(dump_bytes + dump_size, bytes, size);
	dump_size += size;
}

static void begin_dump(void)
{
	const uint64_t head[] = {UINT64_C(1) << 32 | 0x4a695444, UINT64_C(62) << 32 | 40,
				 UINT64_C(7) << 32, 1, 0};
	dump_size = 0;
	put(head, sizeof(head));
}

static void load(uint64_t start, const char *name, uint64_t size, char fill)
{
	char code[64];
	const uint32_t head[] = {0, (uint32_t)(16 + 40 + strlen(name) + 1 + size)};
	const uint64_t about[] = {loaded_ns, UINT64_C(7) << 32 | 7, start, start, size, 1};
	CHECK(size <= sizeof(code));
	memset(code, fill, size);
	put(head, sizeof(head));
	put(about, sizeof(about));
	put(name, strlen(name) + 1);
	put(code, size);
}

static void give_dump(struct scene *scene, struct module_id module)
{
	const int fd = file_of_bytes(dump_bytes, dump_size);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, fd, 0), 0);
	work(scene);
}

/* Each by its own name and with its own code, also where the second was not yet in the dump when it ran first. */
static void functions_that_take_each_others_place(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_jit(scene, 7);
	const uint8_t *bytes;
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	sample(scene, module, MAIN + 1, 3);
	work(scene);
	begin_dump();
	load(MAIN, "first", 0x20, 1);
	give_dump(scene, module);
	sample(scene, module, MAIN + 0x11, 2);
	work(scene);
	CHECK_EQ(state_of(scene, (struct frame_id){1}), SYMBOL_NAMED);
	CHECK_EQ(state_of(scene, (struct frame_id){2}), SYMBOL_PENDING);
	symbolizer_refresh(scene->symbolizer);
	load(MAIN, "second", 0x30, 2);
	give_dump(scene, module);
	symbolizer_look_again(scene->symbolizer);
	keep(scene);
	CHECK_EQ(symbols_nr_code(&scene->symbols), 2);
	static const char *const names[] = {"first", "second"};
	for (uint32_t i = 0; i < 2; i++) {
		const struct kept_code code = kept(scene, i, &bytes);
		CHECK_EQ(code.start, MAIN);
		CHECK_EQ(code.size, i ? 0x30 : 0x20);
		CHECK_EQ(code.machine, 62);
		CHECK_EQ(code.read_ns, 0);
		CHECK_EQ(code.name_bytes, strlen(names[i]));
		CHECK(memcmp(code.name, names[i], code.name_bytes) == 0);
		CHECK_EQ(bytes[code.size - 1], i + 1);
	}
	scene_free(scene);
}

/* Where it comes to them so late that the dump has both. */
static void names_are_those_of_the_first_sample(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_jit(scene, 7);
	const uint64_t now_ns = clock_now_ns();
	tables_set_time(scene->writer, now_ns - 2 * NS_PER_SECOND);
	const struct frame_id early = add_frame(scene, module, MAIN + 1);
	const struct frame_id untold = add_frame(scene, module, MAIN + 0x101);
	tables_set_time(scene->writer, now_ns - NS_PER_SECOND / 2);
	const struct frame_id late = add_frame(scene, module, MAIN + 0x11);
	work(scene);
	begin_dump();
	loaded_ns = now_ns - 3 * NS_PER_SECOND;
	load(MAIN, "first", 0x20, 1);
	loaded_ns = now_ns - 2 * NS_PER_SECOND + 5 * NS_PER_MS;
	load(MAIN + 0x100, "told_late", 0x20, 3);
	loaded_ns = now_ns - NS_PER_SECOND;
	load(MAIN, "second", 0x30, 2);
	loaded_ns = 1;
	give_dump(scene, module);
	CHECK_STR(name_of(scene, early), "first");
	CHECK_STR(name_of(scene, late), "second");
	CHECK_STR(name_of(scene, untold), "told_late");
	scene_free(scene);
}

static void what_a_dump_does_not_have_is_not_kept(void)
{
	struct scene *scene = scene_new();
	const struct module_id module = add_jit(scene, 7);
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	for (uint64_t at = MAIN; at < MAIN + 0x300; at += 0x100)
		sample(scene, module, at, 2);
	work(scene);
	begin_dump();
	load(MAIN, "twice", 0x20, 1);
	load(MAIN, "twice", 0x20, 2);
	load(MAIN + 0x100, "good", 0x20, 3);
	load(MAIN + 0x200, "cut", 0x20, 4);
	const uint64_t lies = 0x21;
	memcpy(dump_bytes + dump_size - 0x20 - 4 - 16, &lies, sizeof(lies));
	give_dump(scene, module);
	symbolizer_look_again(scene->symbolizer);
	keep(scene);
	CHECK_EQ(symbols_nr_code(&scene->symbols), 1);
	const uint8_t *bytes;
	CHECK_EQ(kept(scene, 0, &bytes).start, MAIN + 0x100);
	CHECK_EQ(bytes[0], 3);
	scene_free(scene);
}

int main(void)
{
	CHECK_EQ(lost_pages_survive(), 0);
	RUN(the_hottest_come_first);
	RUN(without_being_wanted_none_is_kept);
	RUN(a_file_that_cannot_be_had_has_none);
	RUN(a_file_that_was_overwritten_has_none);
	RUN(functions_that_take_each_others_place);
	RUN(names_are_those_of_the_first_sample);
	RUN(what_a_dump_does_not_have_is_not_kept);
	return test_done();
}

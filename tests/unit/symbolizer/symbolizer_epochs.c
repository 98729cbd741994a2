/* SPDX-License-Identifier: MIT */
/* Epochs, and a predecessor that died. */
#include "scene.h"

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
	/* All three are asked for again. */
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
	const struct symbolizer_requests requests = {
		.context = scene, .need_module = note_module, .need_debug_file = note_debug_file};
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
	CHECK_EQ(state_of(scene, unknown), SYMBOL_BOUNDED);
	CHECK_STR(name_of(scene, waiting), "foo::bar(int)");
	CHECK_STR(name_of(scene, jit_unknown), "now");
	CHECK(is_idle(scene));
	scene_free(scene);
}

int main(void)
{
	RUN(epochs);
	RUN(epoch_forgets_questions);
	RUN(epoch_of_a_jit);
	RUN(successor);
	return test_done();
}

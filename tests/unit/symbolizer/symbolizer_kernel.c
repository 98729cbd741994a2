/* SPDX-License-Identifier: MIT */
/* The code of the kernel's hot functions: asked for by name and place, kept with when it was read. */
#include <ctop/store/kept_code.h>

#include <errno.h>
#include <string.h>

#include "scene.h"

enum { READ_NS = 5000000, SIZE = 0x20 };
#define START UINT64_C(0xffffffff81000100)

static const char kallsyms[] = "ffffffff81000100 T vfs_read\n"
			       "ffffffff81000200 t _RNvC4core4work\n"
			       "ffffffff81000300 T last\n";

static void sample(struct scene *scene, struct module_id module, uint64_t address)
{
	const struct sample samples[] = {{.leaf = add_frame(scene, module, address)}};
	for (unsigned i = 0; i < 2; i++)
		tables_add_sample(scene->writer, samples);
	tables_publish(scene->writer);
}

static void turn(struct scene *scene)
{
	work(scene);
	symbolizer_keep_code(scene->symbolizer);
}

/* One that has these functions of the kernel hot. */
static struct scene *begin(const uint64_t *addresses, size_t nr)
{
	struct scene *scene = scene_new();
	const struct module_id module =
		add_module(scene, (struct module_row){.kind = MODULE_KERNEL}, "[kernel]");
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	for (size_t i = 0; i < nr; i++)
		sample(scene, module, addresses[i]);
	work(scene);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd(kallsyms), 0), 0);
	while (symbolizer_work(scene->symbolizer, 0))
		;
	turn(scene);
	return scene;
}

static int give(struct scene *scene, uint64_t start, uint64_t whole_bytes)
{
	char bytes[SIZE];
	memset(bytes, 'k', sizeof(bytes));
	const int fd = file_of_bytes(bytes, sizeof(bytes));
	const int result = symbolizer_give_kernel_code(scene->symbolizer, start, "vfs_read", fd, 0,
						       whole_bytes, READ_NS);
	CHECK(fcntl(fd, F_GETFD) < 0);
	return result;
}

static void it_is_kept_with_its_name(void)
{
	struct scene *scene = begin((const uint64_t[]){START + 4}, 1);
	struct kept_code code;
	const uint8_t *bytes;
	CHECK_EQ(scene->nr_kernel_code, 1);
	CHECK_EQ(scene->kernel_code[0].start, START);
	CHECK(!strcmp(scene->kernel_code[0].name, "vfs_read"));
	/* While it is awaited it is not asked for again, and the end waits. */
	symbolizer_look_again(scene->symbolizer);
	turn(scene);
	CHECK_EQ(scene->nr_kernel_code, 1);
	CHECK(!symbolizer_has_kept_code(scene->symbolizer));
	CHECK_EQ(give(scene, START, SIZE), 0);
	turn(scene);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	CHECK_EQ(symbols_nr_code(&scene->symbols), 1);
	CHECK(symbols_code(&scene->symbols, 0, &code, &bytes));
	CHECK_EQ(code.start, START);
	CHECK_EQ(code.size, SIZE);
	CHECK_EQ(code.read_ns, READ_NS);
	CHECK_EQ(code.name_bytes, 8);
	CHECK(memcmp(code.name, "vfs_read", 8) == 0 && bytes[SIZE - 1] == 'k');
	CHECK(!code.is_cut);
	scene_free(scene);
}

static void what_is_longer_is_cut_and_an_answer_nobody_asked_for_is_refused(void)
{
	struct scene *scene = begin((const uint64_t[]){START}, 1);
	struct kept_code code;
	const uint8_t *bytes;
	CHECK_EQ(give(scene, START + 1, SIZE), -EINVAL);
	CHECK_EQ(symbolizer_give_kernel_code(scene->symbolizer, START, "another", -1, -ENXIO, 0,
					     READ_NS),
		 -EINVAL);
	CHECK_EQ(give(scene, START, SIZE + 1), 0);
	CHECK_EQ(give(scene, START, SIZE), -EINVAL);
	CHECK(symbols_code(&scene->symbols, 0, &code, &bytes));
	CHECK(code.is_cut);
	scene_free(scene);
}

/* Rust's names are shown otherwise than the kernel has them. */
static void of_a_name_that_was_demangled_the_place_has_to_do(void)
{
	struct scene *scene = begin((const uint64_t[]){START + 0x100}, 1);
	CHECK_EQ(scene->nr_kernel_code, 1);
	CHECK_EQ(scene->kernel_code[0].start, START + 0x100);
	CHECK(!strcmp(scene->kernel_code[0].name, ""));
	scene_free(scene);
}

static void where_it_may_not_be_read_it_is_asked_for_once(void)
{
	struct scene *scene = begin((const uint64_t[]){START}, 1);
	CHECK_EQ(symbolizer_give_kernel_code(scene->symbolizer, START, "vfs_read", -1, -ENOENT, 0,
					     READ_NS),
		 0);
	sample(scene, (struct module_id){1}, START + 0x200);
	turn(scene);
	CHECK_EQ(scene->nr_kernel_code, 1);
	symbolizer_look_again(scene->symbolizer);
	turn(scene);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	CHECK_EQ(symbols_nr_code(&scene->symbols), 0);
	scene_free(scene);
}

static void what_was_too_much_is_asked_for_later(void)
{
	struct scene *scene = begin((const uint64_t[]){START}, 1);
	CHECK_EQ(symbolizer_give_kernel_code(scene->symbolizer, START, "vfs_read", -1, -EBUSY, 0,
					     READ_NS),
		 0);
	turn(scene);
	CHECK_EQ(scene->nr_kernel_code, 2);
	scene_free(scene);
}

int main(void)
{
	RUN(it_is_kept_with_its_name);
	RUN(what_is_longer_is_cut_and_an_answer_nobody_asked_for_is_refused);
	RUN(of_a_name_that_was_demangled_the_place_has_to_do);
	RUN(where_it_may_not_be_read_it_is_asked_for_once);
	RUN(what_was_too_much_is_asked_for_later);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Code of functions that only a perf map tells of: copied out of memory, and kept if the map still says so afterwards. */
#include <ctop/ipc/protocol.h>
#include <ctop/store/kept_code.h>

#include <errno.h>
#include <string.h>

#include "scene.h"

enum { PAGE = 4096, READ_NS = 5000000 };
static const uint64_t START = 0x7f0000001000;

static uint8_t memory[PROTOCOL_CODE_MAX];

static void sample(struct scene *scene, struct module_id module, uint64_t address)
{
	const struct sample sample = {.leaf = add_frame(scene, module, address)};
	for (unsigned i = 0; i < 2; i++)
		tables_add_sample(scene->writer, &sample);
	tables_publish(scene->writer);
}

static void give_map(struct scene *scene, struct module_id module, const char *text)
{
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd(text), 0), 0);
	work(scene);
	symbolizer_keep_copies(scene->symbolizer);
}

/* What was asked for last; filled with its own number. */
static void give_code(struct scene *scene, size_t number, size_t size)
{
	memset(memory, (int)number + 1, sizeof(memory));
	const int fd = file_of_bytes((const char *)memory, size);
	CHECK_EQ(symbolizer_give_code(scene->symbolizer, &scene->ranges[number], fd, 0, READ_NS),
		 0);
	CHECK(fcntl(fd, F_GETFD) < 0);
	work(scene);
	symbolizer_keep_copies(scene->symbolizer);
}

static void refuse(struct scene *scene, size_t number, int error)
{
	CHECK_EQ(
		symbolizer_give_code(scene->symbolizer, &scene->ranges[number], -1, error, READ_NS),
		0);
	work(scene);
}

static void turn(struct scene *scene)
{
	work(scene);
	symbolizer_keep_code(scene->symbolizer);
}

/* A process, functions of which have been sampled and named; the first of them begins at START. */
static struct scene *begin(struct module_id *module, const char *map)
{
	struct scene *scene = scene_new();
	*module = add_jit(scene, 7);
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	sample(scene, *module, START + 1);
	work(scene);
	give_map(scene, *module, map);
	turn(scene);
	return scene;
}

static uint32_t nr_kept(const struct scene *scene)
{
	return symbols_nr_code(&scene->symbols);
}

static struct kept_code kept(const struct scene *scene, uint32_t number, const uint8_t **bytes)
{
	struct kept_code code;
	CHECK(symbols_code(&scene->symbols, number, &code, bytes));
	return code;
}

static void it_is_kept_with_when_it_was_read(void)
{
	struct module_id module;
	struct scene *scene = begin(&module, "7f0000001000 20 work\n");
	const uint8_t *bytes;
	CHECK_EQ(scene->nr_ranges, 1);
	CHECK_EQ(scene->ranges[0].pid, 7);
	CHECK_EQ(scene->ranges[0].start, START);
	CHECK_EQ(scene->ranges[0].end, START + PAGE);
	const size_t nr_asked = scene->nr_asked;
	give_code(scene, 0, PAGE);
	/* The map is looked at again: only what was written before it counts. */
	CHECK_EQ(scene->nr_asked, nr_asked + 1);
	CHECK_EQ(nr_kept(scene), 0);
	give_map(scene, module, "7f0000001000 20 work\n7f0000002000 20 other\n");
	CHECK_EQ(nr_kept(scene), 1);
	const struct kept_code code = kept(scene, 0, &bytes);
	CHECK_EQ(code.start, START);
	CHECK_EQ(code.size, 0x20);
	CHECK_EQ(code.read_ns, READ_NS);
	CHECK_EQ(code.name_bytes, 4);
	CHECK(memcmp(code.name, "work", 4) == 0);
	CHECK_EQ(bytes[0x1f], 1);
	CHECK(!code.is_cut);
	/* Once. */
	symbolizer_look_again(scene->symbolizer);
	turn(scene);
	CHECK_EQ(scene->nr_ranges, 1);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	scene_free(scene);
}

/* Each of these was there when the copy was made, as far as anybody knows. */
static void what_has_taken_its_place_is_not_kept_under_its_name(void)
{
	static const char *const maps[] = {
		"7f0000001000 20 work\n7f0000001000 20 other\n",
		"7f0000001000 20 work\n7f0000001010 8 within\n",
		"7f0000001000 20 work\n7f0000001018 80 over its end\n",
		"7f0000001000 20 work\n7f0000001000 30 work\n",
		"7f0000001000 20 other\n",
		"\n",
	};
	for (size_t i = 0; i < NR(maps); i++) {
		struct module_id module;
		struct scene *scene = begin(&module, "7f0000001000 20 work\n");
		give_code(scene, 0, PAGE);
		give_map(scene, module, maps[i]);
		CHECK_EQ(nr_kept(scene), 0);
		symbolizer_look_again(scene->symbolizer);
		turn(scene);
		CHECK(symbolizer_has_kept_code(scene->symbolizer));
		scene_free(scene);
	}
}

static void without_another_look_at_the_map_it_is_not_kept(void)
{
	struct module_id module;
	struct scene *scene = begin(&module, "7f0000001000 20 work\n");
	give_code(scene, 0, PAGE);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
	work(scene);
	CHECK_EQ(nr_kept(scene), 0);
	scene_free(scene);
}

static void what_cannot_be_read_is_given_up(void)
{
	static const int errors[] = {-ESRCH, -EPERM, -EACCES, -ETIMEDOUT};
	for (size_t i = 0; i < NR(errors); i++) {
		struct module_id module;
		struct scene *scene = begin(&module, "7f0000001000 20 work\n");
		refuse(scene, 0, errors[i]);
		turn(scene);
		CHECK_EQ(scene->nr_ranges, 1);
		symbolizer_look_again(scene->symbolizer);
		turn(scene);
		CHECK(symbolizer_has_kept_code(scene->symbolizer));
		scene_free(scene);
	}
}

static void too_much_at_once_is_asked_for_later(void)
{
	struct module_id module;
	struct scene *scene = begin(&module, "7f0000001000 20 work\n");
	refuse(scene, 0, -EBUSY);
	turn(scene);
	CHECK_EQ(scene->nr_ranges, 2);
	symbolizer_look_again(scene->symbolizer);
	refuse(scene, 1, -EBUSY);
	turn(scene);
	CHECK_EQ(scene->nr_ranges, 2);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	scene_free(scene);
}

/* Whatever a map says of sizes, no more than a copy's worth is asked for, and no more is kept than has come. */
static void sizes_that_lie(void)
{
	static const struct {
		const char *map;
		uint64_t before, bytes; /* START; asked for */
	} lies[] = {
		{"7f0000001000 40000000 huge\n", 0, PROTOCOL_CODE_MAX},
		{"7f0000001000 ffff80ffffffefff all there is\n", 0, PROTOCOL_CODE_MAX},
		{"7f0000000fff 1001 across\n", PAGE, 2 * PAGE},
	};
	const uint8_t *bytes;
	for (size_t i = 0; i < NR(lies); i++) {
		struct module_id module;
		struct scene *scene = begin(&module, lies[i].map);
		CHECK_EQ(scene->nr_ranges, 1);
		CHECK_EQ(scene->ranges[0].start, START - lies[i].before);
		CHECK_EQ(scene->ranges[0].end - scene->ranges[0].start, lies[i].bytes);
		give_code(scene, 0, PAGE + 100);
		give_map(scene, module, lies[i].map);
		CHECK_EQ(nr_kept(scene), 1);
		const struct kept_code code = kept(scene, 0, &bytes);
		CHECK_EQ(code.size, i == 2 ? 101 : PAGE + 100);
		CHECK(code.is_cut);
		scene_free(scene);
	}
	/* Nothing of it has come. */
	struct module_id module;
	struct scene *scene = begin(&module, "7f0000000fff 1001 across\n");
	give_code(scene, 0, PAGE - 1);
	symbolizer_look_again(scene->symbolizer);
	turn(scene);
	CHECK_EQ(nr_kept(scene), 0);
	CHECK(symbolizer_has_kept_code(scene->symbolizer));
	scene_free(scene);
}

static void answers_that_nobody_asked_for(void)
{
	struct module_id module;
	struct scene *scene = begin(&module, "7f0000001000 20 work\n");
	struct code_range odd = scene->ranges[0];
	odd.end += PAGE;
	for (size_t i = 0; i < 2; i++) {
		const int fd = text_fd("code");
		CHECK_EQ(symbolizer_give_code(scene->symbolizer, &odd, fd, 0, READ_NS), -EINVAL);
		CHECK(fcntl(fd, F_GETFD) < 0);
		/* Nor of the epoch before. */
		if (i == 0)
			next_epoch(scene);
		odd = scene->ranges[0];
	}
	scene_free(scene);
}

static void so_many_at_a_time(void)
{
	enum { NR_FUNCTIONS = 100 };
	static char map[16 << 10];
	struct scene *scene = scene_new();
	const struct module_id module = add_jit(scene, 7);
	CHECK_EQ(symbolizer_want_code(scene->symbolizer), 0);
	for (uint64_t i = 0, size = 0; i < NR_FUNCTIONS; i++)
		size += (uint64_t)snprintf(map + size, sizeof(map) - size, "%llx 20 function%d\n",
					   (unsigned long long)(START + i * PAGE), (int)i);
	for (uint64_t i = 0; i < NR_FUNCTIONS; i++) {
		sample(scene, module, START + i * PAGE);
		work(scene);
		if (i == 0)
			give_map(scene, module, map);
		if (i % 5 == 4) /* before its samples are overwritten */
			turn(scene);
	}
	CHECK_EQ(scene->nr_ranges, 64);
	for (size_t i = 0; i < 64; i++)
		give_code(scene, i, PAGE);
	give_map(scene, module, map);
	give_map(scene, module, map); /* for those that came behind the first */
	CHECK_EQ(nr_kept(scene), 64);
	turn(scene);
	CHECK_EQ(scene->nr_ranges, 100);
	scene_free(scene);
}

int main(void)
{
	RUN(it_is_kept_with_when_it_was_read);
	RUN(what_has_taken_its_place_is_not_kept_under_its_name);
	RUN(without_another_look_at_the_map_it_is_not_kept);
	RUN(what_cannot_be_read_is_given_up);
	RUN(too_much_at_once_is_asked_for_later);
	RUN(sizes_that_lie);
	RUN(answers_that_nobody_asked_for);
	RUN(so_many_at_a_time);
	return test_done();
}

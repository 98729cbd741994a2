/* SPDX-License-Identifier: MIT */
/* Code that a process generates: its map grows, is not there, goes with the process. */
#include "scene.h"

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
	/* It is looked for at each refresh. */
	for (size_t asked = 1; asked < 10; asked++) {
		symbolizer_refresh(scene->symbolizer);
		CHECK_EQ(scene->nr_asked, asked + 1);
		CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, -1, -ENOENT), 0);
		work(scene);
	}
	symbolizer_refresh(scene->symbolizer);
	CHECK_EQ(symbolizer_give_module(scene->symbolizer, module, text_fd("1000 10 at_last\n"), 0),
		 0);
	work(scene);
	CHECK_STR(name_of(scene, frame), "at_last");
	CHECK_EQ(state_of(scene, later), SYMBOL_UNKNOWN);
	scene_free(scene);
}

/* Of many that have none, each is looked for less and less often, but always again. */
static void many_jits_without_maps(void)
{
	enum { JITS = 20, REFRESHES = 64, OFTEN = 8 };
	struct scene *scene = scene_new();
	struct module_id modules[JITS];
	size_t nr = 0, nr_late = 0;
	for (int i = 0; i < JITS; i++) {
		modules[i] = add_jit(scene, 42 + i);
		add_frame(scene, modules[i], 0x1008);
	}
	work(scene);
	for (int refresh = 0; refresh < REFRESHES; refresh++) {
		for (size_t i = 0; i < scene->nr_asked; i++)
			CHECK_EQ(symbolizer_give_module(scene->symbolizer, scene->asked[i].module,
							-1, -ENOENT),
				 0);
		scene->nr_asked = 0;
		work(scene);
		symbolizer_refresh(scene->symbolizer);
		nr += scene->nr_asked;
		nr_late += refresh >= REFRESHES / 2 ? scene->nr_asked : 0;
	}
	CHECK(nr < JITS * REFRESHES / OFTEN * 2);
	CHECK(nr_late >= JITS);
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

int main(void)
{
	RUN(jit_grows);
	RUN(jit_without_map);
	RUN(many_jits_without_maps);
	RUN(jit_ends);
	RUN(jits_apart);
	return test_done();
}

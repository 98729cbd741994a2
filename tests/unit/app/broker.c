/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../../src/app/broker.h"
#include "../../../src/app/region.h"

/* A broker, tables with rows to ask about, and both ends of a channel. */
struct scene {
	struct broker *broker;
	struct region region;
	struct tables_writer *writer;
	struct channel *main, *child;
};

static void open_scene(struct scene *scene)
{
	int main_fd, child_fd;
	*scene = (struct scene){.broker = broker_new()};
	CHECK(scene->broker != NULL);
	CHECK_EQ(region_open(&scene->region, 1), 0);
	scene->writer = tables_writer_new(&scene->region.tables);
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	scene->main = channel_new(main_fd, CHANNEL_MAIN);
	scene->child = channel_new(child_fd, CHANNEL_CHILD);
	CHECK(scene->writer && scene->main && scene->child);
}

static void close_scene(struct scene *scene)
{
	tables_writer_free(scene->writer);
	region_close(&scene->region);
	channel_free(scene->main);
	channel_free(scene->child);
	broker_free(scene->broker);
}

static uint32_t generated_code_of(struct scene *scene, int32_t pid)
{
	struct module_row row = {.kind = MODULE_ANON, .pid = pid};
	struct module_id id;
	CHECK_EQ(tables_add_string(scene->writer, "[anon]", 6, &row.path), 0);
	CHECK_EQ(tables_add_module(scene->writer, &row, &id), 0);
	tables_publish(scene->writer);
	return id.index;
}

/* What a child gets for a row: 0 and a descriptor (closed here), or -errno. */
static int ask(struct scene *scene, uint32_t module)
{
	const struct message_module request = {.epoch = 1, .module = module};
	struct message message;
	int fd = -1;
	CHECK_EQ(broker_answer_module(scene->broker, scene->main, &request, &scene->region.tables),
		 0);
	CHECK_EQ(protocol_receive(scene->child, &message, &fd), 1);
	CHECK_EQ(message.kind, MESSAGE_MODULE);
	CHECK_EQ(fd >= 0, message.module.error == 0);
	if (fd >= 0)
		close(fd);
	return message.module.error;
}

static void write_own_map(char path[64])
{
	snprintf(path, 64, "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
}

static void a_map_that_a_child_died_on_is_set_aside(void)
{
	struct scene scene;
	char path[64];
	open_scene(&scene);
	write_own_map(path);
	uint32_t own = generated_code_of(&scene, getpid());
	uint32_t others = generated_code_of(&scene, getppid());
	CHECK_EQ(ask(&scene, own), 0);
	CHECK_STR(broker_notice(scene.broker), "");
	/* Of one process: another's map is another file. */
	broker_set_unreadable(scene.broker, &scene.region.tables, others);
	CHECK_EQ(ask(&scene, others), -EUCLEAN);
	CHECK_EQ(ask(&scene, own), 0);
	broker_set_unreadable(scene.broker, &scene.region.tables, own);
	CHECK_EQ(ask(&scene, own), -EUCLEAN);
	CHECK(strstr(broker_notice(scene.broker), "could not be read") != NULL);
	unlink(path);
	close_scene(&scene);
}

static void a_missing_map_is_nothing_to_tell_of(void)
{
	struct scene scene;
	char path[64];
	open_scene(&scene);
	write_own_map(path);
	unlink(path);
	CHECK_EQ(ask(&scene, generated_code_of(&scene, getpid())), -ENOENT);
	CHECK_STR(broker_notice(scene.broker), "");
	close_scene(&scene);
}

static void a_refused_map_is_told_once(void)
{
	struct scene scene;
	char path[64], first[200];
	open_scene(&scene);
	write_own_map(path);
	unlink(path);
	CHECK_EQ(symlink("/dev/null", path), 0);
	uint32_t own = generated_code_of(&scene, getpid());
	CHECK_EQ(ask(&scene, own), -EINVAL);
	CHECK(strstr(broker_notice(scene.broker), "not a regular file") != NULL);
	snprintf(first, sizeof(first), "%s", broker_notice(scene.broker));
	broker_set_unreadable(scene.broker, &scene.region.tables, own);
	CHECK_STR(broker_notice(scene.broker), first);
	unlink(path);
	close_scene(&scene);
}

static void rows_that_are_not_there(void)
{
	struct scene scene;
	open_scene(&scene);
	CHECK_EQ(ask(&scene, 12345), -ENOENT);
	CHECK_EQ(ask(&scene, UINT32_MAX), -ENOENT);
	broker_set_unreadable(scene.broker, &scene.region.tables, UINT32_MAX);
	close_scene(&scene);
}

int main(void)
{
	RUN(a_map_that_a_child_died_on_is_set_aside);
	RUN(a_missing_map_is_nothing_to_tell_of);
	RUN(a_refused_map_is_told_once);
	RUN(rows_that_are_not_there);
	return test_done();
}

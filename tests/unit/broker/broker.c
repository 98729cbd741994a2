/* SPDX-License-Identifier: MIT */
/* What main gives to its children, and what it no longer gives after one of them died on it. */
#include <ctop/broker/broker.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>

#include "test.h"

static const struct tables_capacity capacity = {
	.nr = {4096, 16, 16, 16, 16, 16, 16},
	.nr_samples = 16,
};

struct scene {
	struct tables tables;
	struct tables_writer *writer;
	struct broker *broker;
	struct channel *main_end, *child_end;
};

static void set_up(struct scene *scene)
{
	int main_fd, child_fd;
	CHECK_EQ(tables_map(&scene->tables, -1, &capacity, true), 0);
	CHECK_EQ(channel_pair(&main_fd, &child_fd), 0);
	scene->writer = tables_writer_new(&scene->tables);
	scene->broker = broker_new();
	scene->main_end = channel_new(main_fd, CHANNEL_MAIN);
	scene->child_end = channel_new(child_fd, CHANNEL_CHILD);
	CHECK(scene->writer && scene->broker && scene->main_end && scene->child_end);
	/* As if ctop profiled this program, and its parent. */
	mapped_files_add_process(broker_mapped_files(scene->broker), getpid(), clock_now_ns());
	mapped_files_add_process(broker_mapped_files(scene->broker), getppid(), clock_now_ns());
}

/* Until an answer has come. */
static void receive(struct scene *scene, struct message *answer, int *fd)
{
	int got;
	while ((got = protocol_receive(scene->child_end, answer, fd)) == -EAGAIN) {
		struct pollfd fds[BROKER_POLL_MAX];
		int timeout_ms = broker_timeout_ms(scene->broker);
		CHECK(timeout_ms >= 0);
		poll(fds, broker_poll(scene->broker, fds), timeout_ms);
		broker_serve(scene->broker);
	}
	CHECK_EQ(got, 1);
}

static void clean_up(struct scene *scene)
{
	broker_free(scene->broker);
	channel_free(scene->main_end);
	channel_free(scene->child_end);
	tables_writer_free(scene->writer);
	tables_unmap(&scene->tables);
}

/* The row of this test program, as if it had been sampled itself. */
static uint32_t add_own_file(struct scene *scene, enum module_kind kind, int32_t pid)
{
	struct stat stat;
	char path[PATH_MAX];
	struct module_row row = {.kind = kind, .pid = pid};
	struct module_id id;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
	CHECK(size > 0 && size < (ssize_t)sizeof(path));
	path[size] = '\0';
	CHECK_EQ(lstat(path, &stat), 0);
	row.identity.inode = stat.st_ino;
	FILE *maps = fopen("/proc/self/maps", "re");
	CHECK(maps != NULL);
	char line[PATH_MAX + 128];
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset;
		char permissions[8];
		unsigned major, minor;
		if (strstr(line, path) &&
		    sscanf(line, "%llx-%llx %7s %llx %x:%x", &start, &end, permissions, &offset,
			   &major, &minor) == 6 &&
		    strchr(permissions, 'x')) {
			row.start = start;
			row.end = end;
			row.file_offset = offset;
			row.identity.device_major = major;
			row.identity.device_minor = minor;
		}
	}
	fclose(maps);
	CHECK(row.end > 0);
	CHECK_EQ(tables_add_string(scene->writer, path, strlen(path), &row.path), 0);
	CHECK_EQ(tables_add_module(scene->writer, &row, &id), 0);
	tables_publish(scene->writer);
	return id.index;
}

/* Asks as a child does; 0 when a descriptor came, else the error that did. */
static int ask(struct scene *scene, enum broker_reader reader, uint32_t module)
{
	const struct message_module request = {.epoch = 1, .module = module};
	struct message answer;
	int fd = -1;
	CHECK_EQ(broker_answer_module(scene->broker, scene->main_end, reader, &request,
				      &scene->tables),
		 0);
	receive(scene, &answer, &fd);
	CHECK_EQ(answer.kind, MESSAGE_MODULE);
	CHECK_EQ(answer.module.module, module);
	CHECK_EQ(fd >= 0, answer.module.error == 0);
	if (fd >= 0)
		close(fd);
	return answer.module.error;
}

static const char *only_unreadable(const struct scene *scene)
{
	size_t nr;
	const char *const *unreadable = broker_unreadable(scene->broker, &nr);
	CHECK_EQ(nr, 1);
	return unreadable[0];
}

static void a_file_is_given_as_often_as_it_is_asked_for(void)
{
	struct scene scene;
	set_up(&scene);
	uint32_t module = add_own_file(&scene, MODULE_FILE, getpid());
	size_t nr;
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ask(&scene, BROKER_COLLECTOR, module), 0);
		CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, module), 0);
	}
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, module + 1), -ENOENT);
	broker_unreadable(scene.broker, &nr);
	CHECK_EQ(nr, 0);
	clean_up(&scene);
}

static void a_file_that_killed_one_is_still_given_to_the_other(void)
{
	for (int asked_before = 0; asked_before < 2; asked_before++) {
		struct scene scene;
		set_up(&scene);
		uint32_t module = add_own_file(&scene, MODULE_FILE, getpid());
		/* The same file as another process sees it. */
		uint32_t again = add_own_file(&scene, MODULE_FILE, getpid());
		if (asked_before)
			CHECK_EQ(ask(&scene, BROKER_COLLECTOR, module), 0);
		broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, module);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, module), -EUCLEAN);
			CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, again), -EUCLEAN);
			CHECK_EQ(ask(&scene, BROKER_COLLECTOR, module), 0);
		}
		CHECK(strstr(only_unreadable(&scene), "/broker (names)") != NULL);
		/* Once is enough. */
		broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, again);
		only_unreadable(&scene);
		broker_set_unreadable(scene.broker, BROKER_COLLECTOR, &scene.tables, module);
		CHECK_EQ(ask(&scene, BROKER_COLLECTOR, module), -EUCLEAN);
		clean_up(&scene);
	}
}

static void a_row_is_asked_for_so_often_and_no_more(void)
{
	enum { ASKS_MAX = 64 };
	struct scene scene;
	set_up(&scene);
	uint32_t module = add_own_file(&scene, MODULE_FILE, getpid());
	for (int i = 0; i < ASKS_MAX; i++)
		CHECK_EQ(ask(&scene, BROKER_COLLECTOR, module), 0);
	CHECK_EQ(ask(&scene, BROKER_COLLECTOR, module), -EDQUOT);
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, module), 0);
	clean_up(&scene);
}

/* Mapped last by a process that has ended: whoever asks may have it mapped yet, or not. */
static void a_file_that_has_gone_is_refused(void)
{
	static const char path[] = "/nowhere/lib.so";
	struct scene scene;
	set_up(&scene);
	const pid_t gone = fork();
	if (gone == 0)
		_exit(0);
	CHECK_EQ(waitpid(gone, NULL, 0), gone);
	const struct record record = {
		.type = PERF_RECORD_MMAP2,
		.pid = gone,
		.tid = gone,
		.mmap = {.start = 0x1000,
			 .length = 0x1000,
			 .executable = true,
			 .inode = 77,
			 .device_major = 8,
			 .path = path},
	};
	struct mapped_file named;
	CHECK(mapped_files_take(broker_mapped_files(scene.broker), &record, &named));
	for (int i = 0; i < 2; i++) {
		struct module_row row = {.kind = MODULE_FILE,
					 .pid = i ? getpid() : gone,
					 .start = 0x1000,
					 .end = 0x2000,
					 .identity = {.inode = 77, .device_major = 8}};
		struct module_id id;
		CHECK_EQ(tables_add_string(scene.writer, path, strlen(path), &row.path), 0);
		CHECK_EQ(tables_add_module(scene.writer, &row, &id), 0);
		tables_publish(scene.writer);
		CHECK(ask(&scene, BROKER_COLLECTOR, id.index) < 0);
	}
	clean_up(&scene);
}

static void so_is_its_debug_file(void)
{
	struct scene scene;
	set_up(&scene);
	uint32_t module = add_own_file(&scene, MODULE_FILE, getpid());
	const struct message_module request = {.epoch = 1, .module = module, .name = "none.debug"};
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, module);
	for (unsigned reader = BROKER_COLLECTOR; reader <= BROKER_SYMBOLIZER; reader++) {
		struct message answer;
		int fd;
		CHECK_EQ(broker_answer_debug_file(scene.broker, scene.main_end,
						  (enum broker_reader)reader, &request,
						  &scene.tables),
			 0);
		receive(&scene, &answer, &fd);
		CHECK_EQ(answer.module.error == -EUCLEAN, reader == BROKER_SYMBOLIZER);
	}
	clean_up(&scene);
}

static void the_kernels_names_can_be_refused(void)
{
	struct scene scene;
	set_up(&scene);
	uint32_t module = add_own_file(&scene, MODULE_KERNEL, 0);
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, module), 0);
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, module);
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, module), -EUCLEAN);
	clean_up(&scene);
}

static void a_jits_map_is_refused_for_its_process_only(void)
{
	struct scene scene;
	set_up(&scene);
	uint32_t one = add_own_file(&scene, MODULE_ANON, getpid());
	uint32_t other = add_own_file(&scene, MODULE_ANON, getppid());
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, one);
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, one), -EUCLEAN);
	CHECK(ask(&scene, BROKER_SYMBOLIZER, other) != -EUCLEAN);
	clean_up(&scene);
}

static void write_own_map(char path[64])
{
	snprintf(path, 64, "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
}

static void a_map_that_a_child_died_on_is_told(void)
{
	struct scene scene;
	char path[64];
	set_up(&scene);
	write_own_map(path);
	uint32_t own = add_own_file(&scene, MODULE_ANON, getpid());
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, own), 0);
	CHECK_STR(broker_notice(scene.broker), "");
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, own);
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, own), -EUCLEAN);
	CHECK(strstr(broker_notice(scene.broker), "could not be read") != NULL);
	unlink(path);
	clean_up(&scene);
}

static void a_missing_map_is_nothing_to_tell_of(void)
{
	struct scene scene;
	char path[64];
	set_up(&scene);
	write_own_map(path);
	unlink(path);
	uint32_t own = add_own_file(&scene, MODULE_ANON, getpid());
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, own), -ENOENT);
	CHECK_STR(broker_notice(scene.broker), "");
	clean_up(&scene);
}

static void a_refused_map_is_told_once(void)
{
	struct scene scene;
	char path[64], first[200];
	set_up(&scene);
	write_own_map(path);
	unlink(path);
	CHECK_EQ(symlink("/dev/null", path), 0);
	uint32_t own = add_own_file(&scene, MODULE_ANON, getpid());
	CHECK_EQ(ask(&scene, BROKER_SYMBOLIZER, own), -EINVAL);
	CHECK(strstr(broker_notice(scene.broker), "not a regular file") != NULL);
	snprintf(first, sizeof(first), "%s", broker_notice(scene.broker));
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, own);
	CHECK_STR(broker_notice(scene.broker), first);
	unlink(path);
	clean_up(&scene);
}

static void rows_that_are_not_there_refuse_nothing(void)
{
	struct scene scene;
	set_up(&scene);
	size_t nr;
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, 7);
	broker_set_unreadable(scene.broker, BROKER_SYMBOLIZER, &scene.tables, UINT32_MAX);
	broker_unreadable(scene.broker, &nr);
	CHECK_EQ(nr, 0);
	clean_up(&scene);
}

int main(void)
{
	RUN(a_file_is_given_as_often_as_it_is_asked_for);
	RUN(a_file_that_killed_one_is_still_given_to_the_other);
	RUN(so_is_its_debug_file);
	RUN(a_row_is_asked_for_so_often_and_no_more);
	RUN(a_file_that_has_gone_is_refused);
	RUN(the_kernels_names_can_be_refused);
	RUN(a_jits_map_is_refused_for_its_process_only);
	RUN(a_map_that_a_child_died_on_is_told);
	RUN(a_missing_map_is_nothing_to_tell_of);
	RUN(a_refused_map_is_told_once);
	RUN(rows_that_are_not_there_refuse_nothing);
	return test_done();
}

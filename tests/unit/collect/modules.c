/* SPDX-License-Identifier: MIT */
/*
 * A file that several processes map, one after the other, and that is rewritten in between:
 *
 *   read                      it is one module
 *   rewritten                 another module, though it has the inode, and looks the same at its start
 *   could not be read         it is asked for again, for the next process
 *   killed who read it        it is not
 */
#include "jailed/collect/modules.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static struct process_table *processes;
static struct modules modules;

static void begin(void)
{
	modules = (struct modules){0};
	processes = process_table_new();
	CHECK(processes);
	CHECK_EQ(modules_init(&modules), 0);
}

static void end(void)
{
	modules_release(&modules);
	process_table_free(processes);
}

/* Of the file, as this process has mapped it. */
static struct module *mapped_by(int32_t pid)
{
	const struct mapping map = {.start = 0x1000, .end = 0x2000, .identity.inode = 7};
	CHECK_EQ(process_table_mmap(processes, pid, &map, "/bin/program", true), 0);
	struct process *process = process_table_find(processes, pid);
	struct module *module =
		modules_of_map(&modules, process, process_mapping_at(process, map.start));
	CHECK(module);
	return module;
}

static void answer(struct module *module, int fd)
{
	const struct module_identity identity = {0};
	module->state = MODULE_ASKED;
	modules_set_file(&modules, module, fd, &identity);
}

static int copy_of_this_program(void)
{
	char bytes[65536];
	ssize_t size;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int copy = memfd_create("program", MFD_CLOEXEC);
	CHECK(from >= 0 && copy >= 0);
	while ((size = read(from, bytes, sizeof(bytes))) > 0)
		CHECK_EQ(write(copy, bytes, (size_t)size), size);
	CHECK_EQ(size, 0);
	close(from);
	return copy;
}

static void a_file_is_one_module(void)
{
	begin();
	struct module *module = mapped_by(100);
	CHECK_EQ(module->state, MODULE_UNASKED);
	answer(module, copy_of_this_program());
	CHECK_EQ(module->state, MODULE_READY);
	CHECK(mapped_by(101) == module);
	CHECK_EQ(module->state, MODULE_READY);
	end();
}

/* What is written through another mapping is generated code, as .NET's; a program may lie in a memfd as well. */
static void a_memfd_is_generated_code_where_it_is_shared(void)
{
	static const struct {
		const char *path;
		bool shared, generated;
	} cases[] = {
		{"/memfd:doublemapper (deleted)", true, true},
		{"/memfd:doublemapper (deleted)", false, false},
		{"/tmp/memfd:x", true, false},
		{"", false, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		const struct mapping map = {.start = 0x1000,
					    .end = 0x2000,
					    .identity.inode = 7,
					    .shared = cases[i].shared};
		CHECK_EQ(process_table_mmap(processes, 100, &map, cases[i].path, true), 0);
		struct process *process = process_table_find(processes, 100);
		const struct module *module =
			modules_of_map(&modules, process, process_mapping_at(process, map.start));
		CHECK(module);
		CHECK_EQ(module->row.kind, cases[i].generated ? MODULE_ANON : MODULE_FILE);
		end();
	}
}

static void a_rewritten_file_is_another(void)
{
	begin();
	struct module *module = mapped_by(100);
	int fd = copy_of_this_program(), file = dup(fd);
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
	answer(module, fd);
	CHECK_EQ(module->state, MODULE_READY);
	/* Its header and build-id are the same. */
	CHECK_EQ(futimens(file, times), 0);
	struct module *other = mapped_by(101);
	CHECK(other != module);
	CHECK_EQ(other->state, MODULE_UNASKED);
	close(file);
	end();
}

static void what_could_not_be_read_is_asked_for_again(void)
{
	begin();
	struct module *module = mapped_by(100);
	answer(module, memfd_create("empty", MFD_CLOEXEC));
	CHECK_EQ(module->state, MODULE_FAILED);
	CHECK(mapped_by(101) == module);
	CHECK_EQ(module->state, MODULE_UNASKED);
	answer(module, -1);
	CHECK_EQ(module->state, MODULE_FAILED);
	mapped_by(102);
	CHECK_EQ(module->state, MODULE_UNASKED);
	answer(module, copy_of_this_program());
	CHECK_EQ(module->state, MODULE_READY);
	end();
}

static void what_somebody_died_of_is_not(void)
{
	begin();
	struct module *module = mapped_by(100);
	answer(module, -1);
	module->unreadable = STACK_REASON_UNREADABLE;
	CHECK(mapped_by(101) == module);
	CHECK_EQ(module->state, MODULE_FAILED);
	end();
}

int main(void)
{
	RUN(a_file_is_one_module);
	RUN(a_memfd_is_generated_code_where_it_is_shared);
	RUN(a_rewritten_file_is_another);
	RUN(what_could_not_be_read_is_asked_for_again);
	RUN(what_somebody_died_of_is_not);
	return test_done();
}

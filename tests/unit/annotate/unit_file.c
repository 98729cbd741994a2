/* SPDX-License-Identifier: MIT */
/* A disassembler that has fallen says any unit's id: it gets the file that its module names for a unit of that id, or none. */
#include "main/annotate/unit_file.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/child/child.h>

#include "../test.h"

enum { OTHER_USER = 65534 };

static char directory[] = "/tmp/ctop-test-XXXXXX";
static struct unit_file file;

static const char *path_of(const char *name)
{
	static char path[64];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static bool shell(const char *command)
{
	char whole[PATH_MAX];
	snprintf(whole, sizeof(whole), "cd %s && { %s; } >/dev/null 2>&1", directory, command);
	return system(whole) == 0;
}

/* The id that binutils reads in a program; 0: none. */
static uint64_t unit_of(const char *name)
{
	char command[128], line[256];
	uint64_t unit = 0;
	snprintf(command, sizeof(command), "readelf --debug-dump=info '%s' 2>/dev/null",
		 path_of(name));
	FILE *pipe = popen(command, "re");
	CHECK(pipe != NULL);
	while (fgets(line, sizeof(line), pipe)) {
		const char *at = strstr(line, "DWO ID:");
		if (at && !unit)
			unit = strtoull(at + strlen("DWO ID:"), NULL, 16);
	}
	pclose(pipe);
	return unit;
}

static int taken_fd;
static bool is_taken;

static void take(void *context, int fd)
{
	(void)context;
	taken_fd = fd;
	is_taken = true;
}

/* What a disassembler of the program gets for that id: the inode of the file; 0: nothing. */
static ino_t given(const char *program, uint64_t unit)
{
	struct stat status;
	const int namer_fd = open(path_of(program), O_RDONLY | O_CLOEXEC);
	CHECK(namer_fd >= 0 && fstat(namer_fd, &status) == 0);
	const struct history_module_facts module = {
		.path = path_of(program),
		.kind = MODULE_FILE,
		.identity = {.inode = status.st_ino, .owner_plus_1 = status.st_uid + 1},
	};
	is_taken = false;
	unit_file_ask(&file, unit, namer_fd, NULL, &module, 0, take, NULL);
	while (!is_taken) {
		struct pollfd fds[] = {{.fd = opener_fd(file.opener), .events = POLLIN},
				       {.fd = prober_fd(file.prober), .events = POLLIN}};
		CHECK(poll(fds, 2, 60000) > 0);
		opener_serve(file.opener);
		prober_serve(file.prober);
	}
	close(namer_fd);
	if (taken_fd < 0)
		return 0;
	CHECK_EQ(fstat(taken_fd, &status), 0);
	close(taken_fd);
	return status.st_ino;
}

static ino_t inode_of(const char *name)
{
	struct stat status;
	CHECK_EQ(stat(path_of(name), &status), 0);
	return status.st_ino;
}

static void build(void)
{
	if (!shell("echo 'int main(void) { return 0; }' >a.c && echo 'int f(void) { return 1; }' "
		   ">b.c && "
		   "gcc -g -gdwarf-5 -gsplit-dwarf -c a.c && gcc a.o -o a && "
		   "gcc -g -gdwarf-5 -gsplit-dwarf -c b.c && gcc a.o b.o -o both && gcc -g a.c -o "
		   "whole"))
		SKIP("gcc is not installed");
	CHECK(unit_of("a") != 0);
}

static void the_file_that_the_module_names(void)
{
	build();
	CHECK_EQ(given("a", unit_of("a")), inode_of("a.dwo"));
	CHECK_EQ(given("both", unit_of("b.o")), inode_of("b.dwo"));
}

static void no_file_of_a_unit_that_nothing_names(void)
{
	build();
	const uint64_t unit = unit_of("a");
	CHECK_EQ(given("a", unit ^ 1), 0);
	CHECK_EQ(given("a", 0), 0);
	CHECK_EQ(given("a", UINT64_MAX), 0);
	/* There is such a file, which another program names. */
	CHECK_EQ(given("a", unit_of("b.o")), 0);
	CHECK_EQ(given("whole", unit), 0);
}

static void no_other_file_in_its_place(void)
{
	build();
	const uint64_t unit = unit_of("a");
	CHECK(shell("cp b.dwo a.dwo"));
	CHECK_EQ(given("a", unit), 0);
	CHECK(shell("ln -sf /etc/shadow a.dwo"));
	CHECK_EQ(given("a", unit), 0);
	CHECK(shell("ln -sf /proc/self/maps a.dwo"));
	CHECK_EQ(given("a", unit), 0);
	CHECK(shell("rm a.dwo && mkfifo a.dwo"));
	CHECK_EQ(given("a", unit), 0);
	CHECK(shell("rm a.dwo && : >a.dwo"));
	CHECK_EQ(given("a", unit), 0);
}

static void no_file_of_another_user(void)
{
	if (geteuid() != 0)
		SKIP("only root can make one");
	build();
	CHECK_EQ(chown(path_of("a.dwo"), OTHER_USER, OTHER_USER), 0);
	CHECK_EQ(given("a", unit_of("a")), 0);
}

int main(int argc, char **argv)
{
	static const char child_option[] = "--child=";
	if (argc > 1 && !strncmp(argv[1], child_option, strlen(child_option)))
		return child_main(argv[1] + strlen(child_option));
	if (!mkdtemp(directory))
		return 1;
	file = (struct unit_file){.opener = opener_new(), .prober = prober_new(), .fd = -1};
	RUN(the_file_that_the_module_names);
	RUN(no_file_of_a_unit_that_nothing_names);
	RUN(no_other_file_in_its_place);
	RUN(no_file_of_another_user);
	opener_free(file.opener);
	prober_free(file.prober);
	shell("rm -f a* b* whole");
	rmdir(directory);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Code of this program itself, by children of it. */
#include <ctop/annotate/code_finder.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/child/child.h>

#include "../test.h"

extern const char __executable_start[];

int first_function(int number);
int second_function(int number);

__attribute__((noinline)) int first_function(int number)
{
	return number * 3 + 1;
}

__attribute__((noinline)) int second_function(int number)
{
	return number / 2 - 5;
}

struct taken {
	unsigned nr;
	int error;
	uint64_t start;
};

static void take(void *context, int error, struct code *code)
{
	struct taken *taken = context;
	taken->nr++;
	taken->error = error;
	taken->start = error ? 0 : code->listing->answer.start;
	code_release(code);
}

static struct code_request request_of(const char *name, int (*function)(int))
{
	static char path[PATH_MAX];
	struct stat status;
	const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	CHECK(size > 0 && stat("/proc/self/exe", &status) == 0);
	path[size] = '\0';
	return (struct code_request){
		.module = {.path = path,
			   .kind = MODULE_FILE,
			   .identity = {.device_major = major(status.st_dev),
					.device_minor = minor(status.st_dev),
					.inode = status.st_ino}},
		.start = (uint64_t)((uintptr_t)function - (uintptr_t)__executable_start),
		.name = name,
	};
}

static struct taken found(struct code_finder *finder, const struct code_request *request)
{
	struct taken taken = {0};
	code_finder_ask(finder, request, take, &taken);
	while (!taken.nr)
		code_finder_serve(finder, -1);
	CHECK(!code_finder_is_busy(finder));
	return taken;
}

/* At each step of the first search the second one begins. Returns how many steps there are. */
static int drop_at_each_step(struct code_finder *finder, const struct code_request *first,
			     const struct code_request *second)
{
	struct taken dropped = {0};
	int steps = 0;
	for (; !dropped.nr; steps++) {
		code_finder_ask(finder, first, take, &dropped);
		for (int i = 0; i < steps && !dropped.nr; i++)
			code_finder_serve(finder, -1);
		const unsigned before = dropped.nr;
		const struct taken taken = found(finder, second);
		CHECK_EQ(taken.error, 0);
		CHECK_EQ(taken.start, second->start);
		CHECK_EQ(dropped.nr, before);
	}
	CHECK_EQ(dropped.start, first->start);
	return steps - 1;
}

/* While the file of the second one is waited for, the listing of the first one comes: it is nobody's. */
static void drop_before_the_last_step(struct code_finder *finder, const struct code_request *first,
				      const struct code_request *second, int steps)
{
	struct taken dropped = {.nr = 1};
	while (dropped.nr) {
		dropped.nr = 0;
		code_finder_ask(finder, first, take, &dropped);
		for (int i = 1; i < steps && !dropped.nr; i++)
			code_finder_serve(finder, -1);
	}
	/* It stops a moment after that. */
	siginfo_t stopped;
	CHECK_EQ(kill(code_finder_pid(finder), SIGSTOP), 0);
	CHECK_EQ(waitid(P_PID, (id_t)code_finder_pid(finder), &stopped, WSTOPPED | WNOWAIT), 0);
	const struct taken taken = found(finder, second);
	CHECK_EQ(taken.error, -ETIMEDOUT);
	CHECK_EQ(dropped.nr, 0);
}

static void what_was_asked_before_is_dropped(void)
{
	const struct code_request first = request_of("first_function", first_function),
				  second = request_of("second_function", second_function);
	struct code_finder *finder = code_finder_new();
	if (found(finder, &first).error == -ENOSYS) {
		code_finder_free(finder);
		SKIP("libcapstone is not installed");
	}
	const int steps = drop_at_each_step(finder, &first, &second);
	drop_before_the_last_step(finder, &first, &second, steps);
	struct taken dropped = {0};
	code_finder_ask(finder, &first, take, &dropped);
	code_finder_forget(finder);
	CHECK(!code_finder_is_busy(finder));
	code_finder_serve(finder, 0);
	CHECK_EQ(dropped.nr, 0);
	code_finder_free(finder);
}

int main(int argc, char **argv)
{
	static const char child_option[] = "--child=";
	if (argc > 1 && !strncmp(argv[1], child_option, strlen(child_option)))
		return child_main(argv[1] + strlen(child_option));
	RUN(what_was_asked_before_is_dropped);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <ctop/output/output.h>
#include <ctop/output/save.h>

#include "test.h"

static char directory[] = "/tmp/ctop-output-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[600];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int open_as(struct output *output, enum output_way way, const char *path,
		   struct error *error)
{
	const struct output_request request = {
		.path = path,
		.option = "-o",
		.way = way,
		.is_recording = way == OUTPUT_KEEP_OLD,
		.wake_fd = -1,
	};
	*error = (struct error){0};
	return output_open(output, &request, error);
}

/* Refused with that code, a cause that has the word, and a remedy. */
static void refused(enum output_way way, const char *path, int code, const char *word)
{
	struct output output;
	struct error error;
	CHECK_EQ(open_as(&output, way, path, &error), code);
	if (!strstr(error.cause, word))
		printf("# %s\n", error.cause);
	CHECK(strstr(error.cause, word));
	CHECK(error.remedy[0]);
	CHECK_EQ(output.directory_fd, -1);
}

static void write_to(const struct output *output, const char *text)
{
	CHECK_EQ(write(output->fd, text, strlen(text)), strlen(text));
}

/* What is in a file; "(none)". */
static const char *content(const char *name)
{
	static char bytes[64];
	int fd = open(path_of(name), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return "(none)";
	ssize_t got = read(fd, bytes, sizeof(bytes) - 1);
	close(fd);
	bytes[got < 0 ? 0 : got] = '\0';
	return bytes;
}

static void a_recording_keeps_the_old_one(void)
{
	struct output output;
	struct error error;
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(open_as(&output, OUTPUT_KEEP_OLD, path_of("recording"), &error), 0);
		write_to(&output, i ? "two" : "one");
		CHECK_STR(content("recording"), i ? "two" : "one");
		CHECK_EQ(output_end(&output, 0), 0);
	}
	CHECK_STR(content("recording.old"), "one");
	char name[256 + 1];
	memset(name, 'n', 253);
	name[253] = '\0';
	for (int i = 0; i < 2; i++) {
		int result = open_as(&output, OUTPUT_KEEP_OLD, path_of(name), &error);
		CHECK_EQ(result, i ? -ENAMETOOLONG : 0);
		if (!result)
			output_end(&output, 0);
	}
	memset(name, 'n', 256);
	name[256] = '\0';
	refused(OUTPUT_KEEP_OLD, path_of(name), -ENAMETOOLONG, "too long");
}

static void a_text_replaces_the_old_one_at_the_end(void)
{
	struct output output;
	struct error error;
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, path_of("text"), &error), 0);
	write_to(&output, "one");
	CHECK_STR(content("text"), "(none)");
	CHECK_EQ(output_end(&output, 0), 0);
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, path_of("text"), &error), 0);
	write_to(&output, "two");
	CHECK_EQ(output_end(&output, -EIO), -EIO);
	CHECK_STR(content("text"), "one");
	/* A directory that came meanwhile is not replaced. */
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, path_of("late"), &error), 0);
	CHECK_EQ(mkdir(path_of("late"), 0700), 0);
	CHECK_EQ(output_end(&output, 0), -EISDIR);
	CHECK_EQ(rmdir(path_of("late")), 0);
}

static void a_new_one_replaces_nothing(void)
{
	struct output output;
	struct error error;
	CHECK_EQ(open_as(&output, OUTPUT_NEW, path_of("new"), &error), 0);
	write_to(&output, "one");
	CHECK_EQ(output_end(&output, 0), 0);
	CHECK_EQ(open_as(&output, OUTPUT_NEW, path_of("new"), &error), -EEXIST);
	CHECK_STR(content("new"), "one");
	CHECK_EQ(open_as(&output, OUTPUT_NEW, path_of("failed"), &error), 0);
	CHECK_EQ(output_end(&output, -ENOMEM), -ENOMEM);
	CHECK_STR(content("failed"), "(none)");
	CHECK_EQ(open_as(&output, OUTPUT_NEW, "/dev/stdout", &error), -EEXIST);
	CHECK_EQ(symlink("nowhere", path_of("link")), 0);
	CHECK_EQ(open_as(&output, OUTPUT_NEW, path_of("link"), &error), -EEXIST);
}

static void what_is_no_file(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	CHECK_EQ(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(symlink("socket", path_of("a link")), 0);
	for (enum output_way way = OUTPUT_KEEP_OLD; way <= OUTPUT_REPLACE; way++) {
		refused(way, path_of("a link"), -ELOOP, "symbolic link");
		refused(way, directory, -EISDIR, "directory");
		refused(way, path_of(""), -EISDIR, "directory");
		refused(way, path_of("."), -EISDIR, "directory");
		refused(way, path_of("recording/x"), -ENOTDIR, "Not a directory");
		refused(way, "", -ENOENT, "No such file");
		refused(way, path_of("socket"), -ENXIO, "No such device");
	}
	close(fd);
	static char deep[PATH_MAX + 100];
	memset(deep, 'd', sizeof(deep) - 1);
	strcpy(deep + sizeof(deep) - 3, "/x");
	refused(OUTPUT_REPLACE, deep, -ENAMETOOLONG, "too long");
}

static void fifos_and_devices(void)
{
	struct output output;
	struct error error;
	CHECK_EQ(mkfifo(path_of("fifo"), 0600), 0);
	int reader = open(path_of("fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(reader >= 0);
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, path_of("fifo"), &error), 0);
	CHECK_EQ(fcntl(output.fd, F_GETFL) & O_NONBLOCK, 0);
	CHECK_EQ(output_end(&output, 0), 0);
	close(reader);
	CHECK_EQ(open_as(&output, OUTPUT_KEEP_OLD, "/dev/null", &error), 0);
	CHECK_EQ(output_end(&output, 0), 0);
	/* Not by the name that nobody gave. */
	struct output_request request = {.path = path_of("fifo"),
					 .option = "-o",
					 .way = OUTPUT_KEEP_OLD,
					 .by_default = true,
					 .is_recording = true,
					 .wake_fd = -1};
	CHECK_EQ(output_open(&output, &request, &error), -EEXIST);
	CHECK(strstr(error.cause, "not a regular file"));
	/* Nobody reads it, and nobody wants to wait. */
	int ends[2];
	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	CHECK_EQ(write(ends[1], "", 1), 1);
	request.by_default = false;
	request.wake_fd = ends[0];
	CHECK_EQ(output_open(&output, &request, &error), -EINTR);
	close(ends[0]);
	close(ends[1]);
}

static void fifos_of_others(void)
{
	struct output output;
	struct error error;
	if (geteuid() != 0)
		SKIP("needs root");
	CHECK_EQ(mkfifo(path_of("theirs"), 0666), 0);
	CHECK_EQ(chown(path_of("theirs"), 65534, 65534), 0);
	int reader = open(path_of("theirs"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	static const char *const others[] = {"",   "0",	     "x",	   "65533",	 "065534",
					     "-1", "65534 ", "4295032830", "99999999999"};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		setenv("SUDO_UID", others[i], 1);
		refused(OUTPUT_REPLACE, path_of("theirs"), -EPERM, "another user");
	}
	setenv("SUDO_UID", "65534", 1);
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, path_of("theirs"), &error), 0);
	CHECK_EQ(output_end(&output, 0), 0);
	unsetenv("SUDO_UID");
	refused(OUTPUT_REPLACE, path_of("theirs"), -EPERM, "another user");
	close(reader);
}

static void terminals(void)
{
	struct output output;
	struct error error;
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	char name[64];
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) ||
	    ptsname_r(terminal, name, sizeof(name)))
		SKIP("no terminal is to be had");
	int fd = open(name, O_RDWR | O_NOCTTY); /* as one that was inherited */
	char number[32];
	snprintf(number, sizeof(number), "/dev/fd/%d", fd);
	refused(OUTPUT_KEEP_OLD, name, -ENOTTY, "not for a terminal");
	refused(OUTPUT_KEEP_OLD, number, -ENOTTY, "not for a terminal");
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, name, &error), 0);
	CHECK_EQ(output_end(&output, 0), 0);
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, number, &error), 0);
	CHECK_EQ(output_end(&output, 0), 0);
	close(fd);
	close(terminal);
}

static void descriptors(void)
{
	struct output output;
	struct error error;
	static const char *const none[] = {
		"/dev/fd/",   "/dev/fd/x", "/dev/fd/01", "/dev/fd/-1", "/dev/fd/4294967297",
		"/dev/fd/1x", "/dev/fd",   "x",		 "/dev/stdin"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK_EQ(output_descriptor(none[i]), -1);
	CHECK_EQ(output_descriptor("-"), 1);
	CHECK_EQ(output_descriptor("/dev/stdout"), 1);
	CHECK_EQ(output_descriptor("/dev/stderr"), 2);
	CHECK_EQ(output_descriptor("/proc/self/fd/23"), 23);
	char name[32];
	int ends[2];
	CHECK_EQ(pipe(ends), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	CHECK_EQ(open_as(&output, OUTPUT_REPLACE, name, &error), 0);
	CHECK(output.fd != ends[1] && fcntl(output.fd, F_GETFD) & FD_CLOEXEC);
	/* No more descriptors: said, too. */
	struct rlimit limit, low;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)output.fd;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	struct output another;
	int result = open_as(&another, OUTPUT_REPLACE, name, &error);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK(result == -EINVAL || result == -EMFILE);
	CHECK_EQ(output_end(&output, 0), 0);
	/* Ours, not theirs. */
	CHECK_EQ(fcntl(ends[1], F_SETFD, FD_CLOEXEC), 0);
	refused(OUTPUT_REPLACE, name, -EBADF, "no such descriptor");
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	refused(OUTPUT_REPLACE, name, -EBADF, "not open for writing");
	close(ends[0]);
	close(ends[1]);
	refused(OUTPUT_REPLACE, name, -EBADF, "no such descriptor");
}

static void what_is_saved(void)
{
	struct error error = {0};
	struct text text = {0};
	text_add(&text, "text\n");
	CHECK_EQ(save_text(path_of("saved"), "--stats", &text, -1, &error), 0);
	CHECK_STR(content("saved"), "text\n");
	CHECK_EQ(save_text("/dev/full", "--stats", &text, -1, &error), -ENOSPC);
	CHECK(strstr(error.cause, "/dev/full") && strstr(error.remedy, "--stats FILE"));
	/* Standard output, as it is found. */
	int before = dup(STDOUT_FILENO);
	static const char *const outputs[] = {"/dev/null", "/dev/full", "/dev/zero"};
	int results[3];
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		int fd = open(outputs[i], i < 2 ? O_WRONLY : O_RDONLY);
		dup2(fd, STDOUT_FILENO);
		close(fd);
		results[i] = save_text(i == 1 ? "-" : NULL, NULL, &text, -1, &error);
	}
	dup2(before, STDOUT_FILENO);
	close(before);
	CHECK_EQ(results[0], 0);
	CHECK_EQ(results[1], -ENOSPC);
	CHECK_EQ(results[2], -EBADF);
	CHECK(strstr(error.cause, "standard output") && error.remedy[0]);
	text.failed = true;
	CHECK_EQ(save_text(NULL, NULL, &text, -1, &error), -ENOMEM);
	text_release(&text);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	RUN(a_recording_keeps_the_old_one);
	RUN(a_text_replaces_the_old_one_at_the_end);
	RUN(a_new_one_replaces_nothing);
	RUN(what_is_no_file);
	RUN(fifos_and_devices);
	RUN(fifos_of_others);
	RUN(terminals);
	RUN(descriptors);
	RUN(what_is_saved);
	char remove[64];
	snprintf(remove, sizeof(remove), "rm -rf %s", directory);
	return system(remove) ? 1 : test_done();
}

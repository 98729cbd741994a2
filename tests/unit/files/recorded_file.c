/* SPDX-License-Identifier: MIT */
/* Files of mappings that were recorded: only what proves to be the same. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/files/locate.h>

#include "proved.h"
#include "test.h"

static const uint8_t other_id[20] = {1, 2, 3};

static bool is_file(int fd, const char *path)
{
	struct stat opened, wanted;
	bool same = fd >= 0 && fstat(fd, &opened) == 0 && stat(path, &wanted) == 0 &&
		    opened.st_ino == wanted.st_ino && opened.st_dev == wanted.st_dev;
	if (fd >= 0)
		close(fd);
	return same;
}

/* A file of ours, as a mapping of a process that never was. */
static void make_file(char path[64], struct locate_request *request)
{
	struct stat stat;
	snprintf(path, 64, "/tmp/ctop-test-XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "bytes", 5), 5);
	CHECK_EQ(fstat(fd, &stat), 0);
	close(fd);
	*request = (struct locate_request){
		.pid = 1,
		.path = path,
		.device_major = major(stat.st_dev),
		.device_minor = minor(stat.st_dev),
		.inode = stat.st_ino,
	};
}

static void device_and_inode_prove_it(void)
{
	char path[64];
	struct locate_request request;
	make_file(path, &request);
	/* Anybody can write a recording that claims another's file: root gives only what everybody may read. */
	CHECK_EQ(is_file(recorded_module(&request), path), geteuid() != 0);
	CHECK_EQ(chmod(path, 0644), 0);
	bool found = is_file(recorded_module(&request), path);
	request.inode++;
	int other = recorded_module(&request);
	request.inode = 0;
	int unknown = recorded_module(&request);
	unlink(path);
	CHECK(found);
	CHECK_EQ(other, -ESTALE);
	CHECK_EQ(unknown, -ESTALE);
	CHECK_EQ(recorded_module(&request), -ENOENT);
}

/* A build-id that was recorded is not outdone by a path or an inode. */
static void a_build_id_decides(void)
{
	char path[64];
	struct locate_request request;
	make_file(path, &request);
	request.build_id = other_id;
	request.build_id_size = sizeof(other_id);
	int fd = recorded_module(&request);
	unlink(path);
	CHECK_EQ(fd, -ESTALE);
}

/* Not our own link to it, whatever the pid: only a path of the recording's. */
static void a_pid_means_nothing(void)
{
	char path[64];
	struct locate_request request;
	make_file(path, &request);
	request.pid = getpid();
	request.path = "/nowhere/ctop-test";
	int fd = recorded_module(&request);
	unlink(path);
	CHECK_EQ(fd, -ENOENT);
	request.path = "relative";
	CHECK_EQ(recorded_module(&request), -EINVAL);
}

static void only_regular_files(void)
{
	struct stat stat_of;
	CHECK_EQ(stat("/dev/null", &stat_of), 0);
	const struct locate_request request = {.path = "/dev/null", .inode = stat_of.st_ino};
	CHECK_EQ(recorded_module(&request), -EINVAL);
}

static int vdso_of(size_t build_id_size)
{
	const struct recorded_kernel kernel = {
		.build_id = other_id, .build_id_size = build_id_size, .release = ""};
	return locate_recorded_vdso(&kernel);
}

static int kernel_of(size_t build_id_size, uint64_t text, const char *release)
{
	const struct recorded_kernel kernel = {
		.build_id = other_id,
		.build_id_size = build_id_size,
		.text_address = text,
		.release = release,
	};
	int fd = locate_recorded_kernel(&kernel);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void the_vdso_needs_a_proof(void)
{
	struct locate_request request = {.path = "[vdso]", .inode = 1};
	CHECK_EQ(recorded_module(&request), -ESTALE);
	request.build_id = other_id;
	request.build_id_size = sizeof(other_id);
	CHECK_EQ(recorded_module(&request), -ESTALE);
	CHECK_EQ(vdso_of(sizeof(other_id)), -ESTALE);
	CHECK_EQ(vdso_of(0), -ESTALE);
}

/* 0: they are hidden. */
static uint64_t own_text(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	uint64_t address = 0, found = 0;
	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) == 2 &&
		    !strcmp(name, "_text"))
			found = address;
	if (file)
		fclose(file);
	return found;
}

static void another_kernel_has_no_names(void)
{
	CHECK_EQ(kernel_of(sizeof(other_id), 0xffffffff81000000, ""), -ESTALE);
	CHECK_EQ(kernel_of(0, 0xffffffff81000000, ""), -ESTALE);
	CHECK_EQ(kernel_of(sizeof(other_id), 0, ""), -ESTALE);
	/* Without a build-id: the release, and where it was put. */
	struct utsname own;
	CHECK_EQ(uname(&own), 0);
	uint64_t text = own_text();
	if (!text)
		SKIP("the kernel's addresses are hidden");
	CHECK_EQ(kernel_of(0, text, own.release), 0);
	CHECK_EQ(kernel_of(0, text + 0x200000, own.release), -ESTALE);
	CHECK_EQ(kernel_of(0, 0, own.release), -ESTALE);
	CHECK_EQ(kernel_of(0, text, "6.1.0-other"), -ESTALE);
	CHECK_EQ(kernel_of(0, text, ""), -ESTALE);
	/* A build-id is not outvoted. */
	CHECK_EQ(kernel_of(sizeof(other_id), text, own.release), -ESTALE);
}

int main(void)
{
	RUN(device_and_inode_prove_it);
	RUN(a_build_id_decides);
	RUN(a_pid_means_nothing);
	RUN(only_regular_files);
	RUN(the_vdso_needs_a_proof);
	RUN(another_kernel_has_no_names);
	return test_done();
}

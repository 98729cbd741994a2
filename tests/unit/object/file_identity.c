/* SPDX-License-Identifier: MIT */
/* Whose a file is, and when that is not believed. */
#include <ctop/object/file_identity.h>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static int open_file(const char *path, mode_t mode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(fchmod(fd, mode), 0);
	return fd;
}

static void the_owner_where_nobody_else_writes(void)
{
	char path[] = "/tmp/ctop-test-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	if (geteuid() == 0)
		CHECK_EQ(fchown(fd, 1234, 0), 0);
	const uint32_t expected = geteuid() == 0 ? 1234 + 1 : geteuid() + 1;
	CHECK_EQ(file_identity(fd).owner_plus_1, expected);
	CHECK_EQ(fchmod(fd, 0602), 0);
	CHECK_EQ(file_identity(fd).owner_plus_1, 0);
	struct stat status;
	CHECK_EQ(fstat(fd, &status), 0);
	CHECK_EQ(file_identity(fd).inode, status.st_ino);
	close(fd);
	unlink(path);
}

/* A file system of its own, mounted on a folder; entered in a mount namespace that ends with the process. */
static void mount_apart(const char *folder, unsigned long flags)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespace may be made");
	CHECK_EQ(mount("tmpfs", folder, "tmpfs", flags, NULL), 0);
	CHECK_EQ(chdir(folder), 0);
}

static void in_child(void (*part)(const char *folder), const char *folder)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int how = setjmp(test_leave);
		if (how == 0)
			part(folder);
		fflush(stdout);
		_exit(how);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == TEST_SKIPPED)
		SKIP("no mount namespace may be made");
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void look_at_mounts(const char *folder)
{
	mount_apart(folder, 0);
	int fd = open_file("program", 0755);
	CHECK_EQ(file_identity(fd).owner_plus_1, MODULE_OWNED_BY_ROOT);
	CHECK_EQ(fchmod(fd, 0775), 0);
	CHECK_EQ(file_identity(fd).owner_plus_1, 0);
	CHECK_EQ(fchmod(fd, 0755), 0);
	/* The same file, seen from where its mount is not. */
	CHECK_EQ(unshare(CLONE_NEWNS), 0);
	CHECK_EQ(file_identity(fd).owner_plus_1, 0);
	int here = open("program", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(file_identity(here).owner_plus_1, MODULE_OWNED_BY_ROOT);
	close(here);
	close(fd);
}

static void look_at_nosuid(const char *folder)
{
	mount_apart(folder, MS_NOSUID);
	int fd = open_file("program", 0755);
	CHECK_EQ(file_identity(fd).owner_plus_1, 0);
	CHECK_EQ(fchown(fd, 1234, 0), 0);
	CHECK_EQ(file_identity(fd).owner_plus_1, 1234 + 1);
	close(fd);
}

static void root_where_it_is_mounted_here(void)
{
	char folder[] = "/tmp/ctop-test-XXXXXX";
	if (geteuid() != 0)
		SKIP("not root");
	CHECK(mkdtemp(folder) != NULL);
	in_child(look_at_mounts, folder);
	in_child(look_at_nosuid, folder);
	rmdir(folder);
}

int main(void)
{
	RUN(the_owner_where_nobody_else_writes);
	RUN(root_where_it_is_mounted_here);
	return test_done();
}

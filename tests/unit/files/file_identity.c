/* SPDX-License-Identifier: MIT */
/* Whose a file is, and when that is not believed. */
#include <ctop/files/file_identity.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/nsfs.h>

#include "in_child.h"
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
	CHECK_EQ(file_identity(fd, 0).owner_plus_1, expected);
	CHECK_EQ(fchmod(fd, 0602), 0);
	CHECK_EQ(file_identity(fd, 0).owner_plus_1, 0);
	struct stat status;
	CHECK_EQ(fstat(fd, &status), 0);
	CHECK_EQ(file_identity(fd, 0).inode, status.st_ino);
	close(fd);
	unlink(path);
}

/* A file system of its own, mounted on a directory; entered in a mount namespace that ends with the process. */
static void mount_apart(const char *directory, unsigned long flags)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespace may be made");
	CHECK_EQ(mount("tmpfs", directory, "tmpfs", flags, NULL), 0);
	CHECK_EQ(chdir(directory), 0);
}

static void look_at_mounts(void *directory)
{
	mount_apart(directory, 0);
	int fd = open_file("program", 0755);
	CHECK_EQ(file_identity(fd, 0).owner_plus_1, MODULE_OWNED_BY_ROOT);
	CHECK_EQ(fchmod(fd, 0775), 0);
	CHECK_EQ(file_identity(fd, 0).owner_plus_1, 0);
	close(fd);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(1);
	close(fd);
}

/* A process in namespaces of its own, where it has mounted a file system with a program of root's. 0: it may not. */
static pid_t start_apart(const char *directory, int namespaces)
{
	int said[2];
	char byte;
	CHECK_EQ(pipe(said), 0);
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(namespaces))
			_exit(1);
		if (namespaces & CLONE_NEWUSER) {
			write_file("/proc/self/setgroups", "deny");
			write_file("/proc/self/uid_map", "0 0 1");
			write_file("/proc/self/gid_map", "0 0 1");
		}
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", directory, "tmpfs", 0, NULL) || chdir(directory) ||
		    close(open("program", O_RDWR | O_CREAT, 0755)) || write(said[1], "r", 1) != 1)
			_exit(1);
		while (true)
			pause();
	}
	close(said[1]);
	const bool is_there = read(said[0], &byte, 1) == 1;
	close(said[0]);
	if (is_there)
		return pid;
	waitpid(pid, NULL, 0);
	SKIP("such namespaces may not be made");
}

static uint32_t owner_elsewhere(const char *directory, int namespaces, bool says_who)
{
	char path[128];
	struct stat status;
	const pid_t pid = start_apart(directory, namespaces);
	snprintf(path, sizeof(path), "/proc/%d/root%s/program", pid, directory);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == 0);
	const uint32_t owner = file_identity(fd, says_who ? pid : 0).owner_plus_1;
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return owner;
}

/* Emulators of processors do not pass it on. */
static bool tells_owners_of_namespaces(void)
{
	int mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	int users = ioctl(mounts, NS_GET_USERNS);
	close(users);
	close(mounts);
	return users >= 0;
}

static void root_in_containers_that_root_made(void)
{
	char directory[] = "/tmp/ctop-test-XXXXXX";
	if (geteuid() != 0)
		SKIP("not root");
	if (!tells_owners_of_namespaces())
		SKIP("nobody tells here whose a mount namespace is");
	CHECK(mkdtemp(directory) != NULL);
	CHECK_EQ(owner_elsewhere(directory, CLONE_NEWNS, true), MODULE_OWNED_BY_ROOT);
	CHECK_EQ(owner_elsewhere(directory, CLONE_NEWNS, false), 0);
	CHECK_EQ(owner_elsewhere(directory, CLONE_NEWNS | CLONE_NEWUSER, true), 0);
	rmdir(directory);
}

static void look_at_nosuid(void *directory)
{
	mount_apart(directory, MS_NOSUID);
	int fd = open_file("program", 0755);
	CHECK_EQ(file_identity(fd, 0).owner_plus_1, 0);
	CHECK_EQ(fchown(fd, 1234, 0), 0);
	CHECK_EQ(file_identity(fd, 0).owner_plus_1, 1234 + 1);
	close(fd);
}

static void root_where_it_is_mounted_here(void)
{
	char directory[] = "/tmp/ctop-test-XXXXXX";
	if (geteuid() != 0)
		SKIP("not root");
	CHECK(mkdtemp(directory) != NULL);
	in_child(look_at_mounts, directory);
	in_child(look_at_nosuid, directory);
	rmdir(directory);
}

int main(void)
{
	RUN(the_owner_where_nobody_else_writes);
	RUN(root_where_it_is_mounted_here);
	RUN(root_in_containers_that_root_made);
	return test_done();
}

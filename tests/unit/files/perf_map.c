/* SPDX-License-Identifier: MIT */
#include <ctop/files/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "apart.h"
#include "test.h"

enum { SOMEBODY = 12345, SOMEBODY_ELSE = 12346 };

static const char *map_path(pid_t pid)
{
	static char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	return path;
}

static int make_map(pid_t pid)
{
	int fd = open(map_path(pid), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool written = fd >= 0 && write(fd, "1000 10 f\n", 10) == 10;
	close(fd);
	return written ? 0 : -1;
}

/* Closes what was opened; -errno or 0. */
static int locate(pid_t pid)
{
	int fd = locate_perf_map(pid);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* ---- a /tmp of the test's own, seen by its child processes too ---- */

static int in_own_tmp(void)
{
	const pid_t pid = getpid();
	if (!own_mounts() || mount("none", "/tmp", "tmpfs", 0, "mode=1777") != 0)
		return NOT_POSSIBLE;

	EXPECT(locate(pid) == -ENOENT);
	EXPECT(make_map(pid) == 0);
	int fd = locate_perf_map(pid);
	char bytes[10];
	EXPECT(fd >= 0 && read(fd, bytes, sizeof(bytes)) == 10 && bytes[0] == '1');
	EXPECT((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);

	/* Anybody could have put it there. */
	EXPECT(chown(map_path(pid), SOMEBODY, SOMEBODY) == 0);
	EXPECT(locate(pid) == -EPERM);
	EXPECT(chown(map_path(pid), 0, 0) == 0);
	/* Another file of the owner's under this name. */
	EXPECT(link(map_path(pid), "/tmp/other") == 0);
	EXPECT(locate(pid) == -EPERM);
	EXPECT(unlink("/tmp/other") == 0);
	EXPECT(locate(pid) == 0);

	EXPECT(truncate(map_path(pid), LOCATE_PERF_MAP_MAX) == 0);
	EXPECT(locate(pid) == 0);
	EXPECT(truncate(map_path(pid), LOCATE_PERF_MAP_MAX + 1) == 0);
	EXPECT(locate(pid) == -EFBIG);

	EXPECT(rename(map_path(pid), "/tmp/target") == 0);
	EXPECT(truncate("/tmp/target", 10) == 0);
	EXPECT(symlink("/tmp/target", map_path(pid)) == 0);
	EXPECT(locate(pid) == -EINVAL);
	EXPECT(unlink(map_path(pid)) == 0);
	EXPECT(mkfifo(map_path(pid), 0600) == 0);
	EXPECT(locate(pid) == -EINVAL);
	EXPECT(unlink(map_path(pid)) == 0);
	EXPECT(mkdir(map_path(pid), 0700) == 0);
	EXPECT(locate(pid) == -EINVAL);
	return 0;
}

static void what_lies_in_tmp(void)
{
	int result = run_apart(in_own_tmp);
	if (result == NOT_POSSIBLE)
		SKIP("no mount namespaces here");
	CHECK_EQ(result, 0);
}

static bool become_somebody(void)
{
	return setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0;
}

static int of_another_user(void)
{
	if (!own_mounts() || mount("none", "/tmp", "tmpfs", 0, "mode=1777") != 0)
		return NOT_POSSIBLE;
	struct apart apart;
	apart_start(&apart, become_somebody);
	EXPECT(apart.ready);
	EXPECT(make_map(apart.pid) == 0);
	EXPECT(locate(apart.pid) == 0); /* root's */
	EXPECT(chown(map_path(apart.pid), SOMEBODY, SOMEBODY) == 0);
	EXPECT(locate(apart.pid) == 0); /* the process's own */
	EXPECT(chown(map_path(apart.pid), SOMEBODY_ELSE, SOMEBODY_ELSE) == 0);
	EXPECT(locate(apart.pid) == -EPERM);
	apart_end(&apart);
	EXPECT(locate(apart.pid) == -ENOENT);
	return 0;
}

static void the_owner_is_the_process_or_root(void)
{
	int result = run_apart(of_another_user);
	if (result == NOT_POSSIBLE)
		SKIP("no mount namespaces here");
	CHECK_EQ(result, 0);
}

/* ---- a container: its own pids, its own /tmp ---- */

static bool make_map_elsewhere(void)
{
	return own_mounts() && mount("none", "/tmp", "tmpfs", 0, "mode=1777") == 0 &&
	       make_map(getpid()) == 0 && getpid() == 1;
}

static int in_a_pid_namespace(void)
{
	if (unshare(CLONE_NEWPID) != 0)
		return NOT_POSSIBLE;
	struct apart apart;
	apart_start(&apart, make_map_elsewhere); /* pid 1 in there */
	if (!apart.ready)
		return NOT_POSSIBLE;
	EXPECT(apart.pid != 1);
	EXPECT(locate(apart.pid) == 0);
	apart_end(&apart);
	return 0;
}

static void another_pid_namespace(void)
{
	int result = run_apart(in_a_pid_namespace);
	if (result == NOT_POSSIBLE)
		SKIP("no pid namespaces here");
	CHECK_EQ(result, 0);
}

static void a_process_that_is_not_there(void)
{
	CHECK_EQ(locate(INT32_MAX), -ENOENT);
	CHECK_EQ(locate(0), -ENOENT);
	CHECK_EQ(locate(-1), -ENOENT);
	CHECK_EQ(locate(INT32_MIN), -ENOENT);
}

int main(void)
{
	RUN(what_lies_in_tmp);
	RUN(the_owner_is_the_process_or_root);
	RUN(another_pid_namespace);
	RUN(a_process_that_is_not_there);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What a child has in its jail: no privileges, walls, limits. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "jail_report.h"

/* Whether that works here: found out by a process of its own. */
static bool can(bool (*try)(void))
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		_exit(try() ? 0 : 1);
	int status = -1;
	CHECK_EQ(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Root of a user namespace without that id, or root without the capability, can't. */
static bool become_nobody(void)
{
	return geteuid() == 0 && !setresuid(65534, 65534, 65534);
}

static bool become_somebody(void)
{
	const uid_t id = 0x78000000;
	return geteuid() == 0 && !setresgid(id, id, id) && !setresuid(id, id, id);
}

static bool leave_namespaces(void)
{
	enum { ALL = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS };
	return !unshare(ALL) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("test", "/proc", "tmpfs", MS_RDONLY, NULL);
}

/* 0: the kernel has none. */
static long landlock_version(void)
{
	enum { CREATE_RULESET = 444, VERSION = 1 };
	long version = syscall(CREATE_RULESET, NULL, (size_t)0, VERSION);
	return version < 0 ? 0 : version;
}

static bool may_drop_bounding_set(void)
{
	char value[256];
	enum { CAP_SETPCAP_BIT = 1 << 8 };
	return strtoull(status_line(getpid(), "CapEff", value), NULL, 16) & CAP_SETPCAP_BIT;
}

static void a_child_has_no_privileges(void)
{
	struct jail_child child;
	struct report report;
	char value[256], ids[64];
	CHECK_EQ(jail_spawn("stay", &child), 0);
	CHECK(read_report(&child, &report));
	CHECK_EQ(report.entered, 0);
	CHECK(!report.can_become_root);
	CHECK_EQ(report.dumpable, 0);
	if (may_drop_bounding_set())
		CHECK_STR(status_line(child.pid, "CapBnd", value), "0000000000000000");
	if (can(become_nobody)) {
		/* Somebody that nobody else is. */
		CHECK(report.walls & JAIL_OWN_ID ? report.user >= 0x78000000
						 : report.user == 65534);
		CHECK_EQ(report.group, report.user);
		snprintf(ids, sizeof(ids), "%u %u %u %u", report.user, report.user, report.user,
			 report.user);
		CHECK_STR(status_line(child.pid, "Uid", value), ids);
		CHECK_STR(status_line(child.pid, "Gid", value), ids);
		CHECK_STR(status_line(child.pid, "Groups", value), "");
	}
	CHECK_STR(status_line(child.pid, "CapInh", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "CapPrm", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "CapEff", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "CapAmb", value), "0000000000000000");
	CHECK_STR(status_line(child.pid, "NoNewPrivs", value), "1");
	CHECK_EQ(getsid(child.pid), child.pid); /* ^C and hang-ups pass it by */
	jail_end(&child);
}

/* Whatever wall is possible here stands, and is what it is said to be. */
static void a_child_has_walls(void)
{
	struct jail_child child;
	struct report report;
	if (jail_sanitized())
		SKIP("the sanitizer's run time needs files and threads");
	const bool has_namespaces = can(leave_namespaces), has_own_id = can(become_somebody);
	const long version = landlock_version();
	if (!has_namespaces && !has_own_id && !version)
		SKIP("no wall is possible here");
	CHECK_EQ(jail_spawn("report", &child), 0);
	CHECK(read_report(&child, &report));
	if (has_namespaces) {
		CHECK(report.walls & JAIL_NAMESPACES);
		CHECK(report.walls & JAIL_EMPTY_ROOT);
		CHECK(report.is_first);
		CHECK_EQ(report.passwd_error, ENOENT);
		CHECK_EQ(report.nr_interfaces_up, 0);
	}
	if (version) {
		CHECK(report.walls & JAIL_LANDLOCK);
		CHECK_EQ(report.root_error, EACCES);
	}
	if (has_own_id) {
		CHECK(report.walls & JAIL_OWN_ID);
		CHECK(report.user >= 0x78000000);
	}
	if (version >= 6)
		CHECK(report.walls & JAIL_SCOPES);
	if (has_namespaces || has_own_id || version >= 6)
		CHECK(!report.signals_parent);
	jail_end(&child);
}

static void a_child_has_limits(void)
{
	struct jail_child child;
	struct report report;
	CHECK_EQ(jail_spawn("report", &child), 0);
	CHECK(read_report(&child, &report));
	CHECK_EQ(report.core.rlim_cur, 0);
	CHECK_EQ(report.core.rlim_max, 0);
	CHECK_EQ(report.nofile.rlim_cur, NR_DESCRIPTORS);
	CHECK_EQ(report.nofile.rlim_max, NR_DESCRIPTORS);
	CHECK(report.heap_is_bounded == !jail_sanitized());
	jail_end(&child);
}

int main(int argc, char **argv)
{
	if (is_child(argc, argv))
		return child_main(argc, argv);
	RUN(a_child_has_no_privileges);
	RUN(a_child_has_walls);
	RUN(a_child_has_limits);
	return test_done();
}

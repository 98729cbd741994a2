/* SPDX-License-Identifier: MIT */
/* Whose descendants are a target's, and when a number has a new owner. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>

#include "main/perf/sampler_internal.h"
#include "test.h"

/* Of it and its child, which both wait: told through a pipe. */
static pid_t begin(pid_t *grandchild)
{
	int fds[2];
	if (pipe(fds))
		exit(1);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid_t own = fork();
		if (own == 0) {
			/* It is reported when it ends with its parent: before, it might outlive it. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			own = getpid();
			if (write(fds[1], &own, sizeof(own)) != sizeof(own))
				_exit(1);
			for (;;)
				pause();
		}
		for (;;)
			pause();
	}
	if (read(fds[0], grandchild, sizeof(*grandchild)) != sizeof(*grandchild))
		exit(1);
	close(fds[0]);
	close(fds[1]);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static struct member *member_of(const struct family *family, pid_t pid)
{
	for (size_t i = 0; i < family->members.nr; i++)
		if (family->members.items[i].pid == pid)
			return &family->members.items[i];
	return NULL;
}

static void descendants_are_found_once(void)
{
	struct family family = {0};
	pid_t grandchild, child = begin(&grandchild);
	CHECK_EQ(family_ask(&family, child), 0);
	CHECK_EQ(family_ask(&family, child), 0);
	const uint64_t between_ns = clock_now_ns();
	CHECK_EQ(family_look(&family, 0), 0);
	CHECK_EQ(family_look(&family, 0), 0);
	CHECK_EQ(family.members.nr, 2);
	CHECK(member_of(&family, child) && member_of(&family, child)->is_asked);
	CHECK(member_of(&family, grandchild) && !member_of(&family, grandchild)->is_asked);
	CHECK_EQ(family_nr_children(&family), 0); /* nobody is attached */
	/* Each was seen at a time of its own. */
	CHECK(family.members.items[0].seen_ns <= between_ns);
	CHECK(family.members.items[1].seen_ns >= between_ns);
	family.members.items[1].attached_ns = 1;
	CHECK_EQ(family_nr_children(&family), 1);
	family_release(&family);
	end(child);
}

/* Who started after the parent was attached has inherited. */
static void who_has_inherited_is_left(void)
{
	struct family family = {0};
	pid_t grandchild, child = begin(&grandchild);
	struct task_start start;
	CHECK(task_start_read(grandchild, grandchild, &start));
	CHECK_EQ(start.parent, child);
	CHECK_EQ(family_ask(&family, child), 0);
	family.members.items[0].attached_ns = start.ns - 1000;
	CHECK_EQ(family_look(&family, 0), 0);
	CHECK_EQ(family.members.nr, 1);
	/* But for what /proc cannot tell. */
	CHECK_EQ(family_look(&family, 1000), 0);
	CHECK_EQ(family.members.nr, 2);
	family_release(&family);
	end(child);
}

/* A number that went to another process, as its start tells: its children are nobody's of the target. */
static void a_number_with_a_new_owner(void)
{
	struct family family = {0};
	pid_t grandchild, child = begin(&grandchild);
	CHECK_EQ(family_ask(&family, child), 0);
	struct member *member = &family.members.items[0];
	CHECK(family_is_still(member));
	member->started_ns -= 10000000;
	CHECK(!family_is_still(member));
	CHECK_EQ(family_look(&family, UINT64_MAX / 2), 0);
	CHECK_EQ(family.members.nr, 1);
	family_release(&family);
	end(child);
}

static void who_has_ended_is_nobodys_parent(void)
{
	struct family family = {0};
	pid_t grandchild, child = begin(&grandchild);
	CHECK_EQ(family_ask(&family, child), 0);
	end(child);
	CHECK_EQ(family_look(&family, 0), 0);
	CHECK_EQ(family.members.nr, 1);
	/* Nobody else has its number. */
	CHECK(family_is_still(&family.members.items[0]));
	family_release(&family);
}

/* A process that leads a session, or a process group only, and its grandchild, whose parent has ended. */
static pid_t begin_orphan(bool in_session, pid_t *orphan)
{
	int fds[2];
	if (pipe(fds))
		exit(1);
	pid_t leader = fork();
	if (leader == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (in_session ? setsid() < 0 : setpgid(0, 0) < 0)
			_exit(1);
		pid_t middle = fork();
		if (middle == 0) {
			const pid_t parent = getpid();
			pid_t own = fork();
			if (own)
				_exit(write(fds[1], &own, sizeof(own)) != sizeof(own));
			while (getppid() == parent)
				sched_yield();
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test's */
			for (;;)
				pause();
		}
		if (waitpid(middle, NULL, 0) != middle ||
		    write(fds[1], &middle, sizeof(middle)) != sizeof(middle))
			_exit(1);
		for (;;)
			pause();
	}
	pid_t ended; /* no zombie of it is a child any more */
	if (read(fds[0], orphan, sizeof(*orphan)) != sizeof(*orphan) ||
	    read(fds[0], &ended, sizeof(ended)) != sizeof(ended))
		exit(1);
	close(fds[0]);
	close(fds[1]);
	return leader;
}

static void orphans_of_a_session_descend_from_its_leader(void)
{
	for (int in_session = 0; in_session < 2; in_session++) {
		struct family family = {0};
		struct task_start start;
		pid_t orphan, leader = begin_orphan(in_session, &orphan);
		while (task_start_read(orphan, orphan, &start) && start.parent != getpid())
			sched_yield();
		CHECK_EQ(family_ask(&family, leader), 0);
		CHECK_EQ(family_look(&family, 0), 0);
		CHECK_EQ(family.members.nr, in_session ? 2 : 1);
		CHECK(!in_session || member_of(&family, orphan));
		family_release(&family);
		/* Its number's next owner is nobody's either. */
		struct family of_owner = {0};
		CHECK_EQ(family_ask(&of_owner, leader), 0);
		of_owner.members.items[0].started_ns -= 10000000;
		CHECK_EQ(family_look(&of_owner, UINT64_MAX / 2), 0);
		CHECK_EQ(of_owner.members.nr, 1);
		family_release(&of_owner);
		end(orphan);
		end(leader);
	}
}

int main(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans are ours */
	RUN(descendants_are_found_once);
	RUN(who_has_inherited_is_left);
	RUN(a_number_with_a_new_owner);
	RUN(who_has_ended_is_nobodys_parent);
	RUN(orphans_of_a_session_descend_from_its_leader);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/*
 * The processes of a target: those that were asked for, and their descendants, by what /proc says of everybody's parents.
 * /proc/PID/task/TID/children would be shorter, but leaves out others where a child ends while it is read
 * (proc_pid_children(5)), and not every kernel has it. Whoever's parent has ended is nobody's child any more, but stays in its
 * session, which nobody joins but by being born into it: whoever is in the session that one of the family leads, as services and
 * shells do, descends from it. Other orphans are known by a listing from before that, or not at all: process groups and cgroups have
 * others in them, too.
 */
#include "sampler_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/base/privilege.h>
#include <ctop/kernel/stat_line.h>
#include <ctop/base/vec.h>

/* Everybody, as /proc has it. */
struct everybody {
	struct {
		struct person {
			int32_t pid;
			struct task_start start;
		} * items;
		size_t nr, capacity;
	} people;
	struct index by_pid, by_parent, by_session;
};

bool task_start_read(int32_t pid, int32_t tid, struct task_start *start)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* or somebody else's, where /proc hides these */
		fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	start->seen_ns = clock_now_ns();
	if (fd >= 0)
		close(fd);
	if (size < 0)
		return false;
	text[size] = '\0';
	struct stat_line line;
	if (!stat_line_parse(text, &line))
		return false;
	start->parent = line.parent;
	start->session = line.session;
	start->ns = line.start_ns;
	return true;
}

static void forget(struct everybody *everybody)
{
	free(everybody->people.items);
	index_release(&everybody->by_pid);
	index_release(&everybody->by_parent);
	index_release(&everybody->by_session);
}

static int list(struct everybody *everybody)
{
	DIR *dir = opendir("/proc");
	if (!dir)
		return -errno;
	int result = 0;
	for (const struct dirent *entry; !result && (entry = readdir(dir));) {
		struct person person = {.pid = atoi(entry->d_name)};
		if (person.pid <= 0 || !task_start_read(person.pid, person.pid, &person.start))
			continue;
		if (vec_reserve(&everybody->people, everybody->people.nr + 1) ||
		    index_reserve(&everybody->by_pid) || index_reserve(&everybody->by_parent) ||
		    index_reserve(&everybody->by_session)) {
			result = -ENOMEM;
			continue;
		}
		const uint32_t row = (uint32_t)everybody->people.nr++;
		everybody->people.items[row] = person;
		index_add(&everybody->by_pid, hash_u64((uint64_t)person.pid), row);
		index_add(&everybody->by_parent, hash_u64((uint64_t)person.start.parent), row);
		index_add(&everybody->by_session, hash_u64((uint64_t)person.start.session), row);
	}
	closedir(dir);
	return result;
}

static const struct person *find_person(const struct everybody *everybody, int32_t pid)
{
	struct index_probe probe = index_find(&everybody->by_pid, hash_u64((uint64_t)pid));
	uint32_t row;
	while (index_next(&everybody->by_pid, &probe, &row))
		if (everybody->people.items[row].pid == pid)
			return &everybody->people.items[row];
	return NULL;
}

static struct member *find_member(const struct family *family, int32_t pid)
{
	struct index_probe probe = index_find(&family->by_pid, hash_u64((uint64_t)pid));
	uint32_t row;
	while (index_next(&family->by_pid, &probe, &row))
		if (family->members.items[row].pid == pid)
			return &family->members.items[row];
	return NULL;
}

static int add(struct family *family, const struct member *member)
{
	if (vec_reserve(&family->members, family->members.nr + 1) || index_reserve(&family->by_pid))
		return -ENOMEM;
	const uint32_t row = (uint32_t)family->members.nr++;
	family->members.items[row] = *member;
	index_add(&family->by_pid, hash_u64((uint64_t)member->pid), row);
	return 0;
}

/*
 * Takes a child that is not known. Whoever started after its parent was attached has inherited. A number that is known
 * with another start has a new owner, whose maker was attached: it has inherited, too.
 */
static int take_child(struct family *family, uint32_t parent, const struct person *child,
		      uint64_t slack_ns)
{
	const struct member *of = &family->members.items[parent];
	const bool is_earlier = child->start.ns < of->started_ns;
	const bool is_late = of->attached_ns && child->start.ns > of->attached_ns + slack_ns;
	if (is_earlier || is_late || find_member(family, child->pid))
		return 0;
	const struct member member = {
		.pid = child->pid,
		.started_ns = child->start.ns,
		.seen_ns = child->start.seen_ns,
	};
	return add(family, &member);
}

/* Those whose parents have ended, of the session that a member leads. */
static int take_orphans(struct family *family, uint32_t leader, const struct everybody *everybody,
			uint64_t slack_ns)
{
	const int32_t session = family->members.items[leader].pid;
	struct index_probe probe = index_find(&everybody->by_session, hash_u64((uint64_t)session));
	uint32_t row;
	int result = 0;
	while (!result && index_next(&everybody->by_session, &probe, &row)) {
		const struct person *person = &everybody->people.items[row];
		if (person->start.session == session && person->pid != session &&
		    !find_member(family, person->start.parent))
			result = take_child(family, leader, person, slack_ns);
	}
	return result;
}

/* The family grows while it is gone through, so that grandchildren's turn comes. */
static int take_children(struct family *family, const struct everybody *everybody,
			 uint64_t slack_ns)
{
	for (uint32_t row = 0; row < family->members.nr; row++) {
		const struct member member = family->members.items[row];
		const struct person *now = find_person(everybody, member.pid);
		if (!now || now->start.ns != member.started_ns)
			continue; /* another process's number by now */
		struct index_probe probe =
			index_find(&everybody->by_parent, hash_u64((uint64_t)member.pid));
		uint32_t child;
		while (index_next(&everybody->by_parent, &probe, &child)) {
			const struct person *person = &everybody->people.items[child];
			int result = person->start.parent == member.pid
					     ? take_child(family, row, person, slack_ns)
					     : 0;
			if (result)
				return result;
		}
		int result = take_orphans(family, row, everybody, slack_ns);
		if (result)
			return result;
	}
	return 0;
}

int family_ask(struct family *family, int32_t pid)
{
	struct task_start start;
	if (find_member(family, pid))
		return 0;
	const bool is_there = task_start_read(pid, pid, &start);
	const struct member member = {
		.pid = pid,
		.started_ns = is_there ? start.ns : 0,
		.seen_ns = start.seen_ns,
		.is_asked = true,
	};
	return add(family, &member);
}

int family_look(struct family *family, uint64_t slack_ns)
{
	struct everybody everybody = {0};
	int result = list(&everybody);
	if (!result)
		result = take_children(family, &everybody, slack_ns);
	forget(&everybody);
	return result;
}

bool family_is_still(const struct member *member)
{
	struct task_start start;
	return !task_start_read(member->pid, member->pid, &start) || start.ns == member->started_ns;
}

size_t family_nr_children(const struct family *family)
{
	size_t nr = 0;
	for (size_t i = 0; i < family->members.nr; i++)
		nr += !family->members.items[i].is_asked && family->members.items[i].attached_ns;
	return nr;
}

void family_release(struct family *family)
{
	free(family->members.items);
	index_release(&family->by_pid);
}

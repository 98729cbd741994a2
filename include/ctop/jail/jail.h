/* SPDX-License-Identifier: MIT */
#ifndef CTOP_JAIL_JAIL_H
#define CTOP_JAIL_JAIL_H

/*
 * Starting the processes that parse untrusted bytes, without privileges.
 *
 * jail_spawn() runs in main: a process in a pid namespace of its own (where allowed), no_new_privs, a session of its
 * own, default signals, every descriptor but 0-2 and the channel closed, exec of /proc/self/exe as
 *     ctop --child=ROLE
 * with an environment of what the loader and sanitizers read, and with the capabilities of main: while it has them,
 * nobody without them can trace it, whoever's it is and whatever exec made of dumpable. jail_enter() runs first thing in
 * the child: not dumpable, then ids and capabilities dropped (to an id that nobody else has when started as root), no way
 * to any file, no core, few descriptors, the heap bounded, end with the parent. Then jail_filter(), then it says hello, and
 * only then main sends what it has for it (channel_hold()).
 * stdin and stdout are /dev/null in the child; its stderr is a pipe whose other end main has.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct channel;

enum { JAIL_CHANNEL_FD = 3 };

/* A child that a signal ended may say so by this exit status and the signal's number. */
enum { JAIL_SIGNALLED = 128 };

/* ---- main's side ---- */

struct jail_child {
	pid_t pid;
	int pid_fd;    /* readable once it has ended; it is to be waited for */
	int stderr_fd; /* does not block, holds 4 KiB at most, untrusted; -1: it has ours */
	struct channel *channel; /* held until it says hello: its word is enum jail_wall */
};

/* Starts a child in the given role, and returns when exec has happened: 0 or -errno. */
int jail_spawn(const char *role, struct jail_child *child);
/* Kills it, waits for it, closes everything. */
void jail_end(struct jail_child *child);

/* Main's own hardening: not dumpable, so that nobody of the same user reads it with ptrace. */
void jail_protect_main(void);

/* ---- the child's side ---- */

struct jail_limits {
	size_t heap_bytes;     /* RLIMIT_DATA; 0: unlimited (sanitizers need it) */
	size_t nr_descriptors; /* RLIMIT_NOFILE */
	bool outlives_parent;  /* has something to finish when main is killed */
	bool is_prompt;	       /* base/promptness.h */
};

/* The walls that not every kernel and not every user can have. */
enum jail_wall {
	JAIL_FILTER = 1 << 0,	    /* system calls, by role */
	JAIL_LANDLOCK = 1 << 1,	    /* no path leads anywhere, nor TCP */
	JAIL_SCOPES = 1 << 2,	    /* Landlock: no signals, no abstract sockets out of the jail */
	JAIL_NAMESPACES = 1 << 3,   /* pid, mount, network, ipc, uts of its own */
	JAIL_OWN_ID = 1 << 4,	    /* a user and a group that nobody else is */
	JAIL_EMPTY_ROOT = 1 << 5,   /* and in the mount namespace nothing */
	JAIL_LANDLOCK_ABI = 1 << 8, /* times the kernel's version of Landlock */
};

/*
 * 0, or -errno when any step failed: then exit at once, parse nothing. Fills *walls, of enum jail_wall. That the
 * parent is gone shows in the hello, which nobody takes.
 * A root that can't become another (a user namespace without that id, no CAP_SETUID) keeps its id and loses its
 * capabilities all the same.
 */
int jail_enter(const struct jail_limits *limits, unsigned *walls);

/*
 * Instead of jail_enter(), for the one child that may connect: not dumpable, that user and group, no capabilities, no_new_privs, no
 * core, a bounded heap, end with the parent. 0 or -errno: -EPERM where it could not become that user.
 */
int jail_enter_as(uid_t uid, gid_t gid);
/*
 * And then: no file is written, made or removed but below this directory, none is executed, no port is listened at, no signal
 * sent, no file grows beyond so many bytes. 0 or -errno; a kernel without Landlock leaves the last alone.
 */
int jail_write_below(int directory_fd, uint64_t most_bytes);
/* The same, and no directory at all. */
int jail_write_nowhere(void);

/* What a role needs beside the channel, memory, clocks, last words and its own end. */
enum jail_right {
	JAIL_READS = 1 << 0,	     /* read: eventfds, pipes, files from where they are */
	JAIL_WRITES = 1 << 1,	     /* write: eventfds, pipes, files */
	JAIL_READS_AT = 1 << 2,	     /* pread64 */
	JAIL_SEEKS = 1 << 3,	     /* lseek, fadvise64 */
	JAIL_MAPS_FILES = 1 << 4,    /* mmap: to be read, private */
	JAIL_SHARES_MEMORY = 1 << 5, /* mmap: of what is shared with main or the kernel */
	JAIL_SERVES = 1 << 6, /* a listening socket that it was given: accept, send, receive */
};

/*
 * Behind jail_enter(), in the child, once it has all that only main can give: a seccomp filter lets it do what every
 * child needs and what its rights (of enum jail_right) name, each with the arguments that are of use. Whatever opens or
 * looks up a path finds nothing (ENOENT: libraries try), all else is forbidden (EPERM); nothing is killed for asking.
 * 0, or -errno where the kernel has no filters.
 */
int jail_filter(unsigned rights);

/* Whether the filter lets calls of that number through, with at least some arguments: the table that it is made of. */
bool jail_allows(unsigned rights, unsigned number);

/* True when the build is instrumented by a sanitizer, which needs the heap unbounded, and files. */
bool jail_sanitized(void);

#endif

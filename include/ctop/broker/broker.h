/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BROKER_BROKER_H
#define CTOP_BROKER_BROKER_H

/*
 * Answers what the jailed children ask for, and trusts none of them: a child is given a file only if the kernel named
 * it (mapped_files.h), or if it proves by what is in it to be one that belongs to such a file (prober.h); a process's
 * maps only if that process is in the profile. Files are opened by a process that may hang (opener.h), so most answers
 * come later, from broker_serve(). Keeps the files of modules open, so that the symbolizer gets the very file that the
 * collector got, also after the target has gone. Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>

#include <ctop/base/text.h>
#include <ctop/broker/mapped_files.h>
#include <ctop/files/opener.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>
#include <ctop/store/tables.h>

struct broker;

/* Who reads a file: what kills one of them may well be read by the other. */
enum broker_reader { BROKER_COLLECTOR = 1, BROKER_SYMBOLIZER = 2 };

struct broker *broker_new(void); /* NULL: out of memory */
void broker_free(struct broker *broker);
/*
 * Rows are of processes in a file, recorded here or elsewhere: nothing is found by their pids, and files must prove to be theirs.
 * When that file was written last, by CLOCK_REALTIME, is what perf maps are proved by; 0: not known.
 */
void broker_serve_recorded(struct broker *broker, int64_t written_ns);
/* Debug files that are not here are asked of these servers (files/fetcher.h). 0 or -ENOMEM. */
int broker_use_debuginfod(struct broker *broker, const char *urls);
/* The kernel's lines may be in this file, which must prove to have its build-id. Borrowed; NULL: only where such files are by custom. */
void broker_use_vmlinux(struct broker *broker, const char *path);
/* The kernel's names may come from the cache, and go there (files/opener.h). 0 or -ENOMEM. */
int broker_use_cache(struct broker *broker);
enum kernel_names_from broker_kernel_names(const struct broker *broker);
/* Whether one is under way; out, if not NULL: what is told of it. */
bool broker_is_fetching(const struct broker *broker, struct text *out);
/* What the kernel named: filled by its owner, the session, before it lets the broker answer. Borrowed. */
struct mapped_files *broker_mapped_files(struct broker *broker);
/* The profile is of this cgroup's processes. The descriptor is the caller's, who keeps it open. */
void broker_take_cgroup(struct broker *broker, int cgroup_fd);

/*
 * Each is answered through the channel, now or from broker_serve(): a refusal is an answer, too. 0, or -errno of
 * the channel or of what a child may not ask for: -EPROTO. The channel stays the caller's until broker_forget().
 */
int broker_answer_module(struct broker *broker, struct channel *channel, enum broker_reader reader,
			 const struct message_module *request, const struct tables *tables);
int broker_answer_debug_file(struct broker *broker, struct channel *channel,
			     enum broker_reader reader, const struct message_module *request,
			     const struct tables *tables);
int broker_answer_process(struct broker *broker, struct channel *channel,
			  const struct message_process *request);
/* Whether a process is in the profile: its threads are listed before its maps (thread_list.h). */
bool broker_has_process(struct broker *broker, int32_t pid);
/* The user of a process. */
int broker_answer_owner(struct broker *broker, struct channel *channel,
			const struct message_owner *request);
/* A copy of code that a process has made: of one in the profile, and no more of it than there are bytes for (broker_code.c). */
int broker_answer_code(struct broker *broker, struct channel *channel, enum broker_reader reader,
		       const struct message_code *request);
/* The symbolizer's, of the kernel: a function's, as far as kernel_code.h goes, and no more of them than of processes' code. */
int broker_answer_kernel_code(struct broker *broker, struct channel *channel,
			      const struct message_kernel_code *request);
/* The dump that generated code of a process has its names from, of a module row as given; stays the broker's. -1: there is none, or nobody asked. */
int broker_dump(const struct broker *broker, const struct module_row *row, const char *path);
/* The reader with that channel has died: nobody waits for its answers any more. */
void broker_forget(struct broker *broker, enum broker_reader reader, const struct channel *channel);

/*
 * Describes a process and its descendants unasked: a child that was forked between the attaching and
 * the switching on of the events is sampled, too, and no record reported it. Waits until that is done: what is
 * unmapped a moment later is known then. As broker_answer_process().
 */
int broker_describe_tree(struct broker *broker, struct channel *channel, int32_t pid);

/* ---- the loop's ---- */

enum { BROKER_POLL_MAX = 4 };
/* What to wait for, at most BROKER_POLL_MAX; how many. */
size_t broker_poll(const struct broker *broker, struct pollfd *fds);
/* How long until broker_serve() must be called, whatever comes, in ms; -1: nothing is awaited. */
int broker_timeout_ms(const struct broker *broker);
/* Sends what has come. */
void broker_serve(struct broker *broker);
/* The process that opens files, and the one that has the kernel's names, which are ctop's own; 0: it does not run. */
int32_t broker_opener_pid(const struct broker *broker);
int32_t broker_names_opener_pid(const struct broker *broker);

/* The kernel says that a file is mapped: it may be gone when somebody asks for it. */
void broker_open_ahead(struct broker *broker, const struct mapped_file *file);

/*
 * Opens what a process of the profile executes, as the kernel named it; the taker is called from broker_serve(). 0, -ENOENT: the kernel has
 * named no such file yet, or another -errno.
 */
int broker_open_program(struct broker *broker, int32_t pid, opener_taker *taker, void *context);
/* Nobody waits any more for what was asked with that context. */
void broker_forget_program(struct broker *broker, const void *context);

/* A child died on what came from this row's file: from now on none in its role gets it (-EUCLEAN). */
void broker_set_unreadable(struct broker *broker, enum broker_reader reader,
			   const struct tables *tables, uint32_t module);
/*
 * Files that are not read, for people: what was set, "PATH (names)" or "PATH (stacks)"; what was gone before it could be
 * opened; debug files that are there and not used, and why. Borrowed.
 */
const char *const *broker_unreadable(const struct broker *broker, size_t *nr);

/* A line on what was refused and a user may wonder about; "" when there is nothing to say. */
const char *broker_notice(const struct broker *broker);

#endif

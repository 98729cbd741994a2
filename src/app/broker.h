/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_BROKER_H
#define CTOP_APP_BROKER_H

/*
 * Answers what the jailed children ask for: main opens, they parse. Keeps the
 * files of modules open, by identity, so that the symbolizer gets the very file that
 * the collector got, also after the target has gone.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/channel.h>
#include <ctop/collect/protocol.h>
#include <ctop/profile/tables.h>

struct broker;

/* Who reads a file: what kills one of them may well be read by the other. */
enum broker_reader { BROKER_COLLECTOR = 1, BROKER_SYMBOLIZER = 2 };

struct broker *broker_new(void); /* NULL: out of memory */
void broker_free(struct broker *broker);
/* Rows are of processes in a file, recorded here or elsewhere: nothing is found by their pids, and files must prove to be theirs. */
void broker_serve_recorded(struct broker *broker);

/* Each answers through the channel. 0, or -errno of the channel; a file that cannot be had is an answer. */
int broker_answer_module(struct broker *broker, struct channel *channel, enum broker_reader reader,
			 const struct message_module *request, const struct tables *tables);
int broker_answer_debug_file(struct broker *broker, struct channel *channel,
			     enum broker_reader reader, const struct message_module *request,
			     const struct tables *tables);
int broker_answer_process(struct channel *channel, const struct message_process *request);
/* The user of a process. */
int broker_answer_owner(struct channel *channel, const struct message_owner *request);

/*
 * Tells of a process and of its descendants unasked: a child that was forked between the attaching and
 * the switching on of the events is sampled, too, and no record told of it. As broker_answer_process().
 */
int broker_describe_tree(struct channel *channel, int32_t pid);

/* A child died on what came from this row's file: from now on none in its role gets it (-EUCLEAN). */
void broker_set_unreadable(struct broker *broker, enum broker_reader reader,
			   const struct tables *tables, uint32_t module);
/* What was set, for people: "PATH (names)", "PATH (stacks)". Borrowed. */
const char *const *broker_unreadable(const struct broker *broker, size_t *nr);

/* A line on what was refused and a user may wonder about; "" when there is nothing to say. */
const char *broker_notice(const struct broker *broker);

#endif

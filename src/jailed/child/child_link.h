/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CHILD_CHILD_LINK_H
#define CTOP_CHILD_CHILD_LINK_H

/*
 * A jailed child's end of its link to main: what the symbolizer, the reader and the
 * writer share. (The collector handles its own, in collect/.)
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct child_link {
	struct channel *channel;
	struct child_status *status;
	int to_main, to_child; /* eventfds */
	uint32_t epoch;
	struct tables *tables; /* of the epoch; NULL before the first */
	struct symbols *symbols;
	bool tables_writable;
};

void child_link_init(struct child_link *link, struct channel *channel, bool tables_writable);
void child_link_release(struct child_link *link);

/*
 * Deals with STATUS, TO_MAIN, TO_CHILD, SYMBOLS and TABLES itself. 1 when the message was one of
 * them (*new_epoch after TABLES), 0 when it is somebody else's, -errno. Takes fd over unless 0 is returned.
 * The regions of the epoch before are the caller's to release: see child_link_drop().
 */
int child_link_handle(struct child_link *link, const struct message *message, int fd,
		      bool *new_epoch);
void child_link_drop(struct tables *tables, struct symbols *symbols);

void child_link_tell_main(const struct child_link *link);
/* Waits for the channel or main's eventfd (whose count is cleared), at most timeout_ms (-1: for ever). 0 or -errno. */
int child_link_wait(struct child_link *link, int timeout_ms);
/* Says DONE. */
void child_link_done(struct child_link *link, int result, const char *cause);

/* For a child that is asked one question: waits for that. 0 or -errno. */
int child_await_question(struct channel *channel);

/* The children's main functions: take the channel over, return 0 or -errno. */
int symbolizer_child_run(struct channel *channel);
int reader_child_run(struct channel *channel);
int writer_child_run(struct channel *channel);
int uprobe_child_run(struct channel *channel);
int goroutines_child_run(struct channel *channel);
int prober_child_run(struct channel *channel);
int disassembler_child_run(struct channel *channel);
int fetcher_child_run(struct channel *channel);
int pusher_child_run(struct channel *channel);

#endif

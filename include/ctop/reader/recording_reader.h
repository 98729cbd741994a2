/* SPDX-License-Identifier: MIT */
#ifndef CTOP_READER_RECORDING_READER_H
#define CTOP_READER_RECORDING_READER_H

/*
 * A recording (docs/recording-format.md) back into fresh tables and symbols. Every byte is untrusted: it runs in a
 * jailed child.
 */

#include <ctop/base/error.h>
#include <ctop/ipc/recording_read.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct recording_sink {
	void *context;
	/* Where to put the next epoch: fresh, mapped tables and symbols, which the sink owns. 0 or -errno: reading stops. */
	int (*begin_epoch)(void *context, struct tables **tables, struct symbols **symbols);
	/* The ring is full: publish has been called; return when there is room, or -errno. */
	int (*wait_room)(void *context);
};

/*
 * Reads all of fd into the sink. 0, also when damage was skipped (see *read): nothing is shown in another's
 * place, what was lost is named "[lost]";
 * -EINVAL: not a recording or of a newer major version, with the cause in error; -errno of read or the sink.
 */
int recording_read(int fd, const struct recording_sink *sink, struct recording_read *read,
		   struct error *error);

#endif

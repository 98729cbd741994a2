/* SPDX-License-Identifier: MIT */
#ifndef CTOP_RECORDER_RECORDING_WRITER_H
#define CTOP_RECORDER_RECORDING_WRITER_H

/*
 * A ctop recording: stacks, not dumps, with their names inside. The format, byte
 * by byte, is docs/recording-format.md. Runs in main: reads tables and symbols as input, and copies.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct recording_writer;

/*
 * Takes fd over: a file, a pipe or a device. Writes the head. NULL: out of memory. Errors of fd show in the
 * calls below. A non-blocking fd stalls nobody: what it does not take waits in memory, and while more than
 * RECORDING_WAITING_MAX waits, samples are refused.
 */
struct recording_writer *recording_writer_new(int fd);
enum { RECORDING_WAITING_MAX = 16 << 20 };
/* Starts an epoch of ids. symbols may be NULL. Both stay mapped until the next epoch or the end. */
int recording_begin_epoch(struct recording_writer *writer, const struct tables *tables,
			  const struct symbols *symbols);
/* Writes what is left of the epoch, and looks at its tables no more: they may go. 0 or -errno. */
int recording_end_epoch(struct recording_writer *writer);
/* Times of the epochs that begin from now on are given so much later (modulo 2^64). */
void recording_shift(struct recording_writer *writer, uint64_t ns);
uint64_t recording_shift_ns(const struct recording_writer *writer);
/* Adds samples (copied out of the ring by the caller). 0, -ENOMEM, or -EAGAIN: refused, too much waits. */
int recording_add_samples(struct recording_writer *writer, const struct sample *samples, size_t nr);
/* A fact about the run, e.g. "stats.lost"; the last value of a key holds. */
int recording_add_info(struct recording_writer *writer, const char *key, const char *value);
/*
 * Writes what was added, with every row and name it refers to, as whole chunks: call about once a second. While
 * too much waits it only pushes. 0 or -errno of write().
 */
int recording_flush(struct recording_writer *writer);
/* Offers fd what waits. 0 or -errno. */
int recording_push(struct recording_writer *writer);
size_t recording_waiting_bytes(const struct recording_writer *writer);
uint64_t recording_bytes(const struct recording_writer *writer); /* written so far */
/*
 * Flushes, writes the end chunk, closes; waits for fd as long as that takes. *bytes: all that was written. 0 or
 * the first -errno. Frees the writer in any case.
 */
int recording_finish(struct recording_writer *writer, uint64_t *bytes);

/*
 * The same for a non-blocking pipe to a process that writes, and may die. What the pipe took stays in memory
 * until it is confirmed, and its end is no error. recording_confirm() gives the number of bytes that count as confirmed
 * (within what is known to have been taken), from where recording_redirect() goes on in another pipe, which it takes over.
 */
struct recording_writer *recording_writer_new_keeping(int fd);
uint64_t recording_confirm(struct recording_writer *writer, uint64_t bytes);
/* What the pipe took from that byte on, borrowed until the next call; how many bytes. */
size_t recording_kept(const struct recording_writer *writer, uint64_t from, const uint8_t **bytes);
int recording_redirect(struct recording_writer *writer, int fd, uint64_t from);
bool recording_is_broken(const struct recording_writer *writer);
/* Flushes and writes the end chunk, as far as fd takes it: recording_push() until nothing waits, recording_close(). */
int recording_end(struct recording_writer *writer);
/* Closes fd; what is kept can still be redirected. */
void recording_close(struct recording_writer *writer);

/* Closes and frees without another look at the tables; NULL is fine. */
void recording_abandon(struct recording_writer *writer);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_ROUND_H
#define CTOP_COLLECT_ROUND_H

/* What is done with records, wherever they come from. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;
struct collector_ring;
struct record;
struct stack_gap;

/* A record at a position of a source is in hand from now on. False: a predecessor died on it. */
bool round_begin(struct collector *collector, int32_t cpu, uint64_t position);
/* It is left out, and counted as a loss. */
void round_skip(struct collector *collector);
/*
 * The record at a position of a source is in hand. 1: parsed; 0: passed over, counted where that is a loss.
 */
int round_parse(struct collector *collector, int32_t cpu, uint64_t position, const void *bytes,
		size_t size, struct record *record);
/* 0; -EAGAIN or -ENOSPC: the record must come again; else the end of the collector. */
int round_take(struct collector *collector, struct collector_ring *ring,
	       const struct record *record, bool patient);
/*
 * What a stack meets that nobody has asked for is asked for. 0: the stack begins again; else what stack_sample() is to have
 * returned.
 */
int round_close_gap(struct collector *collector, struct stack_gap *gap, bool patient);
/*
 * The record in hand is done with, and its source has moved on. The tables show their samples now and then
 * in the middle of a round: then what they were made of must be given up, too.
 */
void round_consumed(struct collector *collector);
/* Ends a round with what the last record had for an answer. 0, or -errno that ends the collector. */
int round_end(struct collector *collector, int result);

#endif

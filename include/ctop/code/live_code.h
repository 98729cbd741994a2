/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_LIVE_CODE_H
#define CTOP_CODE_LIVE_CODE_H

/*
 * Code that a process has made: copies of its memory, page by page, as somebody brings them, and the rules that were
 * read from them. What is not there is wished for. The code may change at any time: a copy proves nothing, and who
 * uses what it says proves what it finds. Collector only; the bytes are untrusted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked for at a time: the aligned window around an address. */
enum { LIVE_CODE_WINDOW = 64 << 10 };

struct live_code;

struct live_code *live_code_new(void); /* NULL: out of memory, or this machine's code is not read */
void live_code_free(struct live_code *code);   /* NULL is fine */
void live_code_forget(struct live_code *code); /* all copies; NULL is fine */
size_t live_code_bytes(const struct live_code *code);

/* From now on a stack of that time is unwound; what was wished for before is forgotten. */
void live_code_begin(struct live_code *code, uint64_t time_ns);
/*
 * An address whose page the stack needed, and that is not there or may have changed since. False: there is none, or
 * only what cannot be had now. *asked: it was asked for, and has not come yet.
 */
bool live_code_wish(const struct live_code *code, uint64_t *address, bool *asked);

void live_code_asked(struct live_code *code, uint64_t address);
/* It came: read at read_ns. What was asked for there and did not come is not to be had for a while. 0 or -ENOMEM. */
int live_code_take(struct live_code *code, uint64_t start, const void *bytes, size_t size,
		   uint64_t read_ns);
/* It was refused, and is not asked for again before that time of samples. */
void live_code_refuse(struct live_code *code, uint64_t address, uint64_t until_ns);
/* From that time on something else may be there. */
void live_code_outdate(struct live_code *code, uint64_t start, uint64_t end, uint64_t time_ns);

/* False when it is not all there. */
bool live_code_read(struct live_code *code, uint64_t address, void *bytes, size_t size);

#endif

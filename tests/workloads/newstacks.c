/* SPDX-License-Identifier: MIT */
/*
 * Hardly a stack comes twice: below main stand 24 calls, each from one of 8 call sites of one of two functions,
 * chosen by a random number.
 *
 *     main > (even | odd) x 24 > bottom    100 %
 *
 * newstacks SECONDS STACKS: that many different ones, each as likely, that differ in the last 5 calls.
 *
 *     main > down x 20 > (even | odd) x 5 > bottom    100 %
 */
#include "workload.h"

enum { DEPTH = 24, COMMON = 20, RANDOM = 5 };

static FRAME void bottom(void)
{
	work(2);
}

static FRAME void even(uint64_t way, int depth);
static FRAME void odd(uint64_t way, int depth);

/* Each case is a call site of its own: the empty asm keeps them apart. */
#define CALL(site)                                                                                 \
	case site:                                                                                 \
		if (way & 8)                                                                       \
			odd(next, depth - 1);                                                      \
		else                                                                               \
			even(next, depth - 1);                                                     \
		__asm__ volatile("/* %0 */" ::"i"(site));                                          \
		break

#define BODY                                                                                       \
	uint64_t next = way * 6364136223846793005u + 1442695040888963407u;                         \
	next = next >> 33 | next << 31;                                                            \
	if (!depth) {                                                                              \
		bottom();                                                                          \
		return;                                                                            \
	}                                                                                          \
	switch (way & 7) {                                                                         \
		CALL(0);                                                                           \
		CALL(1);                                                                           \
		CALL(2);                                                                           \
		CALL(3);                                                                           \
		CALL(4);                                                                           \
		CALL(5);                                                                           \
		CALL(6);                                                                           \
		CALL(7);                                                                           \
	}

static FRAME void even(uint64_t way, int depth)
{
	BODY
}

static FRAME void odd(uint64_t way, int depth)
{
	BODY
}

static FRAME void down(uint64_t way, int depth)
{
	if (depth)
		down(way, depth - 1);
	else
		even(way, RANDOM - 1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const uint64_t nr = argc > 2 ? (uint64_t)atoll(argv[2]) : 0;
	uint64_t way = 1;
	workload_start(argc, argv);
	workload_ready();
	for (;;) {
		way = way * 2862933555777941757u + 3037000493u;
		if (nr)
			down((way >> 20) % nr * 0x9e3779b97f4a7c15u >> 8, COMMON - 1);
		else
			even(way >> 20, DEPTH);
	}
}

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_H
#define CTOP_TEST_H

/*
 * A unit test is a program that runs its cases in turn, each a function. It
 * prints one TAP line per case; tests/run counts them. A failed check ends its case.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf test_leave;
static int test_failures;

enum { TEST_FAILED = 1, TEST_SKIPPED };

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
			longjmp(test_leave, TEST_FAILED);                                          \
		}                                                                                  \
	} while (0)

/* Compares integers and prints both when they differ. */
#define CHECK_EQ(got, wanted)                                                                      \
	do {                                                                                       \
		long long got_ = (long long)(got), wanted_ = (long long)(wanted);                  \
		if (got_ != wanted_) {                                                             \
			printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_,  \
			       wanted_);                                                           \
			longjmp(test_leave, TEST_FAILED);                                          \
		}                                                                                  \
	} while (0)

#define CHECK_STR(got, wanted)                                                                     \
	do {                                                                                       \
		const char *got_ = (got), *wanted_ = (wanted);                                     \
		if (!got_ || strcmp(got_, wanted_) != 0) {                                         \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got,    \
			       got_ ? got_ : "(null)", wanted_);                                   \
			longjmp(test_leave, TEST_FAILED);                                          \
		}                                                                                  \
	} while (0)

#define SKIP(reason)                                                                               \
	do {                                                                                       \
		test_skip_reason = (reason);                                                       \
		longjmp(test_leave, TEST_SKIPPED);                                                 \
	} while (0)

static const char *test_skip_reason __attribute__((unused));

#define RUN(test) test_run(#test, test)

static inline void test_run(const char *name, void (*test)(void))
{
	printf("# running %s\n", name);
	fflush(stdout);
	int how = setjmp(test_leave);
	if (how == 0)
		test();
	if (how == TEST_FAILED) {
		printf("not ok - %s\n", name);
		test_failures++;
	} else if (how == TEST_SKIPPED) {
		printf("ok - %s # SKIP %s\n", name, test_skip_reason ? test_skip_reason : "");
	} else {
		printf("ok - %s\n", name);
	}
	fflush(stdout);
}

static inline int test_done(void)
{
	return test_failures ? 1 : 0;
}

#endif

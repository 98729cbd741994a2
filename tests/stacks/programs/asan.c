/* SPDX-License-Identifier: MIT */
/*
 * For a sanitizer that gives locals a stack of their own, and stands between a program and its C library:
 *
 *     main > rounds > in_fake_frame > work
 *     main > rounds > in_fake_frame > (the sanitizer's memcmp, qsort, ...) > compare
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NR_VALUES = 256 };

static __attribute__((noinline)) unsigned work(unsigned *values)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < 20 * NR_VALUES; i++)
		sum = sum * 31 + values[i % NR_VALUES];
	return sum;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(unsigned));
}

static __attribute__((noinline)) unsigned in_fake_frame(unsigned seed)
{
	unsigned values[NR_VALUES];
	char text[64];
	for (unsigned i = 0; i < NR_VALUES; i++)
		values[i] = seed = seed * 1103515245 + 12345;
	unsigned sum = work(values);
	qsort(values, NR_VALUES, sizeof(values[0]), compare);
	snprintf(text, sizeof(text), "%u %s", sum, strchr("fake stacks", ' '));
	return values[NR_VALUES / 2] + (unsigned)strlen(text);
}

static __attribute__((noinline)) unsigned rounds(time_t seconds)
{
	struct timespec start, now;
	unsigned sum = 0;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned i = 0; i < 100; i++)
			sum += in_fake_frame(sum + i);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < seconds);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned sum = rounds(argc > 1 ? atoi(argv[1]) : 1);
	return sum == 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * What a rule costs that was never asked for: a module's file opened again, and an address of every so many functions asked for, in an
 * order that no table has. Prints figures; there is no pass or fail.
 *
 *     rules FILE [RULES]
 */
#include <ctop/elf/eh_scan.h>
#include <ctop/elf/object.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <ctop/cfi/cfi.h>

enum { DEFAULT_RULES = 10000, ROUNDS = 5 };

static double cpu_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static struct object *open_file(const char *path)
{
	struct error error;
	struct object *object = object_open(open(path, O_RDONLY | O_CLOEXEC), &error);
	if (!object)
		fprintf(stderr, "rules: %s: %s\n", path, error.cause);
	return object;
}

/* Addresses within functions, spread over the file. */
static size_t choose(const char *path, uint64_t *addresses, size_t max)
{
	struct eh_sections sections;
	struct fde_list list = {.nr = 0};
	struct object *object = open_file(path);
	if (!object || !eh_sections_find(object_elf(object), &sections) ||
	    fde_list_scan(&list, object_elf(object), &sections) || list.nr == 0)
		return 0;
	const size_t nr = max < list.nr ? max : list.nr;
	uint64_t random = 88172645463325252;
	for (size_t i = 0; i < nr; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		const struct fde_entry *function = &list.items[random % list.nr];
		addresses[i] = function->start + (random >> 32) % (function->end - function->start);
	}
	fde_list_release(&list);
	object_free(object);
	return nr;
}

/* CPU microseconds a rule, and page faults in *faults; the file's symbols are read before. */
static double ask(const char *path, const uint64_t *addresses, size_t nr, double *faults)
{
	struct rusage before, after;
	struct rule rule;
	struct object *object = open_file(path);
	struct cfi *cfi = object ? cfi_new(object) : NULL;
	if (!cfi)
		exit(1);
	object_known_function(object, addresses[0]);
	cfi_rule(cfi, addresses[0], &rule);
	getrusage(RUSAGE_SELF, &before);
	const double start = cpu_us();
	size_t nr_evaluated = 0;
	for (size_t i = 1; i < nr; i++)
		nr_evaluated += cfi_rule(cfi, addresses[i], &rule);
	const double us = (cpu_us() - start) / (double)(nr_evaluated ? nr_evaluated : 1);
	getrusage(RUSAGE_SELF, &after);
	*faults = (double)(after.ru_minflt - before.ru_minflt) /
		  (double)(nr_evaluated ? nr_evaluated : 1);
	cfi_free(cfi);
	object_free(object);
	return us;
}

int main(int argc, char **argv)
{
	const size_t wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : DEFAULT_RULES;
	if (argc < 2 || wanted < 2) {
		fprintf(stderr, "usage: rules FILE [RULES]\n");
		return 2;
	}
	uint64_t *addresses = calloc(wanted, sizeof(*addresses));
	const size_t nr = addresses ? choose(argv[1], addresses, wanted) : 0;
	if (nr < 2)
		return 1;
	double best = 0, faults = 0;
	for (int i = 0; i < ROUNDS; i++) {
		const double us = ask(argv[1], addresses, nr, &faults);
		if (i == 0 || us < best)
			best = us;
	}
	printf("%s: %zu rules, %.2f us each, %.2f page faults each\n", argv[1], nr, best, faults);
	free(addresses);
	return 0;
}

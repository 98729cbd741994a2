/* SPDX-License-Identifier: MIT */
/* Where Go's programs keep their goroutines: of ones that go has built here, with and without DWARF and symbols. */
#include <ctop/elf/go_goroutines.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static char directory[] = "/tmp/ctop-go-XXXXXX";
static bool directory_is_made;

/* False: go is not to be had, or builds nothing so. What it has compiled is kept beside what is built here. */
static bool build(const char *flags)
{
	char command[2 * PATH_MAX], cache[PATH_MAX];
	const char *place = getenv("BUILD");
	if (!realpath(place ? place : "build", cache))
		snprintf(cache, sizeof(cache), "%s", directory);
	snprintf(command, sizeof(command),
		 "cd %s && GOCACHE=%s/go GO111MODULE=off go build %s -o program program.go "
		 ">/dev/null 2>&1",
		 directory, cache, flags);
	return system(command) == 0;
}

static void begin(void)
{
	char path[64];
	if (directory_is_made)
		return;
	CHECK(mkdtemp(directory) != NULL);
	directory_is_made = true;
	snprintf(path, sizeof(path), "%s/program.go", directory);
	FILE *source = fopen(path, "w");
	CHECK(source != NULL);
	fputs("package main\nfunc main() { <-make(chan int) }\n", source);
	CHECK_EQ(fclose(source), 0);
}

static enum goroutine_refusal find(const char *flags, struct goroutine_layout *layout)
{
	char path[64];
	begin();
	if (!build(flags))
		SKIP("go builds nothing here");
	snprintf(path, sizeof(path), "%s/program", directory);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return go_goroutines_find(fd, layout);
}

static bool has_reason(const struct goroutine_layout *layout, const char *reason)
{
	for (int i = 0; i < GOROUTINE_REASONS; i++)
		if (!strcmp(layout->reasons[i], reason))
			return true;
	return false;
}

static void check_reasons(const struct goroutine_layout *layout)
{
	CHECK(has_reason(layout, "chan receive") && has_reason(layout, "select"));
	CHECK(has_reason(layout, "sleep") && has_reason(layout, "IO wait"));
	CHECK(has_reason(layout, "GC assist wait"));
	/* The runtime's own goroutines. */
	CHECK(!has_reason(layout, "GC worker (idle)") && !has_reason(layout, "finalizer wait"));
	CHECK(goroutine_layout_is_sane(layout));
}

static void by_dwarf(void)
{
	struct goroutine_layout layout;
	CHECK_EQ(find("", &layout), GOROUTINES_SHOWN);
	check_reasons(&layout);
	/* Which has been so in each version. */
	CHECK_EQ(layout.stack_hi, 8);
	CHECK(layout.pc == layout.sp + 8 && layout.sequence > layout.reason);
}

/* What stands in a table is what DWARF says of that version. */
static void by_version(void)
{
	struct goroutine_layout by_dwarf, layout;
	CHECK_EQ(find("", &by_dwarf), GOROUTINES_SHOWN);
	const enum goroutine_refusal refusal = find("-ldflags=-w", &layout);
	if (refusal == GOROUTINES_NO_LAYOUT)
		SKIP("this version of Go has no row");
	CHECK_EQ(refusal, GOROUTINES_SHOWN);
	check_reasons(&layout);
	layout.entry = by_dwarf.entry;
	layout.nr = by_dwarf.nr;
	layout.addresses = by_dwarf.addresses;
	CHECK(!memcmp(&layout, &by_dwarf, sizeof(layout)));
}

/* What the loader fills in is read all the same. */
static void that_lies_anywhere(void)
{
	struct goroutine_layout layout;
	CHECK_EQ(find("-buildmode=pie", &layout), GOROUTINES_SHOWN);
	check_reasons(&layout);
}

static void stripped(void)
{
	struct goroutine_layout layout;
	CHECK_EQ(find("-ldflags=-s", &layout), GOROUTINES_NO_SYMBOLS);
}

static void that_is_none_of_gos(void)
{
	struct goroutine_layout layout;
	CHECK_EQ(go_goroutines_find(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &layout),
		 GOROUTINES_NOT_GO);
	CHECK_EQ(go_goroutines_find(open("/dev/null", O_RDONLY | O_CLOEXEC), &layout),
		 GOROUTINES_NOT_GO);
}

static void layouts_that_make_no_sense(void)
{
	const struct goroutine_layout good = {.entry = 1,
					      .nr = 1,
					      .addresses = 1,
					      .reasons = {"select"},
					      .id = GOROUTINE_BYTES_MAX - 8};
	CHECK(goroutine_layout_is_sane(&good));
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		struct goroutine_layout bad = good;                                                \
		bad.field = (value);                                                               \
		CHECK(!goroutine_layout_is_sane(&bad));                                            \
	} while (0)
	REFUSED(entry, 0);
	REFUSED(nr, 0);
	REFUSED(addresses, 0);
	REFUSED(sp, GOROUTINE_BYTES_MAX - 7);
	REFUSED(pc, UINT16_MAX);
	REFUSED(stack_hi, UINT16_MAX);
	REFUSED(status, GOROUTINE_BYTES_MAX - 3);
	REFUSED(id, GOROUTINE_BYTES_MAX - 7);
	REFUSED(reason, GOROUTINE_BYTES_MAX);
	REFUSED(sequence, GOROUTINE_BYTES_MAX);
	REFUSED(reasons[0][1], '\n');
	REFUSED(reasons[0][1], '\x9b');
	REFUSED(reasons[GOROUTINE_REASONS - 1][0], ';');
	struct goroutine_layout endless = good;
	memset(endless.reasons[1], 'x', sizeof(endless.reasons[1]));
	CHECK(!goroutine_layout_is_sane(&endless));
}

int main(void)
{
	RUN(by_dwarf);
	RUN(by_version);
	RUN(that_lies_anywhere);
	RUN(stripped);
	RUN(that_is_none_of_gos);
	RUN(layouts_that_make_no_sense);
	if (directory_is_made) {
		char command[64];
		snprintf(command, sizeof(command), "rm -rf %s", directory);
		if (system(command))
			return 1;
	}
	return test_done();
}

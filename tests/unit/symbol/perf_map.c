/* SPDX-License-Identifier: MIT */
#include "file_of_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/symbol/perf_map.h>

static int file_of(const char *text)
{
	return file_of_bytes(text, strlen(text));
}

static void append(int fd, const char *text)
{
	CHECK_EQ(pwrite(fd, text, strlen(text), lseek(fd, 0, SEEK_END)), (ssize_t)strlen(text));
}

static struct perf_map *map_of(const char *text)
{
	struct perf_map *map = perf_map_new();
	int fd = file_of(text);
	CHECK_EQ(perf_map_read(map, fd), 0);
	close(fd);
	return map;
}

static const char *name_at(const struct perf_map *map, uint64_t address)
{
	struct symbol_hit hit;
	return perf_map_find(map, address, &hit) ? hit.name : "-";
}

static void known(void)
{
	struct perf_map *map = map_of("7f0000001000 20 first\n"
				      "7f0000001020 10 LazyCompile:~run /app/index.js:12:34\n"
				      "0x7f0000002000 0x8 prefixed\n"
				      "7F0000003000 A Upper case\n");
	CHECK_EQ(perf_map_count(map), 4);
	CHECK_STR(name_at(map, 0x7f0000000fff), "-");
	CHECK_STR(name_at(map, 0x7f0000001000), "first");
	CHECK_STR(name_at(map, 0x7f000000101f), "first");
	CHECK_STR(name_at(map, 0x7f0000001020), "LazyCompile:~run /app/index.js:12:34");
	CHECK_STR(name_at(map, 0x7f0000001030), "-");
	CHECK_STR(name_at(map, 0x7f0000002007), "prefixed");
	CHECK_STR(name_at(map, 0x7f0000003009), "Upper case");
	CHECK_STR(name_at(map, 0x7f000000300a), "-");
	CHECK_STR(name_at(map, UINT64_MAX), "-");
	struct symbol_hit hit;
	CHECK(perf_map_find(map, 0x7f0000001025, &hit));
	CHECK_EQ(hit.start, 0x7f0000001020);
	CHECK(!hit.module);
	perf_map_free(map);
}

static void nothing(void)
{
	struct perf_map *map = map_of("");
	CHECK_STR(name_at(map, 0), "-");
	CHECK_STR(name_at(map, 0x1000), "-");
	perf_map_free(map);
	perf_map_free(NULL);
	map = perf_map_new();
	CHECK_STR(name_at(map, 0x1000), "-");
	CHECK_EQ(perf_map_read(map, -1), -EBADF);
	perf_map_free(map);
}

static void garbage(void)
{
	struct perf_map *map = map_of("\n\n \nnonsense\n"
				      "1000\n"
				      "1000 \n"
				      "1000 10\n"
				      "1000 10 \n"
				      "1000 0 empty\n"
				      "1000 xyz no size\n"
				      "11111111111111111 10 seventeen digits\n"
				      "fffffffffffffff0 20 beyond the end\n"
				      "-1000 10 negative\n"
				      " 1000 10 indented\n"
				      "0x 10 no digits\n"
				      "\x01\x02\xff\xfe\n"
				      "2000 10 good\r\n"
				      "fffffffffffffff0 f last\n"
				      "3000 10 \x1b]52;c;aGk=\x07\n");
	CHECK_EQ(perf_map_count(map), 3);
	CHECK_STR(name_at(map, 0x1000), "-");
	CHECK_STR(name_at(map, 0x2000), "good");
	CHECK_STR(name_at(map, 0xfffffffffffffffe), "last");
	CHECK_STR(name_at(map, UINT64_MAX), "-");
	CHECK_STR(name_at(map, 0x3000), "\x1b]52;c;aGk=\x07");
	perf_map_free(map);
}

static void nul_bytes(void)
{
	static const char text[] = "1000 10 a\0b\n\0\0\n2000 10 c\n";
	int fd = file_of_bytes(text, sizeof(text) - 1);
	struct perf_map *map = perf_map_new();
	CHECK_EQ(perf_map_read(map, fd), 0);
	close(fd);
	CHECK_STR(name_at(map, 0x1000), "a");
	CHECK_STR(name_at(map, 0x2000), "c");
	perf_map_free(map);
}

static void later_wins(void)
{
	struct perf_map *map = map_of("1000 100 old\n"
				      "1040 20 inside\n"
				      "10f0 100 across\n"
				      "0f80 90 before\n"
				      "1000 8 head\n"
				      "1000 8 newest head\n");
	CHECK_STR(name_at(map, 0x0f80), "before");
	CHECK_STR(name_at(map, 0x1000), "newest head");
	CHECK_STR(name_at(map, 0x1008), "before");
	CHECK_STR(name_at(map, 0x1010), "old");
	CHECK_STR(name_at(map, 0x103f), "old");
	CHECK_STR(name_at(map, 0x1040), "inside");
	CHECK_STR(name_at(map, 0x1060), "old");
	CHECK_STR(name_at(map, 0x10ef), "old");
	CHECK_STR(name_at(map, 0x10f0), "across");
	CHECK_STR(name_at(map, 0x11ef), "across");
	CHECK_STR(name_at(map, 0x11f0), "-");
	/* A function that lost its first bytes still tells where it begins. */
	struct symbol_hit hit;
	CHECK(perf_map_find(map, 0x1060, &hit));
	CHECK_EQ(hit.start, 0x1000);
	perf_map_free(map);
}

static void ends(void)
{
	struct perf_map *map = map_of("1000 100 whole\n"
				      "2000 100 cut\n"
				      "20f0 20 across\n"
				      "3000 100 twice\n"
				      "3000 80 twice\n"
				      "5000 ffffffffffffafff huge\n"
				      "9000 1 within\n");
	uint64_t end;
	CHECK(perf_map_end(map, 0x1000, "whole", UINT64_MAX, &end));
	CHECK_EQ(end, 0x1100);
	CHECK(!perf_map_end(map, 0x1000, "whol", UINT64_MAX, &end));
	CHECK(!perf_map_end(map, 0x1001, "whole", UINT64_MAX, &end));
	CHECK(!perf_map_end(map, 0x1100, "whole", UINT64_MAX, &end));
	CHECK(!perf_map_end(map, 0, "whole", UINT64_MAX, &end));
	CHECK(!perf_map_end(map, 0x2000, "cut", UINT64_MAX, &end));
	CHECK(!perf_map_end(map, 0x2000, "cut", 0xf1, &end));
	CHECK(perf_map_end(map, 0x2000, "cut", 0xf0, &end));
	CHECK_EQ(end, 0x2100);
	CHECK(perf_map_end(map, 0x20f0, "across", UINT64_MAX, &end));
	CHECK(perf_map_end(map, 0x3000, "twice", UINT64_MAX, &end));
	CHECK_EQ(end, 0x3080);
	CHECK(perf_map_end(map, 0x5000, "huge", 0x4000, &end));
	CHECK_EQ(end, UINT64_MAX);
	CHECK(!perf_map_end(map, 0x5000, "huge", 0x4001, &end));
	perf_map_free(map);
}

/* Random overlapping lines, against the plain way: the last line that covers an address. */
static void later_wins_always(void)
{
	enum { NR = 300, SPAN = 2000 };
	unsigned starts[NR], sizes[NR];
	char text[NR * 32], *at = text;
	srandom(7);
	for (unsigned i = 0; i < NR; i++) {
		starts[i] = (unsigned)random() % SPAN;
		sizes[i] = (unsigned)random() % 100 + 1;
		at += sprintf(at, "%x %x f%u\n", starts[i], sizes[i], i);
	}
	struct perf_map *map = map_of(text);
	for (unsigned address = 0; address < SPAN + 200; address++) {
		char wanted[16] = "-";
		for (unsigned i = 0; i < NR; i++)
			if (address >= starts[i] && address - starts[i] < sizes[i])
				sprintf(wanted, "f%u", i);
		CHECK_STR(name_at(map, address), wanted);
	}
	perf_map_free(map);
}

static void half_line(void)
{
	struct perf_map *map = perf_map_new();
	int fd = file_of("1000 10 whole\n2000 10 ha");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 0x1000), "whole");
	CHECK_STR(name_at(map, 0x2000), "-");
	append(fd, "lf\n3000 10 third\n4");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 0x2000), "half");
	CHECK_STR(name_at(map, 0x3000), "third");
	CHECK_EQ(perf_map_count(map), 3);
	/* Nothing new: nothing changes. */
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_EQ(perf_map_count(map), 3);
	close(fd);
	perf_map_free(map);
}

static void rewritten(void)
{
	struct perf_map *map = perf_map_new();
	int fd = file_of("1000 10 old one\n2000 10 old two\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	/* Shorter. */
	CHECK_EQ(ftruncate(fd, 0), 0);
	append(fd, "1000 10 new\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 0x1000), "new");
	CHECK_STR(name_at(map, 0x2000), "-");
	/* Longer, in the same file. */
	CHECK_EQ(ftruncate(fd, 0), 0);
	append(fd, "5000 10 other\n6000 10 another\n7000 10 a third\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 0x1000), "-");
	CHECK_STR(name_at(map, 0x7000), "a third");
	close(fd);
	/* Another file. */
	fd = file_of("8000 10 elsewhere\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 0x7000), "-");
	CHECK_STR(name_at(map, 0x8000), "elsewhere");
	close(fd);
	perf_map_free(map);
}

/* 100,000 lines that come in pieces cut anywhere give what one reading gives. */
static void growing(void)
{
	enum { LINES = 100000 };
	char *text = malloc(LINES * 48), *at = text;
	for (unsigned i = 0; i < LINES; i++)
		at += sprintf(at, "%x %x Function:number_%u /a/path.js:%u\n", 0x10000 + i * 0x40,
			      0x20 + i % 0x20, i, i % 1000);
	size_t size = (size_t)(at - text);
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perf_map *map = perf_map_new();
	srandom(11);
	for (size_t done = 0; done < size;) {
		size_t piece = (size_t)random() % (size / 8) + 1;
		if (piece > size - done)
			piece = size - done;
		CHECK_EQ(write(fd, text + done, piece), (ssize_t)piece);
		CHECK_EQ(perf_map_read(map, fd), 0);
		done += piece;
	}
	close(fd);
	CHECK_EQ(perf_map_count(map), LINES);
	for (unsigned i = 0; i < LINES; i += 7) {
		char wanted[64];
		sprintf(wanted, "Function:number_%u /a/path.js:%u", i, i % 1000);
		CHECK_STR(name_at(map, 0x10000 + i * 0x40), wanted);
		CHECK_STR(name_at(map, 0x10000 + i * 0x40 + 0x1f + i % 0x20), wanted);
		CHECK_STR(name_at(map, 0x10000 + i * 0x40 + 0x20 + i % 0x20), "-");
	}
	perf_map_free(map);
	free(text);
}

static void endless_lines(void)
{
	enum { LONG = 3 << 20 };
	char *text = malloc(LONG + 64);
	int used = sprintf(text, "1000 10 ");
	memset(text + used, 'x', LONG);
	strcpy(text + used + LONG, "\n2000 10 after\n");
	struct perf_map *map = map_of(text);
	CHECK_STR(name_at(map, 0x1000), "-");
	CHECK_STR(name_at(map, 0x2000), "after");
	CHECK_EQ(perf_map_count(map), 1);
	perf_map_free(map);
	/* Never ended. */
	text[used + LONG] = '\0';
	map = map_of(text);
	CHECK_EQ(perf_map_count(map), 0);
	perf_map_free(map);
	/* Long, but a line: the name is cut. */
	strcpy(text + used + 10000, "\n");
	map = map_of(text);
	CHECK_EQ(strlen(name_at(map, 0x1000)), SYMBOL_NAME_MAX);
	perf_map_free(map);
	free(text);
}

static void endless_lines_that_end_later(void)
{
	enum { LONG = 3 << 20 };
	char *text = malloc(LONG + 1);
	memset(text, 'x', LONG);
	text[LONG] = '\0';
	struct perf_map *map = perf_map_new();
	int fd = file_of(text);
	CHECK_EQ(perf_map_read(map, fd), 0);
	append(fd, "\n2000 10 after\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_EQ(perf_map_count(map), 1);
	CHECK_STR(name_at(map, 0x2000), "after");
	/* Longer than the buffer, and rewritten meanwhile. */
	append(fd, text);
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_EQ(ftruncate(fd, 0), 0);
	append(fd, "3000 10 new_name\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 0x2000), "-");
	CHECK_STR(name_at(map, 0x3000), "new_name");
	close(fd);
	perf_map_free(map);
	free(text);
}

/* What is beyond all reason is left out, not waited for. */
static void far_too_many(void)
{
	enum { LINES = (1 << 20) + 1000 };
	struct perf_map *map = perf_map_new();
	char *text = malloc(LINES * 16), *at = text;
	for (unsigned i = 0; i < LINES; i++)
		at += sprintf(at, "%x 1 f\n", i + 1);
	int fd = file_of(text);
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_EQ(perf_map_count(map), 1 << 20);
	append(fd, "2000000 10 late\n");
	CHECK_EQ(perf_map_read(map, fd), 0);
	CHECK_STR(name_at(map, 1), "f");
	CHECK_STR(name_at(map, 0x2000000), "-");
	close(fd);
	perf_map_free(map);
	free(text);
}

/* A line over everything, again and again, is what costs most where ranges are searched. */
static void all_cover_all(void)
{
	enum { LINES = 50000 };
	char *text = malloc(LINES * 32), *at = text;
	for (unsigned i = 0; i < LINES; i++)
		at += sprintf(at, "%x %x f%u\n", i + 1, 0x7fffffff - i, i);
	struct perf_map *map = map_of(text);
	CHECK_STR(name_at(map, 1), "f0");
	CHECK_STR(name_at(map, LINES), "f49999");
	CHECK_STR(name_at(map, 0x7ffffff0), "f49999");
	perf_map_free(map);
	free(text);
}

int main(void)
{
	RUN(known);
	RUN(nothing);
	RUN(garbage);
	RUN(nul_bytes);
	RUN(later_wins);
	RUN(ends);
	RUN(later_wins_always);
	RUN(half_line);
	RUN(rewritten);
	RUN(growing);
	RUN(endless_lines);
	RUN(endless_lines_that_end_later);
	RUN(far_too_many);
	RUN(all_cover_all);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* A dump of generated code: what is where at which time; half records, other files, damage. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/symbol/jitdump.h>
#include "test.h"

enum { LOAD, MOVE, LINES };

struct file {
	unsigned char bytes[64 << 10];
	size_t size;
};

static void put(struct file *file, const void *bytes, size_t size)
{
	CHECK(file->size + size <= sizeof(file->bytes));
	memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static void put_u64(struct file *file, uint64_t value)
{
	put(file, &value, sizeof(value));
}

static void begin(struct file *file, uint64_t time_ns, uint64_t flags)
{
	const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, 7};
	file->size = 0;
	put(file, words, sizeof(words));
	put_u64(file, time_ns);
	put_u64(file, flags);
}

static void begin_record(struct file *file, uint32_t kind, size_t bytes, uint64_t time_ns)
{
	const uint32_t words[] = {kind, (uint32_t)(16 + bytes)};
	put(file, words, sizeof(words));
	put_u64(file, time_ns);
}

static void load(struct file *file, uint64_t time_ns, uint64_t start, uint64_t bytes,
		 const char *name)
{
	static const char code[32];
	begin_record(file, LOAD, 40 + strlen(name) + 1 + sizeof(code), time_ns);
	put_u64(file, 7);
	put_u64(file, start);
	put_u64(file, start);
	put_u64(file, bytes);
	put_u64(file, 1);
	put(file, name, strlen(name) + 1);
	put(file, code, sizeof(code));
}

static void move(struct file *file, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t bytes)
{
	begin_record(file, MOVE, 48, time_ns);
	put_u64(file, 7);
	put_u64(file, to);
	put_u64(file, from);
	put_u64(file, to);
	put_u64(file, bytes);
	put_u64(file, 1);
}

static struct jitdump *dump;
static int fd;

static void write_as(const struct file *file, size_t size)
{
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(pwrite(fd, file->bytes, size, 0), size);
}

static int read_all(const struct file *file)
{
	write_as(file, file->size);
	return jitdump_read(dump, fd);
}

static const char *name_at(uint64_t address, uint64_t time_ns)
{
	struct symbol_hit hit;
	if (!jitdump_find(dump, address, time_ns, &hit))
		return "-";
	CHECK(hit.start <= address);
	return hit.name;
}

static void start(void)
{
	jitdump_free(dump);
	if (fd > 0)
		close(fd);
	dump = jitdump_new();
	fd = memfd_create("dump", MFD_CLOEXEC);
	CHECK(dump && fd >= 0);
}

static struct file file;

static void by_time(void)
{
	start();
	begin(&file, 1, 0);
	load(&file, 100, 0x1000, 0x20, "first");
	load(&file, 200, 0x1010, 0x20, "second");
	begin_record(&file, LINES, 8, 210);
	put_u64(&file, 0);
	move(&file, 300, 0x1010, 0x9000, 0x20);
	load(&file, 400, 0x1000, 0x8, "third");
	CHECK_EQ(read_all(&file), 0);
	CHECK_EQ(jitdump_count(dump), 4);
	CHECK_STR(name_at(0x1000, 99), "-");
	CHECK_STR(name_at(0x1000, 100), "first");
	CHECK_STR(name_at(0x1018, 199), "first");
	CHECK_STR(name_at(0x1018, 200), "second");
	CHECK_STR(name_at(0x100f, 250), "first");
	CHECK_STR(name_at(0x9008, 299), "-");
	CHECK_STR(name_at(0x9008, 300), "second");
	CHECK_STR(name_at(0x1018, 300), "-");
	CHECK_STR(name_at(0x1004, 399), "first");
	CHECK_STR(name_at(0x1004, 400), "third");
	CHECK_STR(name_at(0x1008, 400), "first");
	CHECK_STR(name_at(0x1004, UINT64_MAX), "third");
	CHECK_STR(name_at(0x1030, 250), "-");
}

/* The CPU's own clock says nothing of ours: the last one holds. */
static void by_another_clock(void)
{
	start();
	begin(&file, 1, 1);
	load(&file, UINT64_MAX, 0x1000, 0x20, "first");
	load(&file, UINT64_MAX, 0x1000, 0x20, "second");
	CHECK_EQ(read_all(&file), 0);
	CHECK_STR(name_at(0x1000, 5), "second");
}

struct line {
	uint64_t address;
	uint32_t line;
	const char *file;
};

/* nr_said of them, by the record's own word. */
static void lines(struct file *to, uint64_t code, const struct line *items, size_t nr,
		  uint64_t nr_said)
{
	size_t size = 16;
	for (size_t i = 0; i < nr; i++)
		size += 16 + strlen(items[i].file) + 1;
	begin_record(to, LINES, size, 5);
	put_u64(to, code);
	put_u64(to, nr_said);
	for (size_t i = 0; i < nr; i++) {
		const uint32_t words[] = {items[i].line, 7};
		put_u64(to, items[i].address);
		put(to, words, sizeof(words));
		put(to, items[i].file, strlen(items[i].file) + 1);
	}
}

static const char *line_at(uint64_t address, uint64_t time_ns)
{
	static char text[64];
	struct symbol_hit hit;
	if (!jitdump_find(dump, address, time_ns, &hit) || !hit.file)
		return "-";
	snprintf(text, sizeof(text), "%s:%u", hit.file, hit.line);
	return text;
}

static const struct line of_first[] = {
	{0x1000, 10, "a.js"}, {0x1008, 11, "\xff"}, {0x1010, 3, "b.js"}};

static void lines_of_code(void)
{
	start();
	begin(&file, 1, 0);
	lines(&file, 0x1000, of_first, 3, 3);
	load(&file, 100, 0x1000, 0x20, "first");
	load(&file, 110, 0x2000, 0x20, "without");
	move(&file, 200, 0x1000, 0x9000, 0x20);
	lines(&file, 0x1000, &(const struct line){0x1004, 77, "c.js"}, 1, 1);
	load(&file, 300, 0x1000, 0x20, "second");
	/* Whose code does not come next. */
	lines(&file, 0x3000, &(const struct line){0x3000, 1, "c.js"}, 1, 1);
	load(&file, 310, 0x4000, 0x20, "other");
	load(&file, 320, 0x3000, 0x20, "late");
	CHECK_EQ(read_all(&file), 0);
	CHECK_STR(line_at(0x1000, 150), "a.js:10");
	CHECK_STR(line_at(0x1007, 150), "a.js:10");
	CHECK_STR(line_at(0x1008, 150), "a.js:11");
	CHECK_STR(line_at(0x101f, 150), "b.js:3");
	CHECK_STR(line_at(0x9009, 250), "a.js:11");
	CHECK_STR(line_at(0x1003, 300), "-");
	CHECK_STR(line_at(0x1004, 300), "c.js:77");
	CHECK_STR(line_at(0x2000, 300), "-");
	CHECK_STR(line_at(0x3000, 400), "-");
	CHECK_STR(line_at(0x4000, 400), "-");
}

/* V8's count from an ELF header before the code. */
static void lines_behind_a_header(void)
{
	static const struct line v8[] = {{0x1040, 1, "a.js"}, {0x1050, 2, "a.js"}};
	start();
	begin(&file, 1, 0);
	lines(&file, 0x1000, v8, 2, 2);
	load(&file, 100, 0x1000, 0x80, "first");
	CHECK_EQ(read_all(&file), 0);
	CHECK_STR(line_at(0x1000, 150), "a.js:1");
	CHECK_STR(line_at(0x1010, 150), "a.js:2");
	/* One that does not says how all are meant. */
	lines(&file, 0x2000, &(const struct line){0x2000, 5, "b.js"}, 1, 1);
	load(&file, 110, 0x2000, 0x20, "second");
	CHECK_EQ(read_all(&file), 0);
	CHECK_STR(line_at(0x1010, 150), "-");
	CHECK_STR(line_at(0x1050, 150), "a.js:2");
	CHECK_STR(line_at(0x2000, 150), "b.js:5");
}

static void lines_that_lie(void)
{
	static const struct line kinds[][2] = {
		{{0x1008, 1, "a"}, {0x1004, 2, "a"}}, /* backwards */
		{{0x0fff, 1, "a"}, {0x1004, 2, "a"}}, /* before the code */
		{{0x1000, 1, "\xff"}, {0x1004, 2, "a"}},
		{{0x1000, 1, "\x10\x10\x04"}, {0x1004, 2, "a"}},
		{{0x1000, 1, ""}, {0x1004, 2, "a"}},
		{{0x1000, 1, "a"}, {UINT64_MAX, 2, "a"}},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		start();
		begin(&file, 1, 0);
		lines(&file, 0x1000, kinds[i], 2, 2);
		load(&file, 100, 0x1000, 0x20, "first");
		lines(&file, 0x2000, &(const struct line){0x2000, 5, "b.js"}, 1, 1);
		load(&file, 110, 0x2000, 0x20, "second");
		CHECK_EQ(read_all(&file), 0);
		CHECK_STR(name_at(0x1004, 150), "first");
		CHECK_STR(line_at(0x1008, 150), "-");
		CHECK_STR(line_at(0x2000, 150), "b.js:5");
	}
	/* More, or none, than there are. */
	for (uint64_t nr = 0; nr < 3; nr++) {
		static const uint64_t says[] = {4, UINT64_MAX, 0};
		start();
		begin(&file, 1, 0);
		lines(&file, 0x1000, of_first, 3, says[nr]);
		load(&file, 100, 0x1000, 0x20, "first");
		CHECK_EQ(read_all(&file), 0);
		CHECK_STR(line_at(0x1000, 150), "-");
	}
	start();
	begin(&file, 1, 0);
	begin_record(&file, LINES, 8, 5);
	put_u64(&file, 0x1000);
	load(&file, 100, 0x1000, 0x20, "first");
	CHECK_EQ(read_all(&file), 0);
	CHECK_STR(line_at(0x1000, 150), "-");
}

static void large_code(void)
{
	start();
	begin(&file, 1, 0);
	load(&file, 10, 0x10000, 64 << 20, "large");
	load(&file, 20, 0x10000 + (32 << 20), 16, "within");
	load(&file, 30, UINT64_MAX - 0xfff, 0xfff, "last");
	load(&file, 40, 0x5000, 0, "empty");
	load(&file, 40, UINT64_MAX, 2, "beyond");
	load(&file, 40, 0x6000, 16, "");
	CHECK_EQ(read_all(&file), 0);
	CHECK_EQ(jitdump_count(dump), 3);
	CHECK_STR(name_at(0x10000 + (8 << 20), 50), "large");
	CHECK_STR(name_at(0x10000 + (32 << 20), 50), "within");
	CHECK_STR(name_at(0x10000 + (32 << 20), 15), "large");
	CHECK_STR(name_at(UINT64_MAX - 1, 50), "last");
	CHECK_STR(name_at(0x6000, 50), "-");
}

/* Read again at every length that it ever had, the same comes out. */
static void that_grows(void)
{
	start();
	begin(&file, 1, 0);
	const size_t head = file.size;
	load(&file, 100, 0x1000, 0x20, "first");
	const size_t one = file.size;
	load(&file, 200, 0x2000, 0x20, "second");
	for (size_t size = head; size <= file.size; size++) {
		CHECK_EQ(ftruncate(fd, (off_t)size), 0);
		CHECK_EQ(pwrite(fd, file.bytes, size, 0), size);
		CHECK_EQ(jitdump_read(dump, fd), 0);
		CHECK_STR(name_at(0x1000, 500), size < one ? "-" : "first");
		CHECK_STR(name_at(0x2000, 500), size < file.size ? "-" : "second");
	}
	CHECK_EQ(jitdump_count(dump), 2);
	/* Written again by another program. */
	begin(&file, 2, 0);
	load(&file, 300, 0x1000, 0x20, "other");
	CHECK_EQ(read_all(&file), 0);
	CHECK_STR(name_at(0x1000, 500), "other");
	CHECK_STR(name_at(0x2000, 500), "-");
}

/* A record with its code, all of one byte. */
static void load_code(struct file *to, uint64_t time_ns, uint64_t start, size_t bytes,
		      const char *name, unsigned char fill)
{
	begin_record(to, LOAD, 40 + strlen(name) + 1 + bytes, time_ns);
	put_u64(to, 7);
	put_u64(to, start);
	put_u64(to, start);
	put_u64(to, bytes);
	put_u64(to, 1);
	put(to, name, strlen(name) + 1);
	for (size_t i = 0; i < bytes; i++)
		put(to, &fill, 1);
}

static uint8_t code_bytes[64];

/* The byte that a function is full of, or what went wrong. */
static int code_of(uint64_t start, const char *name)
{
	struct jit_code code;
	memset(code_bytes, 0, sizeof(code_bytes));
	const int result = jitdump_code(dump, start, name, code_bytes, sizeof(code_bytes), &code);
	if (result)
		return result;
	CHECK_EQ(code.machine, 62);
	CHECK_EQ(code.size,
		 code.whole_bytes < sizeof(code_bytes) ? code.whole_bytes : sizeof(code_bytes));
	for (size_t i = 1; i < code.size; i++)
		CHECK_EQ(code_bytes[i], code_bytes[0]);
	return code_bytes[0];
}

static void hold(void)
{
	CHECK_EQ(read_all(&file), 0);
	jitdump_hold(dump, dup(fd));
}

static void code_by_name(void)
{
	start();
	begin(&file, 1, 0);
	lines(&file, 0x1000, of_first, 3, 3);
	load_code(&file, 100, 0x1000, 0x20, "first", 1);
	load_code(&file, 200, 0x1000, 0x30, "second", 2);
	load_code(&file, 300, 0x2000, 5000, "large", 3);
	move(&file, 400, 0x1000, 0x9000, 0x30);
	move(&file, 410, 0x2000, 0xa000, 0x30); /* not all of it */
	hold();
	CHECK_EQ(code_of(0x1000, "first"), 1);
	CHECK_EQ(code_of(0x1000, "second"), 2);
	CHECK_EQ(code_of(0x9000, "second"), 2);
	CHECK_EQ(code_of(0x9000, "first"), -ENOENT);
	CHECK_EQ(code_of(0x1001, "first"), -ENOENT);
	CHECK_EQ(code_of(0x1000, "firs"), -ENOENT);
	CHECK_EQ(code_of(0xa000, "large"), -ENODATA);
	CHECK_EQ(code_of(0x2000, "large"), 3);
	struct jit_code code;
	const char *name;
	uint32_t line;
	CHECK_EQ(jitdump_code(dump, 0x2000, "large", code_bytes, 64, &code), 0);
	CHECK_EQ(code.whole_bytes, 5000);
	CHECK(!jitdump_line(dump, &code, 0, &name, &line));
	CHECK_EQ(jitdump_code(dump, 0x1000, "first", code_bytes, 64, &code), 0);
	CHECK(jitdump_line(dump, &code, 8, &name, &line));
	CHECK_STR(name, "a.js");
	CHECK_EQ(line, 11);
}

/* A function that was compiled again to the same code is one; to other code, nobody knows which is meant. */
static void code_of_one_name(void)
{
	start();
	begin(&file, 1, 0);
	load_code(&file, 100, 0x1000, 0x20, "same", 1);
	load_code(&file, 200, 0x1000, 0x20, "between", 2);
	load_code(&file, 300, 0x1000, 0x20, "same", 1);
	load_code(&file, 310, 0x2000, 0x20, "other", 1);
	load_code(&file, 320, 0x2000, 0x20, "other", 2);
	load_code(&file, 330, 0x3000, 0x20, "longer", 1);
	load_code(&file, 340, 0x3000, 0x21, "longer", 1);
	for (uint64_t i = 0; i < 17; i++)
		load_code(&file, 400 + i, 0x4000, 0x20, "often", 1);
	hold();
	CHECK_EQ(code_of(0x1000, "same"), 1);
	CHECK_EQ(code_of(0x2000, "other"), -ENOTUNIQ);
	CHECK_EQ(code_of(0x3000, "longer"), -ENOTUNIQ);
	CHECK_EQ(code_of(0x4000, "often"), -ENOTUNIQ);
}

static void code_that_is_not_there(void)
{
	start();
	begin(&file, 1, 0);
	load(&file, 100, 0x1000, 33, "beyond"); /* its record has 32 bytes */
	load(&file, 110, 0x2000, 0x7fffffffffff, "huge");
	load(&file, 120, 0x3000, 32, "whole");
	hold();
	CHECK_EQ(code_of(0x1000, "beyond"), -ENODATA);
	CHECK_EQ(code_of(0x2000, "huge"), -ENODATA);
	CHECK_EQ(code_of(0x3000, "whole"), 0);
	/* Nobody holds the file. */
	jitdump_hold(dump, -1);
	CHECK_EQ(code_of(0x3000, "whole"), -ENODATA);
	/* Of a machine that no ELF file knows. */
	file.bytes[15] = 1;
	hold();
	CHECK_EQ(code_of(0x3000, "whole"), -ENODATA);
}

static void code_that_changes_behind_our_back(void)
{
	start();
	begin(&file, 1, 0);
	load_code(&file, 100, 0x1000, 0x20, "first", 1);
	const size_t first = file.size;
	load_code(&file, 200, 0x2000, 0x20, "other", 2);
	hold();
	/* Another name, another size, another kind of record, nothing any more. */
	const size_t places[] = {first - 0x20 - 3, first - 0x20 - 6 - 16, first - 0x20 - 6 - 56};
	for (size_t i = 0; i < 3; i++) {
		const unsigned char before = file.bytes[places[i]], changed = before ^ 1;
		CHECK_EQ(pwrite(fd, &changed, 1, (off_t)places[i]), 1);
		CHECK_EQ(code_of(0x1000, "first"), -ENODATA);
		CHECK_EQ(code_of(0x2000, "other"), 2);
		CHECK_EQ(pwrite(fd, &before, 1, (off_t)places[i]), 1);
	}
	CHECK_EQ(code_of(0x1000, "first"), 1);
	CHECK_EQ(ftruncate(fd, (off_t)first - 1), 0);
	CHECK_EQ(code_of(0x1000, "first"), -ENODATA);
	CHECK_EQ(code_of(0x2000, "other"), -ENODATA);
}

static void no_dumps(void)
{
	start();
	begin(&file, 1, 0);
	CHECK(!jitdump_is_one(fd));
	CHECK_EQ(pwrite(fd, "1000 20 name\n", 13, 0), 13);
	CHECK(!jitdump_is_one(fd));
	CHECK(jitdump_read(dump, fd) < 0);
	write_as(&file, file.size);
	CHECK(jitdump_is_one(fd));
	static const uint32_t sizes[] = {0, 15};
	for (size_t i = 0; i < 2; i++) {
		begin(&file, 1 + i, 0);
		begin_record(&file, LOAD, 0, 5);
		memcpy(file.bytes + file.size - 12, &sizes[i], 4);
		load(&file, 6, 0x1000, 0x20, "behind");
		CHECK_EQ(read_all(&file), 0);
		CHECK_STR(name_at(0x1000, 50), "-");
	}
}

static void damage(void)
{
	srandom(3);
	for (int round = 0; round < 5000; round++) {
		start();
		begin(&file, 1, 0);
		for (uint64_t i = 0; i < 20; i++)
			load(&file, 100 + i, 0x1000 + 0x40 * (i % 7), 0x40, "name");
		move(&file, 300, 0x1000, 0x9000, 0x40);
		for (long i = random() % 5; i > 0; i--)
			file.bytes[40 + (size_t)random() % (file.size - 40)] =
				(unsigned char)(random() % 3 ? random() : 0xff);
		write_as(&file, (size_t)random() % (file.size + 1));
		jitdump_read(dump, fd);
		write_as(&file, file.size);
		jitdump_read(dump, fd);
		for (uint64_t address = 0xff0; address < 0x1200; address += 0x10)
			CHECK(strlen(name_at(address, 400)) < sizeof(file.bytes));
	}
}

int main(void)
{
	RUN(by_time);
	RUN(by_another_clock);
	RUN(lines_of_code);
	RUN(lines_behind_a_header);
	RUN(lines_that_lie);
	RUN(large_code);
	RUN(that_grows);
	RUN(code_by_name);
	RUN(code_of_one_name);
	RUN(code_that_is_not_there);
	RUN(code_that_changes_behind_our_back);
	RUN(no_dumps);
	RUN(damage);
	jitdump_free(dump);
	return test_done();
}

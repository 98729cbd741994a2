/* SPDX-License-Identifier: MIT */
/* Functions without a name, and symbols without a size: where they begin and end, and tables that lie about it. */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/elf/section.h>

#include "jailed/symbol/elf_bounds.h"
#include "read_elf.h"

static void add(struct elf_ranges *ranges, uint64_t start, uint64_t end)
{
	CHECK_EQ(vec_reserve(ranges, ranges->nr + 1), 0);
	ranges->items[ranges->nr++] = (struct elf_range){start, end};
}

static void entries_bound_functions(void)
{
	struct elf_bounds bounds = {0};
	add(&bounds.code, 0x1000, 0x2000);
	add(&bounds.entries, 0x1100, 0x1180);
	add(&bounds.entries, 0x1040, 0x1080);
	add(&bounds.entries, 0x1080, 0x10c0);
	elf_bounds_finish(&bounds);
	CHECK_EQ(elf_bounds_start(&bounds, 0x1000), 0x1000);
	CHECK_EQ(elf_bounds_start(&bounds, 0x103f), 0x1000);
	CHECK_EQ(elf_bounds_start(&bounds, 0x107f), 0x1040);
	CHECK_EQ(elf_bounds_start(&bounds, 0x1080), 0x1080);
	CHECK_EQ(elf_bounds_start(&bounds, 0x10d0), 0x10c0);
	CHECK_EQ(elf_bounds_start(&bounds, 0x1fff), 0x1180);
	CHECK_EQ(elf_bounds_end(&bounds, 0x1000), 0x1040);
	CHECK_EQ(elf_bounds_end(&bounds, 0x1050), 0x1080);
	CHECK_EQ(elf_bounds_end(&bounds, 0x10d0), 0x1100);
	CHECK_EQ(elf_bounds_end(&bounds, 0x1200), 0x2000);
	CHECK_EQ(elf_bounds_end(&bounds, 0x2000), 0x2000);
	CHECK(!elf_bounds_code(&bounds, 0x2000) && !elf_bounds_code(&bounds, 0xfff));
	elf_bounds_release(&bounds);
}

static void entries_that_lie(void)
{
	struct elf_bounds bounds = {0};
	add(&bounds.code, 0x1000, 0x2000);
	add(&bounds.code, 0x4000, 0x5000);
	/* Everything; nothing that is code; into data; the same twice; one around others. */
	add(&bounds.entries, 0, UINT64_MAX);
	add(&bounds.entries, 0x3000, 0x3800);
	add(&bounds.entries, 0x1f00, 0x4800);
	add(&bounds.entries, 0x1100, 0x1110);
	add(&bounds.entries, 0x1100, UINT64_MAX);
	add(&bounds.entries, 0x4000, 0x5000);
	add(&bounds.entries, 0x4100, 0x4200);
	elf_bounds_finish(&bounds);
	for (size_t i = 0; i < bounds.entries.nr; i++) {
		const struct elf_range *entry = &bounds.entries.items[i];
		const struct elf_range *code = elf_bounds_code(&bounds, entry->start);
		CHECK(code && entry->start < entry->end && entry->end <= code->end);
		CHECK(!i || entry[-1].end <= entry->start);
	}
	CHECK_EQ(elf_bounds_start(&bounds, 0x1050), 0x1000);
	CHECK_EQ(elf_bounds_end(&bounds, 0x1f80), 0x2000);
	CHECK_EQ(elf_bounds_start(&bounds, 0x4050), 0x4000);
	CHECK_EQ(elf_bounds_end(&bounds, 0x4050), 0x4100);
	CHECK_EQ(elf_bounds_start(&bounds, 0x4300), 0x4200);
	elf_bounds_release(&bounds);
	CHECK_EQ(elf_bounds_end(&bounds, 0x1000), 0x1000);
	CHECK_EQ(elf_bounds_start(&bounds, 0x1000), 0);
}

/* A file of these symbols whose .text is that long. */
static struct read_elf read_with_text(const struct test_symbol *symbols, size_t nr, uint64_t bytes)
{
	static char file[64 << 10];
	const struct test_elf elf = {symbols, nr, SHT_SYMTAB, 0, NULL, NULL};
	size_t size = test_elf_bytes(&elf, file, sizeof(file));
	Elf64_Ehdr header;
	Elf64_Shdr text;
	memcpy(&header, file, sizeof(header));
	char *at = file + header.e_shoff + TEST_TEXT * sizeof(text);
	memcpy(&text, at, sizeof(text));
	text.sh_size = bytes;
	memcpy(at, &text, sizeof(text));
	struct read_elf read = {opened(file_of_bytes(file, size)), elf_symbols_new()};
	CHECK_EQ(elf_symbols_add(read.symbols, object_elf(read.object), SHT_SYMTAB), 1);
	elf_symbols_finish(read.symbols);
	return read;
}

static void a_symbol_without_a_size_ends_soon(void)
{
	static const struct test_symbol made[] = {
		{"first", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sizeless", 0x1020, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"endless", 0x1800, 0xffffffff, STB_GLOBAL, STT_FUNC, TEST_TEXT},
	};
	struct read_elf read = read_with_text(made, NR(made), 0x1000);
	uint64_t start;
	CHECK_STR(name_at(read.symbols, 0x17ff), "sizeless");
	CHECK(elf_symbols_bound(read.symbols, 0x1010, &start));
	CHECK_EQ(start, 0x1010);
	CHECK(elf_symbols_bound(read.symbols, 0x101f, &start));
	CHECK_EQ(start, 0x1010);
	/* What a symbol claims beyond its section is not its own. */
	CHECK_STR(name_at(read.symbols, 0x1fff), "endless");
	CHECK_STR(name_at(read.symbols, 0x2000), "-");
	CHECK(!elf_symbols_bound(read.symbols, 0x2000, &start));
	release(&read);
	read = read_with_text(made, 2, 0x40000);
	CHECK_STR(name_at(read.symbols, 0x1020), "sizeless");
	CHECK_STR(name_at(read.symbols, 0x201f), "sizeless");
	CHECK_STR(name_at(read.symbols, 0x2020), "-");
	CHECK(elf_symbols_bound(read.symbols, 0x40fff, &start));
	CHECK_EQ(start, 0x2020);
	release(&read);
}

static void nothing_known_bounds_nothing(void)
{
	struct test_elf file = {NULL, 0, SHT_SYMTAB, 0, NULL, NULL};
	struct read_elf read = {opened(test_elf_fd(&file)), elf_symbols_new()};
	uint64_t start;
	CHECK_EQ(elf_symbols_add_unwind_table(read.symbols, object_elf(read.object)), 0);
	elf_symbols_finish(read.symbols);
	CHECK(!elf_symbols_bound(read.symbols, 0x1000, &start));
	release(&read);
}

static void own_path(char path[PATH_MAX])
{
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
	CHECK(size > 0);
	path[size] = '\0';
}

/* A file read as if it had no symbols, beside what binutils reads in the unwind table at path. */
static void check_every_entry(int fd, const char *path)
{
	char command[PATH_MAX + 64], line[512];
	struct read_elf read = {opened(fd), elf_symbols_new()};
	CHECK_EQ(elf_symbols_add_unwind_table(read.symbols, object_elf(read.object)), 0);
	elf_symbols_finish(read.symbols);
	snprintf(command, sizeof(command), "readelf --debug-dump=frames '%s' 2>/dev/null", path);
	FILE *pipe = popen(command, "re");
	CHECK(pipe != NULL);
	size_t nr = 0;
	while (fgets(line, sizeof(line), pipe)) {
		uint64_t from, to, start;
		const char *at = strstr(line, " pc=");
		if (!at || sscanf(at, " pc=%" SCNx64 "..%" SCNx64, &from, &to) != 2 || from == to)
			continue;
		CHECK(elf_symbols_bound(read.symbols, from, &start));
		CHECK_EQ(start, from);
		CHECK(elf_symbols_bound(read.symbols, to - 1, &start));
		CHECK_EQ(start, from);
		nr++;
	}
	pclose(pipe);
	CHECK(nr > 50);
	release(&read);
}

static void every_entry_of_a_real_file(void)
{
	char path[PATH_MAX];
	if (system("command -v readelf >/dev/null 2>&1") != 0)
		SKIP("binutils are not installed");
	own_path(path);
	check_every_entry(open(path, O_RDONLY | O_CLOEXEC), path);
}

/* The table in front of the entries may say what it likes: out of order, of other functions, far outside. */
static void a_table_that_lies_hides_no_entry(void)
{
	static const size_t rows[] = {0, 5, 20};
	char path[PATH_MAX], copy[] = "/tmp/ctop-test-XXXXXX", command[PATH_MAX + 64];
	GElf_Shdr header;
	if (system("command -v readelf >/dev/null 2>&1") != 0)
		SKIP("binutils are not installed");
	own_path(path);
	for (size_t i = 0; i < NR(rows) * 2; i++) {
		int fd = mkstemp(copy);
		CHECK(fd >= 0);
		snprintf(command, sizeof(command), "cp '%s' %s", path, copy);
		CHECK_EQ(system(command), 0);
		struct object *object = opened(dup(fd));
		CHECK(elf_section_named(object_elf(object), ".eh_frame_hdr", &header) != NULL);
		const off_t at = (off_t)(header.sh_offset + 12 + rows[i / 2] * 8);
		int32_t row[4];
		CHECK_EQ(pread(fd, row, sizeof(row), at), sizeof(row));
		/* Two change places; or the second one's entry is nowhere. */
		const int32_t lie[4] = {row[2], row[3], row[0], row[1]};
		const int32_t nowhere[4] = {row[0], row[1], row[2], INT32_MAX};
		CHECK_EQ(pwrite(fd, i % 2 ? nowhere : lie, sizeof(row), at), sizeof(row));
		object_free(object);
		check_every_entry(fd, path);
		unlink(copy);
		strcpy(copy + sizeof(copy) - 7, "XXXXXX");
	}
}

int main(void)
{
	RUN(entries_bound_functions);
	RUN(entries_that_lie);
	RUN(a_symbol_without_a_size_ends_soon);
	RUN(nothing_known_bounds_nothing);
	RUN(every_entry_of_a_real_file);
	RUN(a_table_that_lies_hides_no_entry);
	return test_done();
}

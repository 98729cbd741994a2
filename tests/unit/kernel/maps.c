/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/maps.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "test.h"

static int parse(const char *text, struct maps_line *line)
{
	size_t at = 0;
	return maps_next(text, strlen(text), &at, line);
}

static bool has_path(const struct maps_line *line, const char *path)
{
	return line->path_bytes == strlen(path) && memcmp(line->path, path, line->path_bytes) == 0;
}

static void a_line_is_read_field_by_field(void)
{
	struct maps_line line;
	CHECK_EQ(parse("7f0102030000-7f0102056000 r-xp 00001000 fd:1a 4711                       "
		       "/usr/lib/libc.so.6\n",
		       &line),
		 1);
	CHECK_EQ(line.start, 0x7f0102030000);
	CHECK_EQ(line.end, 0x7f0102056000);
	CHECK_EQ(line.file_offset, 0x1000);
	CHECK_EQ(line.device_major, 0xfd);
	CHECK_EQ(line.device_minor, 0x1a);
	CHECK_EQ(line.inode, 4711);
	CHECK(line.readable && !line.writable && line.executable && !line.shared);
	CHECK(has_path(&line, "/usr/lib/libc.so.6"));
}

static void flags_and_names_of_all_kinds(void)
{
	struct maps_line line;
	CHECK_EQ(parse("1000-2000 -w-s 0 0:0 0", &line), 1);
	CHECK(!line.readable && line.writable && !line.executable && line.shared);
	CHECK(has_path(&line, ""));
	CHECK_EQ(parse("1000-2000 rwxp 0 0:0 0 [anon: a  b ]", &line), 1);
	CHECK(has_path(&line, "[anon: a  b ]"));
	CHECK_EQ(parse("1000-2000 r-xp 0 0:1 7   /memfd:x (deleted)", &line), 1);
	CHECK(has_path(&line, "/memfd:x (deleted)"));
	CHECK_EQ(parse("1000-2000 r-xp 0 0:1 7   /a\\012b", &line), 1);
	CHECK(has_path(&line, "/a\\012b"));
	CHECK_EQ(
		parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]", &line),
		1);
	CHECK_EQ(line.end, (long long)0xffffffffff601000);
}

static void hostile_lines_are_refused(void)
{
	static const char *const lines[] = {
		"\n",
		" ",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 0",
		"1000-2000 r-xp 0 0:",
		"1000-2000 r-xp 0 0:0",
		"1000-2000 r-xp 0 0:0 ",
		"1000-2000 r-xp 0 0:0 x",
		/* empty, upside down */
		"1000-1000 r-xp 0 0:0 0",
		"2000-1000 r-xp 0 0:0 0",
		/* too large */
		"1000-10000000000000000 r-xp 0 0:0 0",
		"1000-2000 r-xp 10000000000000000 0:0 0",
		"1000-2000 r-xp 0 100000000:0 0",
		"1000-2000 r-xp 0 0:100000000 0",
		"1000-2000 r-xp 0 0:0 18446744073709551616",
		/* other characters */
		"1000-2000 RWXP 0 0:0 0",
		"1000-2000 xrwp 0 0:0 0",
		"-1000-2000 r-xp 0 0:0 0",
		"0x1000-0x2000 r-xp 0 0:0 0",
		"1000-2000 r-xp 0 0:0 ff",
		" 1000-2000 r-xp 0 0:0 0",
		"1000-2000\tr-xp 0 0:0 0",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct maps_line line;
		size_t at = 0, size = strlen(lines[i]);
		int got = maps_next(lines[i], size, &at, &line);
		if (got != -EINVAL)
			printf("# %s\n", lines[i]);
		CHECK_EQ(got, -EINVAL);
		CHECK_EQ(at, size);
	}
}

static void the_largest_numbers_are_read(void)
{
	struct maps_line line;
	CHECK_EQ(parse("0-ffffffffffffffff ---p ffffffffffffffff ffffffff:ffffffff "
		       "18446744073709551615 x",
		       &line),
		 1);
	CHECK(line.start == 0 && line.end == UINT64_MAX && line.file_offset == UINT64_MAX &&
	      line.inode == UINT64_MAX && line.device_major == UINT32_MAX);
}

static void reading_goes_on_behind_a_bad_line(void)
{
	static const char text[] = "1000-2000 r-xp 0 0:0 0 a\nnonsense\n\n3000-4000 r-xp 0 0:0 0 b";
	struct maps_line line;
	size_t at = 0;
	CHECK_EQ(maps_next(text, sizeof(text) - 1, &at, &line), 1);
	CHECK(has_path(&line, "a"));
	CHECK_EQ(maps_next(text, sizeof(text) - 1, &at, &line), -EINVAL);
	CHECK_EQ(maps_next(text, sizeof(text) - 1, &at, &line), -EINVAL);
	CHECK_EQ(maps_next(text, sizeof(text) - 1, &at, &line), 1);
	CHECK(has_path(&line, "b"));
	CHECK_EQ(maps_next(text, sizeof(text) - 1, &at, &line), 0);
	CHECK_EQ(maps_next(text, 0, &(size_t){0}, &line), 0);
}

/* Any cut and any changed byte: an answer, inside the bytes given (the sanitizers watch). */
static void cut_or_changed_anywhere(void)
{
	static const char text[] = "7f0102030000-7f0102056000 r-xp 00001000 fd:1a 4711   /lib/x\n";
	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = malloc(size ? size : 1);
		CHECK(copy);
		memcpy(copy, text, size);
		for (size_t changed = 0; changed < size; changed++) {
			for (int byte = 0; byte < 256; byte++) {
				copy[changed] = (char)byte;
				struct maps_line line;
				size_t at = 0, nr = 0;
				while (maps_next(copy, size, &at, &line))
					nr++;
				CHECK_EQ(at, size);
				CHECK(nr <= 2);
			}
			copy[changed] = text[changed];
		}
		free(copy);
	}
}

static void the_maps_of_this_very_process(void)
{
	static char text[1 << 20];
	size_t size = 0, at = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	ssize_t got;
	while ((got = read(fd, text + size, sizeof(text) - size)) > 0)
		size += (size_t)got;
	close(fd);
	struct maps_line line;
	int result;
	bool found_code = false, found_data = false;
	uint64_t code = (uint64_t)(uintptr_t)the_maps_of_this_very_process;
	uint64_t data = (uint64_t)(uintptr_t)text;
	while ((result = maps_next(text, size, &at, &line))) {
		CHECK_EQ(result, 1);
		found_code |= line.executable && code >= line.start && code < line.end;
		found_data |= line.writable && data >= line.start && data < line.end;
	}
	CHECK(found_code && found_data);
}

static void line_ends_in_paths_are_real_again(void)
{
	static const char text[] = "1000-2000 r-xp 0 8:1 7 /a\\012b\\01\\012";
	struct maps_line line;
	char path[16], small[4];
	CHECK_EQ(parse(text, &line), 1);
	CHECK_EQ(maps_path(&line, path, sizeof(path)), 8);
	CHECK_STR(path, "/a\nb\\01\n");
	CHECK_EQ(maps_path(&line, small, sizeof(small)), 3);
	CHECK_STR(small, "/a\n");
}

int main(void)
{
	RUN(a_line_is_read_field_by_field);
	RUN(flags_and_names_of_all_kinds);
	RUN(hostile_lines_are_refused);
	RUN(line_ends_in_paths_are_real_again);
	RUN(the_largest_numbers_are_read);
	RUN(reading_goes_on_behind_a_bad_line);
	RUN(cut_or_changed_anywhere);
	RUN(the_maps_of_this_very_process);
	return test_done();
}

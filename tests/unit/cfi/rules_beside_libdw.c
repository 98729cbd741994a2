/* SPDX-License-Identifier: MIT */
/*
 * Rules that are read from .eh_frame beside those that libdw gives, row by row: they must be the same. What is left to libdw
 * is counted. FILE...: these files. Without: all of the C library, and of the large libraries that lie beside it a sample; with STACKS=all
 * all of everything there.
 */
#include <ctop/elf/eh_scan.h>
#include <ctop/elf/object.h>

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jailed/cfi/frame_entry.h"
#include "jailed/cfi/frame_program.h"
#include <ctop/cfi/rule.h>
#include "test.h"

enum {
	PRINTED_MAX = 5,
	LARGE_BYTES = 16 << 20,
	ONE_OF_LARGE = 499, /* functions */
	SCRATCH_WORDS = (LONG_RULE_MAX_BYTES + 7) / 8
};

static struct {
	const char *path;
	Dwarf_CFI *libdw;
	struct frame_section section;
	uint64_t ours[SCRATCH_WORDS], theirs[SCRATCH_WORDS];
	size_t rows, left_to_libdw, different;
} t;

static bool same(const struct rule *a, uint64_t end, const struct rule *b, uint64_t their_end)
{
	const struct long_rule *ours = (struct long_rule *)t.ours;
	const struct long_rule *theirs = (struct long_rule *)t.theirs;
	if (memcmp(a, b, sizeof(*a)) != 0 || end != their_end)
		return false;
	return a->kind != RULE_LONG || (long_rule_bytes(ours) == long_rule_bytes(theirs) &&
					memcmp(ours, theirs, long_rule_bytes(ours)) == 0);
}

/* Both rules at an address. Returns where the next row begins. */
static uint64_t compare(uint64_t address)
{
	struct frame_entry entry;
	struct frame_row row;
	struct rule ours, theirs;
	Dwarf_Frame *frame;
	Dwarf_Addr end = address + 1;
	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
	const bool read = frame_section_find(&t.section, address, &entry) &&
			  frame_program_run(&entry, address, &row) &&
			  rule_from_row(&row, &ours, (struct long_rule *)t.ours);
	t.rows++;
	t.left_to_libdw += !read;
	theirs.kind = RULE_NONE;
	if (dwarf_cfi_addrframe(t.libdw, address, &frame) == 0) {
		rule_from_frame(frame, &theirs, (struct long_rule *)t.theirs);
		dwarf_frame_info(frame, NULL, &end, NULL);
		free(frame);
	}
	if (read && !same(&ours, row.end, &theirs, end) && t.different++ < PRINTED_MAX)
		printf("# %s: %#llx: kind %d, by libdw %d; to %#llx, by libdw %#llx\n", t.path,
		       (unsigned long long)address, ours.kind, theirs.kind,
		       (unsigned long long)row.end, (unsigned long long)end);
	return end > address ? end : address + 1;
}

/* Each row at its first byte and at its last. */
static void compare_function(const struct fde_entry *function)
{
	for (uint64_t at = function->start; at < function->end;) {
		const uint64_t next = compare(at);
		if (next - 1 > at && next - 1 < function->end)
			compare(next - 1);
		at = next;
	}
}

static void compare_file(size_t one_of)
{
	struct error error;
	struct eh_sections sections;
	struct fde_list list = {.nr = 0};
	struct object *object = object_open(open(t.path, O_RDONLY | O_CLOEXEC), &error);
	if (!object || object_machine(object) != MACHINE_ELF ||
	    gelf_getclass(object_elf(object)) != ELFCLASS64 ||
	    !frame_section_open(&t.section, object_elf(object))) {
		object_free(object);
		return;
	}
	t.libdw = dwarf_getcfi_elf(object_elf(object));
	CHECK(t.libdw && eh_sections_find(object_elf(object), &sections));
	CHECK_EQ(fde_list_scan(&list, object_elf(object), &sections), 0);
	for (size_t i = 0; i < list.nr; i += one_of)
		compare_function(&list.items[i]);
	fde_list_release(&list);
	dwarf_cfi_end(t.libdw);
	object_free(object);
}

static void every_row(void)
{
	t.rows = t.left_to_libdw = t.different = 0;
	compare_file(1);
	printf("# %s: %zu rows, %zu left to libdw, %zu different\n", t.path, t.rows,
	       t.left_to_libdw, t.different);
	CHECK(t.rows > 0);
	CHECK_EQ(t.different, 0);
	CHECK(t.left_to_libdw * 1000 <= t.rows);
}

static const char *path_of_libc(void)
{
	static char path[512];
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so") && sscanf(line, "%*s %*s %*s %*s %*s %511s", path) == 1)
			break;
	if (maps)
		fclose(maps);
	return path[0] ? path : NULL;
}

/* One of so many functions of each file that has as many bytes. */
static void compare_beside_libc(size_t one_of, off_t min_bytes)
{
	char directory[512], path[1024];
	size_t nr_files = 0;
	const char *libc = path_of_libc();
	CHECK(libc);
	snprintf(directory, sizeof(directory), "%s", libc);
	const char *where = dirname(directory);
	DIR *all = opendir(where);
	CHECK(all);
	t.rows = t.left_to_libdw = t.different = 0;
	for (const struct dirent *entry; (entry = readdir(all));) {
		struct stat status;
		snprintf(path, sizeof(path), "%s/%s", where, entry->d_name);
		/* Each once, however many names it has. */
		if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
		    status.st_size < min_bytes)
			continue;
		t.path = path;
		const size_t rows = t.rows;
		compare_file(one_of);
		nr_files += t.rows > rows;
	}
	closedir(all);
	printf("# %zu files, %zu rows, %zu left to libdw, %zu different\n", nr_files, t.rows,
	       t.left_to_libdw, t.different);
	CHECK_EQ(t.different, 0);
	CHECK(t.left_to_libdw * 1000 <= t.rows);
}

static void of_large_libraries_a_sample(void)
{
	compare_beside_libc(ONE_OF_LARGE, LARGE_BYTES);
}

static void every_library(void)
{
	compare_beside_libc(1, 0);
}

int main(int argc, char **argv)
{
	const char *which = getenv("STACKS");
	for (int i = 1; i < argc; i++) {
		t.path = argv[i];
		test_run(argv[i], every_row);
	}
	if (argc > 1)
		return test_done();
	t.path = path_of_libc();
	test_run("the_c_library", every_row);
	if (which && strcmp(which, "all") == 0)
		RUN(every_library);
	else
		RUN(of_large_libraries_a_sample);
	return test_done();
}

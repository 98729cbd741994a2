/* SPDX-License-Identifier: MIT */
/* Which of the kernel's memory is one function's code: by lists and core files made here, and our own kernel's. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "main/files/kernel_code.h"
#include "test.h"

static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000040 t helper\n"
			      "ffffffff81000040 T helper_alias\n"
			      "ffffffff81000100 T vfs_read\n"
			      "ffffffff81000300 W weak\n"
			      "ffffffff81000400 T last\n"
			      "ffffffff81000500 T _etext\n"
			      "ffffffff81001000 D secret\n"
			      "ffffffff82000000 T start_kernel\n"
			      "ffffffff82000100 T init_helper\n"
			      "ffffffffc0000000 t one\t[module]\n"
			      "ffffffffc0000020 t two\t[module]\n"
			      "ffffffffc0000090 d table\t[module]\n"
			      "ffffffffc0001000 t three\t[other]\n"
			      "ffffffffc0001040 t four\t[third]\n"
			      "ffffffffc0002000 t bpf_prog_1\t[bpf]\n"
			      "ffffffffc0002040 t bpf_prog_2\t[bpf]\n"
			      "ffffffffc0003000 t trampoline\t[__builtin__ftrace]\n"
			      "ffffffffc0003040 t trampoline2\t[__builtin__ftrace]\n";

static struct kernel_function function;

static int find_in(const char *text, uint64_t start, const char *name)
{
	struct kernel_symbols list = {0};
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	CHECK(file != NULL);
	CHECK_EQ(kernel_symbols_read(file, &list), 0);
	fclose(file);
	const int result = kernel_function_find(&list, start, name, &function);
	kernel_symbols_release(&list);
	return result;
}

static int find(uint64_t start, const char *name)
{
	return find_in(symbols, start, name);
}

static void functions_end_where_the_next_begins(void)
{
	CHECK_EQ(find(0xffffffff81000100, "vfs_read"), 0);
	CHECK_EQ(function.start, 0xffffffff81000100);
	CHECK_EQ(function.end, 0xffffffff81000300);
	CHECK_EQ(find(0xffffffff81000100, NULL), 0);
	CHECK_EQ(find(0xffffffff81000040, "helper"), 0);
	CHECK_EQ(find(0xffffffff81000040, "helper_alias"), 0);
	CHECK_EQ(function.end, 0xffffffff81000100);
	CHECK_EQ(find(0xffffffff81000400, "last"), 0);
	CHECK_EQ(function.end, 0xffffffff81000500);
	CHECK_EQ(find(0xffffffffc0000000, "one"), 0);
	CHECK_EQ(function.end, 0xffffffffc0000020);
}

/* Nothing else of all memory can be asked for, whatever begins there. */
static void what_is_no_function_is_not_found(void)
{
	static const struct {
		uint64_t start;
		const char *name;
	} none[] = {
		{0xffffffff81000101, NULL}, /* in its middle */
		{0xffffffff81000100, "vfs_write"},
		{0xffffffff81001000, NULL}, /* data */
		{0xffffffff81000500, NULL}, /* behind all text */
		{0xffffffff82000000, NULL}, /* thrown away */
		{0xffffffffc0000020, NULL}, /* data comes next */
		{0xffffffffc0001000, NULL}, /* another module does */
		{0xffffffffc0001040, NULL},
		{0xffffffffc0002000, NULL}, /* made while it runs */
		{0xffffffffc0003000, NULL},
		{0xffffffffc0003040, NULL}, /* nothing comes next */
		{0, NULL},
		{UINT64_MAX, NULL},
	};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK_EQ(find(none[i].start, none[i].name), -ENXIO);
	CHECK_EQ(find_in("0000000000000000 T _stext\n0000000000000000 T work\n", 0, "work"),
		 -EPERM);
	CHECK_EQ(find_in("", 0x1000, NULL), -EPERM);
	CHECK_EQ(find_in("rubbish\n\n1000 T\nzz T work\n1000 T work\n2000 T next\n", 0x1000, NULL),
		 -ENXIO);
}

/* ---- the core file ---- */

enum { BYTES = 4096 };

static struct {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	uint8_t bytes[BYTES];
} core;

static void make_core(void)
{
	core.header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_phoff = sizeof(core.header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};
	const uint64_t at = sizeof(core.header) + sizeof(core.segments);
	core.segments[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 0xffffffff81000000};
	core.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 16};
	core.segments[2] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_vaddr = 0xffffffff81000000,
					.p_offset = at,
					.p_filesz = BYTES};
	for (size_t i = 0; i < BYTES; i++)
		core.bytes[i] = (uint8_t)(i * 7);
}

static ssize_t read_core(uint64_t start, uint64_t end, uint8_t *bytes, size_t most)
{
	const struct kernel_function wanted = {.start = start, .end = end};
	int fd = memfd_create("core", MFD_CLOEXEC);
	CHECK_EQ(write(fd, &core, sizeof(core)), (ssize_t)sizeof(core));
	const ssize_t got = kernel_function_read(fd, &wanted, bytes, most);
	close(fd);
	return got;
}

static void its_bytes_are_read(void)
{
	uint8_t bytes[64];
	make_core();
	CHECK_EQ(read_core(0xffffffff81000010, 0xffffffff81000020, bytes, sizeof(bytes)), 16);
	CHECK(memcmp(bytes, core.bytes + 16, 16) == 0);
	CHECK_EQ(read_core(0xffffffff81000010, 0xffffffff81000200, bytes, sizeof(bytes)), 64);
	CHECK(memcmp(bytes, core.bytes + 16, 64) == 0);
	CHECK_EQ(read_core(0xffffffff81000ff0, 0xffffffff81001000, bytes, sizeof(bytes)), 16);
	CHECK_EQ(read_core(0xffffffff81000ff0, 0xffffffff81001001, bytes, sizeof(bytes)), -EFAULT);
	CHECK_EQ(read_core(0xffffffff82000000, 0xffffffff82000010, bytes, sizeof(bytes)), -EFAULT);
	core.segments[2].p_offset = UINT64_MAX - 8;
	CHECK_EQ(read_core(0xffffffff81000010, 0xffffffff81000020, bytes, sizeof(bytes)), -EFAULT);
	core.header.e_phoff = UINT64_MAX - 8;
	CHECK_EQ(read_core(0xffffffff81000010, 0xffffffff81000020, bytes, sizeof(bytes)), -ENOEXEC);
	make_core();
	core.header.e_phnum = UINT16_MAX;
	CHECK_EQ(read_core(0xffffffff81000010, 0xffffffff81000020, bytes, sizeof(bytes)), -ENOEXEC);
	make_core();
	core.header.e_ident[0] = 'x';
	CHECK_EQ(read_core(0xffffffff81000010, 0xffffffff81000020, bytes, sizeof(bytes)), -ENOEXEC);
}

/* The same bytes twice, of two neighbours: where one ends the other begins. */
static void of_our_own_kernel(void)
{
	static uint8_t bytes[128 << 10];
	uint64_t whole = 0, start = 0;
	char line[512], name[256], type;
	unsigned long long address;
	FILE *file = fopen("/proc/kallsyms", "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 &&
		    !strcmp(name, "vfs_read"))
			start = address;
	if (file)
		fclose(file);
	if (!start)
		SKIP("the kernel's addresses are hidden");
	const ssize_t got = kernel_code_read(start, "vfs_read", bytes, sizeof(bytes), &whole);
	if (got == -ENOENT || got == -EACCES)
		SKIP(got == -ENOENT ? "the kernel has no /proc/kcore"
				    : "/proc/kcore may not be read");
	CHECK(got > 16 && (uint64_t)got == whole);
	CHECK_EQ(kernel_code_read(start, "vfs_write", bytes, sizeof(bytes), &whole), -ENXIO);
}

int main(void)
{
	RUN(functions_end_where_the_next_begins);
	RUN(what_is_no_function_is_not_found);
	RUN(its_bytes_are_read);
	RUN(of_our_own_kernel);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
#include "file_of_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/kernel/names_text.h>
#include <ctop/symbol/kallsyms.h>

static int read_all(int fd, struct kallsyms **kallsyms)
{
	int result;
	*kallsyms = kallsyms_new(fd);
	CHECK(*kallsyms != NULL);
	do
		result = kallsyms_read_part(*kallsyms);
	while (result > 0);
	if (result < 0) {
		kallsyms_free(*kallsyms);
		*kallsyms = NULL;
	}
	return result;
}

static int read_text(const char *text, struct kallsyms **kallsyms)
{
	return read_all(file_of_bytes(text, strlen(text)), kallsyms);
}

static const char *name_at(const struct kallsyms *kallsyms, uint64_t address)
{
	struct symbol_hit hit;
	return kallsyms_find(kallsyms, address, &hit) ? hit.name : "-";
}

static void known(void)
{
	struct kallsyms *kallsyms;
	CHECK_EQ(read_text("0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000100 t local_one\n"
			   "ffffffff81000200 T __x64_sys_read\n"
			   "ffffffff81000200 T __do_sys_read\n"
			   "ffffffff81000200 t sys_read\n"
			   "ffffffff81000300 W weak_one\n"
			   "ffffffff81000300 t strong_local\n"
			   "ffffffff81000400 T last_of_text\n"
			   "ffffffff82000000 D some_data\n"
			   "ffffffff81000180 r read_only\n"
			   "ffffffffc0001000 t ext4_read\t[ext4]\n"
			   "ffffffffc0001080 t ext4_write\t[ext4]\n"
			   "ffffffffc0001100 t bpf_prog_1\t[bpf]\n",
			   &kallsyms),
		 0);
	CHECK_STR(name_at(kallsyms, 0xffffffff81000000), "startup_64");
	CHECK_STR(name_at(kallsyms, 0xffffffff810000ff), "startup_64");
	CHECK_STR(name_at(kallsyms, 0xffffffff81000180), "local_one");
	/* Global before local, then the longer of two with as many underscores. */
	CHECK_STR(name_at(kallsyms, 0xffffffff81000200), "__x64_sys_read");
	CHECK_STR(name_at(kallsyms, 0xffffffff81000310), "strong_local");
	/* The last function has no end: not further than the next page. */
	CHECK_STR(name_at(kallsyms, 0xffffffff81000410), "last_of_text");
	CHECK_STR(name_at(kallsyms, 0xffffffff81001fff), "last_of_text");
	CHECK_STR(name_at(kallsyms, 0xffffffff81002000), "-");
	CHECK_STR(name_at(kallsyms, 0xffffffff82000000), "-");
	CHECK_STR(name_at(kallsyms, 0), "-");
	CHECK_STR(name_at(kallsyms, UINT64_MAX), "-");
	struct symbol_hit hit;
	CHECK(kallsyms_find(kallsyms, 0xffffffffc0001085, &hit));
	CHECK_STR(hit.name, "ext4_write");
	CHECK_STR(hit.module, "[ext4]");
	CHECK_EQ(hit.start, 0xffffffffc0001080);
	CHECK(kallsyms_find(kallsyms, 0xffffffffc0001100, &hit));
	CHECK_STR(hit.module, "[bpf]");
	CHECK(kallsyms_find(kallsyms, 0xffffffff81000100, &hit));
	CHECK(!hit.module);
	kallsyms_free(kallsyms);
	kallsyms_free(NULL);
}

/* What stands in front of a function is named as it; a function of such a name that stands in front of no such one is not. */
static void prefixes(void)
{
	struct kallsyms *kallsyms;
	CHECK_EQ(read_text("ffffffff81000000 t __pfx_memory_open\n"
			   "ffffffff81000010 t memory_open\n"
			   "ffffffff81000100 t __pfx_lonely\n"
			   "ffffffff81000110 t another\n",
			   &kallsyms),
		 0);
	CHECK_STR(name_at(kallsyms, 0xffffffff8100000f), "memory_open");
	CHECK_STR(name_at(kallsyms, 0xffffffff81000010), "memory_open");
	CHECK_STR(name_at(kallsyms, 0xffffffff81000100), "__pfx_lonely");
	kallsyms_free(kallsyms);
}

static void hidden(void)
{
	struct kallsyms *kallsyms;
	CHECK_EQ(read_text("0000000000000000 T _stext\n0000000000000000 t other\n", &kallsyms),
		 -EPERM);
	CHECK(!kallsyms);
	CHECK_EQ(read_text("", &kallsyms), -ENODATA);
	CHECK_EQ(read_text("0000000000000000 D data\n", &kallsyms), -ENODATA);
	CHECK_EQ(read_text("ffffffff81000000 D data\n", &kallsyms), -ENODATA);
	CHECK_EQ(read_all(-1, &kallsyms), -EBADF);
	CHECK(!kallsyms);
}

static void garbage(void)
{
	struct kallsyms *kallsyms;
	CHECK_EQ(read_text("\n\n\nnonsense\n"
			   "ffffffff81000000\n"
			   "ffffffff81000000 \n"
			   "ffffffff81000000 T\n"
			   "ffffffff81000000 T \n"
			   "ffffffff81000000 TT x\n"
			   "ffffffff81000000T x\n"
			   "fffffffff81000000 T seventeen_digits\n"
			   "ffffffff81000000 T good trailing\n"
			   "ffffffff81000100 t tab_only\t\n"
			   "ffffffff81000200 t no_newline",
			   &kallsyms),
		 0);
	CHECK_STR(name_at(kallsyms, 0xffffffff81000000), "good");
	CHECK_STR(name_at(kallsyms, 0xffffffff81000100), "tab_only");
	CHECK_STR(name_at(kallsyms, 0xffffffff81000200), "no_newline");
	struct symbol_hit hit;
	CHECK(kallsyms_find(kallsyms, 0xffffffff81000100, &hit));
	CHECK(!hit.module);
	kallsyms_free(kallsyms);
	/* At the very end of the address space. */
	CHECK_EQ(read_text("ffffffffffffffff T last\n", &kallsyms), 0);
	CHECK_STR(name_at(kallsyms, 0xfffffffffffffffe), "-");
	kallsyms_free(kallsyms);
}

/* What is kept lacks what the kernel makes while it runs: behind the last function of a module is another page of anybody's. */
static void kept(void)
{
	struct kallsyms *kallsyms;
	CHECK_EQ(read_text(KERNEL_NAMES_FIRST_LINE
			   "\n"
			   "# boot 12\n"
			   "# module ext4 4096 Live 0xffffffffc0001000\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000100 T _etext\n"
			   "ffffffffc0001000 t ext4_read\t[ext4]\n"
			   "ffffffffc0001080 t ext4_write\t[ext4]\n" KERNEL_NAMES_LAST_LINE "\n",
			   &kallsyms),
		 0);
	CHECK(kallsyms_is_kept(kallsyms));
	CHECK_STR(name_at(kallsyms, 0xffffffffc0001040), "ext4_read");
	CHECK_STR(name_at(kallsyms, 0xffffffffc0001fff), "ext4_write");
	CHECK_STR(name_at(kallsyms, 0xffffffffc0002000), "-");
	uint64_t start, end;
	CHECK(!kallsyms_text(kallsyms, &start, &end));
	kallsyms_free(kallsyms);
	CHECK_EQ(read_text(KERNEL_NAMES_FIRST_LINE "\nffffffff81000000 T _text\n" KERNEL_NAMES_CODE
						   "ffffffff81000000 ffffffff82000000 \n",
			   &kallsyms),
		 0);
	CHECK(kallsyms_text(kallsyms, &start, &end));
	CHECK_EQ(start, 0xffffffff81000000);
	CHECK_EQ(end, 0xffffffff82000000);
	kallsyms_free(kallsyms);
	CHECK_EQ(read_text("ffffffff81000000 T _text\n" KERNEL_NAMES_FIRST_LINE "\n", &kallsyms),
		 0);
	CHECK(!kallsyms_is_kept(kallsyms));
	CHECK_STR(name_at(kallsyms, 0xffffffff81001fff), "_text");
	kallsyms_free(kallsyms);
}

/* Its text may be anything: nothing is found, or a name that is in it. */
static void kept_nonsense(void)
{
	static const char *const texts[] = {
		"",
		"no newline",
		"ffffffff81000000 T no_newline",
		"# end\n",
		"\n\n\n",
		"ffffffff81000000 T \n",
		"ffffffff81000000 D data\n",
		"0000000000000000 T hidden\n",
	};
	struct kallsyms *kallsyms;
	char text[4096];
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(text, sizeof(text), KERNEL_NAMES_FIRST_LINE "\n%s", texts[i]);
		if (read_text(text, &kallsyms) == 0) {
			CHECK_STR(name_at(kallsyms, 0xffffffff81000000), "-");
			CHECK_STR(name_at(kallsyms, 0), "-");
			CHECK_STR(name_at(kallsyms, UINT64_MAX), "-");
			kallsyms_free(kallsyms);
		}
	}
	/* Not in order, and a line that is longer than any. */
	int size = snprintf(text, sizeof(text),
			    KERNEL_NAMES_FIRST_LINE "\nffffffff81000200 T second\n"
						    "ffffffff81000100 T first\n"
						    "ffffffff81000300 T ");
	memset(text + size, 'x', sizeof(text) - (size_t)size - 2);
	strcpy(text + sizeof(text) - 2, "\n");
	CHECK_EQ(read_text(text, &kallsyms), 0);
	for (uint64_t address = 0xffffffff81000080; address < 0xffffffff81000400; address += 0x40) {
		const char *name = name_at(kallsyms, address);
		CHECK(!strcmp(name, "-") || !strcmp(name, "first") || !strcmp(name, "second"));
	}
	kallsyms_free(kallsyms);
}

/* Parts end anywhere: within an address, a name or behind a newline. */
static void long_text(void)
{
	enum { NR = 20000, LINE_BYTES = 64 };
	char *text = malloc(NR * LINE_BYTES);
	size_t bytes = 0;
	for (int i = 0; i < NR; i++)
		bytes += (size_t)snprintf(text + bytes, LINE_BYTES, "%016x T function_%.*d\n",
					  0x81000000U + (unsigned)i * 16, 1 + i % 7, i);
	struct kallsyms *kallsyms = kallsyms_new(file_of_bytes(text, bytes));
	int result, nr_parts = 0;
	while ((result = kallsyms_read_part(kallsyms)) > 0)
		nr_parts++;
	CHECK_EQ(result, 0);
	CHECK(nr_parts > 1);
	for (int i = 0; i < NR; i++) {
		char name[LINE_BYTES];
		snprintf(name, sizeof(name), "function_%.*d", 1 + i % 7, i);
		CHECK_STR(name_at(kallsyms, 0x81000000 + (uint64_t)i * 16 + 15), name);
	}
	kallsyms_free(kallsyms);
	free(text);
}

/* Any bytes at all: no more than that it survives. */
static void noise(void)
{
	static const char letters[] = "0f T\t\n[x]w\xff";
	srandom(3);
	for (int round = 0; round < 300; round++) {
		char text[2000];
		for (size_t i = 0; i < sizeof(text) - 1; i++)
			text[i] = letters[(size_t)random() % (sizeof(letters) - 1)];
		text[sizeof(text) - 1] = '\0';
		struct kallsyms *kallsyms;
		if (read_text(text, &kallsyms) == 0) {
			name_at(kallsyms, 0xffff);
			name_at(kallsyms, (uint64_t)random());
		}
		kallsyms_free(kallsyms);
	}
}

/* Every function of the running kernel is found at its address, under one of the names it has there. */
static void running_kernel(void)
{
	struct kallsyms *kallsyms;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		SKIP("no /proc/kallsyms");
	int result = read_all(fd, &kallsyms);
	if (result == -EPERM)
		SKIP("kernel.kptr_restrict hides addresses");
	CHECK_EQ(result, 0);
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024];
	uint64_t asked = 0;
	size_t functions = 0, named = 0, addresses = 0;
	while (fgets(line, sizeof(line), file)) {
		uint64_t address;
		char type, name[512];
		if (sscanf(line, "%" SCNx64 " %c %511s", &address, &type, name) != 3 || !address ||
		    !strchr("tTwW", type))
			continue;
		struct symbol_hit hit;
		CHECK(kallsyms_find(kallsyms, address, &hit));
		CHECK_EQ(hit.start, address);
		functions++;
		addresses += address != asked;
		asked = address;
		const bool is_prefix = strncmp(name, "__pfx_", 6) == 0;
		named += strcmp(hit.name, name) == 0 ||
			 (is_prefix && strcmp(hit.name, name + 6) == 0);
	}
	fclose(file);
	CHECK(functions > 1000);
	/* Of the aliases at an address one is right; a name may stand there twice. */
	CHECK(named >= addresses * 9 / 10);
	CHECK_STR(name_at(kallsyms, 0x1000), "-");
	kallsyms_free(kallsyms);
}

int main(void)
{
	RUN(known);
	RUN(prefixes);
	RUN(hidden);
	RUN(garbage);
	RUN(kept);
	RUN(kept_nonsense);
	RUN(long_text);
	RUN(noise);
	RUN(running_kernel);
	return test_done();
}

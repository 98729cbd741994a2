/* SPDX-License-Identifier: MIT */
/* Functions that a process has made, listed out of its dump, or out of its memory, as its map says. */
#include <ctop/disassembler/listing.h>

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/elf_file.h"
#include "test.h"

/* push %rbp; mov %rsp, %rbp; call; ret; nops */
static const uint8_t code[16] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0,    0,	   0,
				 0,    0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
enum { START = 0x7010 };

static struct listing_answer answer;
static char first_text[64], last_file[64];
static uint32_t last_line;

static int listed(int fd, int debug_fd, const struct listing_question *question)
{
	static struct listing_question named;
	char *memory = mmap(NULL, LISTING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(memory != MAP_FAILED);
	named = *question;
	named.start = START;
	named.has_name = 1;
	snprintf(named.name, sizeof(named.name), "work()");
	listing_make(&(struct listing_fds){fd, debug_fd, -1, -1}, &named, memory, &answer);
	first_text[0] = last_file[0] = '\0';
	const struct listing_row *rows = (const struct listing_row *)(void *)memory;
	const struct listing_file *files =
		(const struct listing_file *)(void *)(memory + LISTING_FILES_AT);
	const char *strings = memory + LISTING_STRINGS_AT;
	if (!answer.error && answer.nr_rows) {
		const struct listing_row *last = &rows[answer.nr_rows - 1];
		snprintf(first_text, sizeof(first_text), "%s", strings + rows[0].text);
		last_line = last->line;
		if (last->file)
			snprintf(last_file, sizeof(last_file), "%s",
				 strings + files[last->file - 1].path);
	}
	munmap(memory, LISTING_BYTES);
	return answer.error;
}

/* ---- memory and a map ---- */

static int in_memory(uint64_t memory_start, const char *map)
{
	uint8_t memory[0x100] = {0};
	const struct listing_question question = {
		.source = LISTING_OF_MEMORY,
		.bytes = {.size = sizeof(memory), .machine = EM_X86_64},
		.memory_start = memory_start,
	};
	if (memory_start <= START && START - memory_start <= sizeof(memory) - sizeof(code))
		memcpy(memory + (START - memory_start), code, sizeof(code));
	return listed(file_of_bytes((const char *)memory, sizeof(memory)),
		      file_of_bytes(map, strlen(map)), &question);
}

static void what_a_map_says_is_listed(void)
{
	if (in_memory(0x7000, "7010 a work()\n") == -ENOSYS)
		SKIP("libcapstone is not installed");
	CHECK_EQ(in_memory(0x7000, "7010 a work()\n7020 10 other()\n"), 0);
	CHECK_EQ(answer.start, START);
	CHECK_EQ(answer.end, START + 10);
	CHECK_EQ(answer.nr_rows, 4);
	CHECK(!answer.is_cut);
	CHECK_STR(first_text, "push    rbp");
	/* As far as it was copied. */
	CHECK_EQ(in_memory(0x6f20, "7010 a0 work()\n"), 0);
	CHECK_EQ(answer.end, 0x7020);
	CHECK(answer.is_cut);
	CHECK_EQ(in_memory(0x7000, "7010 ffffffffffff8000 work()\n"), 0);
	CHECK_EQ(answer.end, 0x7100);
	CHECK(answer.is_cut);
}

static void what_it_does_not_say_is_not(void)
{
	CHECK_EQ(in_memory(0x7000, ""), -ESTALE);
	CHECK_EQ(in_memory(0x7000, "7010 a other()\n"), -ESTALE);
	CHECK_EQ(in_memory(0x7000, "7000 1a work()\n"), -ESTALE);
	CHECK_EQ(in_memory(0x7000, "7010 a work()\n7010 a other()\n"), -ESTALE);
	CHECK_EQ(in_memory(0x7000, "7010 a work()\n7018 1 within()\n"), -ESTALE);
	CHECK_EQ(in_memory(0x7011, "7010 a work()\n"), -ENODATA);
	CHECK_EQ(in_memory(0x6f10, "7010 a work()\n"), -ENODATA);
}

/* ---- a dump ---- */

static char dump[1024];
static size_t dump_size;

static void put(const void *bytes, size_t size)
{
	memcpy(dump + dump_size, bytes, size);
	dump_size += size;
}

static void begin(void)
{
	const uint32_t words[] = {0x4a695444, 1, 40, EM_X86_64, 0, 7, 1, 0, 0, 0};
	dump_size = 0;
	put(words, sizeof(words));
}

static void load(const char *name, uint8_t first)
{
	const uint32_t head[] = {0, (uint32_t)(16 + 40 + strlen(name) + 1 + sizeof(code)), 1, 0, 7,
				 7};
	const uint64_t about[] = {START, START, sizeof(code), 1};
	put(head, sizeof(head));
	put(about, sizeof(about));
	put(name, strlen(name) + 1);
	put(&first, 1);
	put(code + 1, sizeof(code) - 1);
}

static void tell_line(uint64_t offset, uint32_t line)
{
	const uint64_t about[] = {START, 1, START + offset};
	const uint32_t head[] = {2, 16 + sizeof(about) + 8 + 5, 1, 0}, words[] = {line, 0};
	put(head, sizeof(head));
	put(about, sizeof(about));
	put(words, sizeof(words));
	put("a.js", 5);
}

static int in_dump(void)
{
	const struct listing_question question = {.source = LISTING_OF_DUMP};
	return listed(file_of_bytes(dump, dump_size), -1, &question);
}

static void what_a_dump_has_is_listed_with_its_lines(void)
{
	begin();
	load("before()", 0x90);
	tell_line(4, 17);
	load("work()", code[0]);
	load("after()", 0x90);
	if (in_dump() == -ENOSYS)
		SKIP("libcapstone is not installed");
	CHECK_EQ(in_dump(), 0);
	CHECK_EQ(answer.start, START);
	CHECK_EQ(answer.end, START + sizeof(code));
	CHECK_STR(first_text, "push    rbp");
	CHECK_STR(last_file, "a.js");
	CHECK_EQ(last_line, 17);
}

static void what_it_does_not_have_is_not(void)
{
	begin();
	CHECK_EQ(in_dump(), -ENXIO);
	load("other()", code[0]);
	CHECK_EQ(in_dump(), -ENXIO);
	load("work()", code[0]);
	load("work()", 0x90);
	CHECK_EQ(in_dump(), -ENOTUNIQ);
	dump[0] = 'x';
	CHECK_EQ(in_dump(), -ENOEXEC);
}

int main(void)
{
	listing_prepare();
	RUN(what_a_map_says_is_listed);
	RUN(what_it_does_not_say_is_not);
	RUN(what_a_dump_has_is_listed_with_its_lines);
	RUN(what_it_does_not_have_is_not);
	return test_done();
}

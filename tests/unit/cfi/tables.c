/* SPDX-License-Identifier: MIT */
/* The same rules from every state a file's tables can be in: this program's own file, damaged in many ways. */

/* Both kinds of table for this file's functions; before the first of them. */
__asm__(".cfi_sections .eh_frame, .debug_frame\n");

#include <ctop/cfi/cfi.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <ctop/elf/object.h>

#include "file_of_bytes.h"
#include "test.h"

extern const char __executable_start[];

enum { STRIDE = 5, ALL_MAX = 1 << 15, NR_FUZZ = 60, FUZZ_FLIPS = 200, SPARE_BYTES = 1 << 16 };

static struct {
	uint8_t *bytes; /* the file, to be damaged */
	size_t size;
	uint8_t *pristine;
	struct rule rules[ALL_MAX]; /* what the pristine file says every STRIDE bytes of text */
	size_t nr_rules;
	uint64_t text;
} t;

static void restore(void)
{
	memcpy(t.bytes, t.pristine, t.size);
}

static bool load(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	if (fd < 0 || size <= 0)
		return false;
	t.size = (size_t)size;
	t.pristine = malloc(t.size);
	t.bytes = calloc(1, t.size + SPARE_BYTES);
	bool loaded = t.pristine && t.bytes && pread(fd, t.pristine, t.size, 0) == size;
	close(fd);
	if (loaded)
		restore();
	return loaded;
}

static Elf64_Ehdr *file_header(void)
{
	return (Elf64_Ehdr *)(void *)t.bytes;
}

static Elf64_Shdr *find_section(const char *wanted)
{
	const Elf64_Ehdr *header = file_header();
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(t.bytes + header->e_shoff);
	const char *names = (const char *)t.bytes + sections[header->e_shstrndx].sh_offset;
	for (size_t i = 0; i < header->e_shnum; i++)
		if (strcmp(names + sections[i].sh_name, wanted) == 0)
			return &sections[i];
	return NULL;
}

static uint8_t *section_bytes(const char *name)
{
	const Elf64_Shdr *section = find_section(name);
	CHECK(section);
	return t.bytes + section->sh_offset;
}

/* Gives a section the name of nothing. */
static void hide_section(const char *name)
{
	Elf64_Shdr *section = find_section(name);
	CHECK(section);
	section->sh_name = 0;
}

static void hide_segment(void)
{
	const Elf64_Ehdr *header = file_header();
	Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(t.bytes + header->e_phoff);
	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			segments[i].p_type = PT_NULL;
}

static void hide_sections(void)
{
	Elf64_Ehdr *header = file_header();
	header->e_shoff = 0;
	header->e_shnum = 0;
	header->e_shstrndx = 0;
}

static struct object *open_damaged(size_t size)
{
	struct error error;
	struct object *object = object_open(file_of_bytes(t.bytes, size), &error);
	CHECK(object);
	return object;
}

static void learn(void)
{
	struct object *object = open_damaged(t.size);
	struct cfi *cfi = cfi_new(object);
	CHECK(cfi);
	size_t nr_covered = 0;
	const Elf64_Shdr *text = find_section(".text");
	t.text = text->sh_addr;
	for (uint64_t at = 0; at < text->sh_size && t.nr_rules < ALL_MAX; at += STRIDE) {
		cfi_rule(cfi, t.text + at, &t.rules[t.nr_rules]);
		nr_covered += t.rules[t.nr_rules++].kind != RULE_NONE;
	}
	CHECK(nr_covered > 1000);
	cfi_free(cfi);
	object_free(object);
}

static bool same_rule(const struct rule *a, const struct rule *b)
{
	if (a->kind == RULE_LONG) /* numbered in the order in which they are met */
		return b->kind == RULE_LONG && a->flags == b->flags;
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Asks a damaged file for every rule, starting in the middle. */
static void check_all_rules(void)
{
	struct object *object = open_damaged(t.size);
	struct cfi *cfi = cfi_new(object);
	CHECK(cfi);
	for (size_t i = 0; i < t.nr_rules; i++) {
		size_t at = (i + t.nr_rules / 2) % t.nr_rules;
		struct rule rule;
		cfi_rule(cfi, t.text + at * STRIDE, &rule);
		if (!same_rule(&rule, &t.rules[at]))
			printf("# at %#lx: kind %d, not %d\n",
			       (unsigned long)(t.text + at * STRIDE), rule.kind, t.rules[at].kind);
		CHECK(same_rule(&rule, &t.rules[at]));
	}
	cfi_free(cfi);
	object_free(object);
}

static void a_lookup_table_of_zeroes(void)
{
	restore();
	const Elf64_Shdr *section = find_section(".eh_frame_hdr");
	memset(section_bytes(".eh_frame_hdr") + 12, 0, section->sh_size - 12);
	check_all_rules();
}

static void a_lookup_table_of_another_version(void)
{
	restore();
	section_bytes(".eh_frame_hdr")[0] = 9;
	check_all_rules();
}

static void a_lookup_table_out_of_order(void)
{
	restore();
	const Elf64_Shdr *section = find_section(".eh_frame_hdr");
	uint8_t *table = section_bytes(".eh_frame_hdr") + 12;
	size_t half = (section->sh_size - 12) / 16 * 8;
	for (size_t i = 0; i < half; i++) {
		uint8_t byte = table[i];
		table[i] = table[half + i];
		table[half + i] = byte;
	}
	check_all_rules();
}

static void a_lookup_table_that_misses_some(void)
{
	restore();
	uint8_t *header = section_bytes(".eh_frame_hdr");
	uint32_t nr;
	memcpy(&nr, header + 8, sizeof(nr));
	nr -= nr / 3;
	memcpy(header + 8, &nr, sizeof(nr));
	check_all_rules();
}

static void no_lookup_table(void)
{
	restore();
	hide_section(".eh_frame_hdr");
	hide_segment();
	check_all_rules();
}

static void no_section_headers(void)
{
	restore();
	hide_sections();
	check_all_rules();
}

static void no_section_headers_and_a_lookup_table_of_zeroes(void)
{
	restore();
	const Elf64_Shdr *section = find_section(".eh_frame_hdr");
	memset(section_bytes(".eh_frame_hdr") + 12, 0, section->sh_size - 12);
	hide_sections();
	check_all_rules();
}

/* ---- .debug_frame ---- */

__attribute__((noinline)) static int some_function(int depth)
{
	char text[64];
	snprintf(text, sizeof(text), "%d", depth);
	return depth == 0 ? text[0] : some_function(depth - 1) + text[0];
}

static uint64_t function_address(void)
{
	return (uint64_t)(uintptr_t)some_function - (uint64_t)(uintptr_t)__executable_start;
}

static void check_function(struct cfi *cfi)
{
	const size_t first = (function_address() - t.text + STRIDE - 1) / STRIDE;
	for (size_t i = first; i < first + 6; i++) {
		struct rule rule;
		cfi_rule(cfi, t.text + i * STRIDE, &rule);
		CHECK_EQ(rule.kind, RULE_OFFSET);
		CHECK(same_rule(&rule, &t.rules[i]));
	}
}

static void leave_debug_frame_only(void)
{
	restore();
	hide_section(".eh_frame");
	hide_section(".eh_frame_hdr");
	hide_segment();
}

static void debug_frame_only(void)
{
	CHECK_EQ(some_function(3), '3' + '2' + '1' + '0');
	leave_debug_frame_only();
	struct object *object = open_damaged(t.size);
	struct cfi *cfi = cfi_new(object);
	check_function(cfi);
	cfi_free(cfi);
	object_free(object);
}

/* Moves the section to the end of the file, compressed the way linkers do; the file's new size. */
static size_t compress_debug_frame(uint64_t claimed_bytes)
{
	Elf64_Shdr *section = find_section(".debug_frame");
	CHECK(section);
	uint64_t bytes = section->sh_size;
	size_t at = (t.size + 15) & ~(size_t)15;
	uLongf packed = SPARE_BYTES - 64;
	const Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB,
				   .ch_size = claimed_bytes ? claimed_bytes : bytes,
				   .ch_addralign = 8};
	memcpy(t.bytes + at, &header, sizeof(header));
	CHECK_EQ(compress(t.bytes + at + sizeof(header), &packed, t.bytes + section->sh_offset,
			  bytes),
		 Z_OK);
	memset(t.bytes + section->sh_offset, 0xee, bytes);
	section->sh_offset = at;
	section->sh_size = sizeof(header) + packed;
	section->sh_flags |= SHF_COMPRESSED;
	return at + sizeof(header) + packed;
}

static void a_compressed_debug_frame(void)
{
	leave_debug_frame_only();
	struct object *object = open_damaged(compress_debug_frame(0));
	struct cfi *cfi = cfi_new(object);
	check_function(cfi);
	cfi_free(cfi);
	object_free(object);
}

static void a_compressed_debug_frame_that_lies(void)
{
	static const uint64_t claims[] = {1, UINT64_C(1) << 20, UINT64_C(1) << 40, UINT64_MAX};
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct rule rule;
		leave_debug_frame_only();
		struct object *object = open_damaged(compress_debug_frame(claims[i]));
		struct cfi *cfi = cfi_new(object);
		cfi_rule(cfi, function_address(), &rule);
		CHECK_EQ(rule.kind, RULE_NONE);
		cfi_free(cfi);
		object_free(object);
	}
}

static void no_tables_at_all(void)
{
	struct rule rule;
	restore();
	hide_sections();
	hide_segment();
	struct object *object = open_damaged(t.size);
	struct cfi *cfi = cfi_new(object);
	for (uint64_t at = 0; at < 100; at++) {
		CHECK(cfi_rule(cfi, t.text + at, &rule)); /* evaluated */
		CHECK_EQ(rule.kind, RULE_NONE);
		CHECK(!cfi_rule(cfi, t.text + at, &rule)); /* and known from then on */
	}
	cfi_free(cfi);
	object_free(object);
	cfi_free(NULL);
}

/* ---- random damage ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void ask_everything(void)
{
	struct object *object = open_damaged(t.size);
	struct cfi *cfi = cfi_new(object);
	for (size_t i = 0; i < t.nr_rules; i++) {
		struct rule rule;
		cfi_rule(cfi, t.text + i * STRIDE, &rule);
		if (rule.kind == RULE_LONG &&
		    cfi_long_rule(cfi, rule.offset)->nr_ops > LONG_RULE_MAX_OPS)
			abort();
	}
	cfi_free(cfi);
	object_free(object);
}

static void random_damage(const char *name, uint64_t seed)
{
	restore();
	const Elf64_Shdr *section = find_section(name);
	uint8_t *bytes = section_bytes(name);
	for (unsigned i = 0; i < FUZZ_FLIPS; i++) {
		uint64_t where = next_random(&seed) % section->sh_size;
		bytes[where] = (uint8_t)next_random(&seed);
	}
}

/*
 * libdw may give up on what it is shown (it has asserts; that ends the jailed child, and a new one is started),
 * but nothing of ours may: each damaged file is read in a process of its own.
 */
static void random_damage_is_survived(void)
{
	static const char *const names[] = {".eh_frame", ".eh_frame_hdr"};
	size_t nr_survived = 0;
	for (uint64_t seed = 1; seed <= NR_FUZZ; seed++) {
		fflush(stdout);
		pid_t pid = fork();
		int status;
		if (pid == 0) {
			random_damage(names[seed % 2], seed * UINT64_C(0x9e3779b97f4a7c15));
			ask_everything();
			_exit(0);
		}
		CHECK(pid > 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			nr_survived++;
		else
			printf("# seed %d: status %#x\n", (int)seed, (unsigned)status);
	}
	printf("# %zu of %d\n", nr_survived, NR_FUZZ);
	CHECK(nr_survived >= NR_FUZZ * 9 / 10);
}

int main(void)
{
	if (!load())
		return 1;
	RUN(learn);
	RUN(a_lookup_table_of_zeroes);
	RUN(a_lookup_table_of_another_version);
	RUN(a_lookup_table_out_of_order);
	RUN(a_lookup_table_that_misses_some);
	RUN(no_lookup_table);
	RUN(no_section_headers);
	RUN(no_section_headers_and_a_lookup_table_of_zeroes);
	RUN(debug_frame_only);
	RUN(a_compressed_debug_frame);
	RUN(a_compressed_debug_frame_that_lies);
	RUN(no_tables_at_all);
	RUN(random_damage_is_survived);
	free(t.bytes);
	free(t.pristine);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* What is read of an object file: made ones, real ones, hostile ones. */
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include "files/opened.h"

/* ---- what is read ---- */

static void header_and_identity(void)
{
	small_elf_init(&elf);
	struct object *object = open_small();
	const struct object_identity *identity = object_identity(object);
	CHECK_EQ(identity->build_id_size, 20);
	CHECK(memcmp(identity->build_id, elf.start.note.build_id, 20) == 0);
	CHECK_EQ(object_machine(object), EM_X86_64);
	CHECK(object_elf(object));
	object_free(object);
	object_free(NULL);
}

static void no_build_id_or_an_odd_one(void)
{
	small_elf_init(&elf);
	elf.start.note.header.n_type = NT_GNU_ABI_TAG;
	struct object *object = open_small();
	CHECK_EQ(object_identity(object)->build_id_size, 0);
	object_free(object);
	/* As lld's --build-id=fast writes it. */
	elf.start.note.header = (Elf64_Nhdr){4, 8, NT_GNU_BUILD_ID};
	object = open_small();
	CHECK_EQ(object_identity(object)->build_id_size, 8);
	object_free(object);
	elf.start.note.header = (Elf64_Nhdr){4, 21, NT_GNU_BUILD_ID};
	elf.start.segments[3].p_filesz += 8;
	object = open_small();
	CHECK_EQ(object_identity(object)->build_id_size, 0);
	object_free(object);
}

static void offsets_become_elf_addresses(void)
{
	small_elf_init(&elf);
	struct object *object = open_small();
	uint64_t address = 0;
	CHECK(object_elf_address(object, SMALL_CODE_OFFSET, &address));
	CHECK_EQ(address, SMALL_CODE);
	/* A mapping begins at a page's border, before the segment. */
	CHECK(object_elf_address(object, SMALL_CODE_OFFSET & ~0xfff, &address));
	CHECK_EQ(address, SMALL_CODE - 0x40);
	CHECK(object_elf_address(object, SMALL_CODE_OFFSET + SMALL_CODE_BYTES - 1, &address));
	CHECK_EQ(address, SMALL_CODE + SMALL_CODE_BYTES - 1);
	CHECK(!object_elf_address(object, SMALL_CODE_OFFSET + SMALL_CODE_BYTES, &address));
	CHECK(!object_elf_address(object, 0, &address));
	CHECK(!object_elf_address(object, UINT64_MAX, &address));
	/* Not code, but a personality may have everything mapped executable. */
	CHECK(object_elf_address(object, SMALL_CONST_OFFSET, &address));
	CHECK_EQ(address, SMALL_CONST);
	object_free(object);
}

static void code_is_preferred_on_a_shared_page(void)
{
	small_elf_init(&elf);
	/* Constants that end on the page on which the code begins. */
	elf.start.segments[1].p_offset = 0;
	elf.start.segments[1].p_filesz = SMALL_CODE_OFFSET;
	Elf64_Phdr code = elf.start.segments[0];
	elf.start.segments[0] = elf.start.segments[1];
	elf.start.segments[1] = code;
	struct object *object = open_small();
	uint64_t address;
	CHECK(object_elf_address(object, 0x1000, &address));
	CHECK_EQ(address, SMALL_CODE - 0x40);
	CHECK(object_elf_address(object, 0, &address));
	CHECK_EQ(address, SMALL_CONST);
	object_free(object);
	/* Two segments of code: the one that begins on the page. */
	elf.start.segments[0].p_flags |= PF_X;
	object = open_small();
	CHECK(object_elf_address(object, 0x1000, &address));
	CHECK_EQ(address, SMALL_CODE - 0x40);
	object_free(object);
}

static void constants_are_read_and_nothing_else(void)
{
	small_elf_init(&elf);
	struct object *object = open_small();
	uint8_t bytes[SMALL_CONST_BYTES + 1];
	CHECK(object_read(object, SMALL_CONST, bytes, SMALL_CONST_BYTES));
	for (size_t i = 0; i < SMALL_CONST_BYTES; i++)
		CHECK_EQ(bytes[i], (uint8_t)(i ^ 0x55));
	CHECK(object_read(object, SMALL_CONST + SMALL_CONST_BYTES - 1, bytes, 1));
	CHECK(!object_read(object, SMALL_CONST + SMALL_CONST_BYTES - 1, bytes, 2));
	CHECK(!object_read(object, SMALL_CONST, bytes, SMALL_CONST_BYTES + 1));
	CHECK(!object_read(object, SMALL_CONST - 1, bytes, 2));
	CHECK(!object_read(object, SMALL_CONST, bytes, SIZE_MAX));
	CHECK(!object_read(object, 0, bytes, 1));
	CHECK(!object_read(object, UINT64_MAX, bytes, 8));
	CHECK(object_read(object, SMALL_CODE, bytes, 4));
	CHECK(!object_read(object, SMALL_DATA, bytes, 1)); /* the process may have changed it */
	object_free(object);
}

static void a_segment_ends_with_the_file(void)
{
	small_elf_init(&elf);
	elf.start.segments[1].p_filesz = UINT64_MAX;
	elf.start.segments[2].p_offset = UINT64_MAX;
	elf.start.segments[2].p_flags = PF_R;
	struct object *object = open_small();
	uint8_t byte;
	uint64_t last = SMALL_CONST + (sizeof(elf) - SMALL_CONST_OFFSET) - 1;
	CHECK(object_read(object, last, &byte, 1));
	CHECK(!object_read(object, last + 1, &byte, 1));
	CHECK(!object_read(object, SMALL_DATA, &byte, 1));
	object_free(object);
}

/* ---- real files ---- */

static uint64_t own_bias;

static int find_own_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	own_bias = info->dlpi_addr; /* the program comes first */
	return 1;
}

static uint64_t own_address(void (*function)(void))
{
	return (uint64_t)(uintptr_t)function - own_bias;
}

static void this_very_program(void)
{
	dl_iterate_phdr(find_own_bias, NULL);
	struct object *object = open_path("/proc/self/exe");
	CHECK(object);
	uint64_t address = own_address(this_very_program);
	uint8_t bytes[16];
	CHECK(object_read(object, address, bytes, sizeof(bytes)));
	CHECK(memcmp(bytes, (const void *)(uintptr_t)this_very_program, sizeof(bytes)) == 0);
	CHECK(!object_is_root(object, address));
	CHECK_EQ(object_known_function(object, address), FUNCTION_ORDINARY);
	uint64_t entry = getauxval(AT_ENTRY) - own_bias;
	CHECK(object_is_root(object, entry));
	CHECK(object_is_root(object, entry + 0x1f));
	CHECK(!object_is_root(object, entry - 1));
	CHECK(!object_is_root(object, entry + 0x40));
	object_free(object);
}

static void the_c_library(void)
{
	Dl_info info;
	void *clone_address = dlsym(RTLD_DEFAULT, "__clone");
	if (!clone_address || !dladdr(clone_address, &info))
		SKIP("this C library has no __clone");
	struct object *object = open_path(info.dli_fname);
	CHECK(object);
	uint64_t bias = (uint64_t)(uintptr_t)info.dli_fbase;
	CHECK(object_is_root(object, (uint64_t)(uintptr_t)clone_address - bias + 0x30));
	void *printf_address = dlsym(RTLD_DEFAULT, "printf");
	CHECK(printf_address);
	CHECK(!object_is_root(object, (uint64_t)(uintptr_t)printf_address - bias));
	object_free(object);
}

static void the_loader(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_BASE); // NOLINT
	Dl_info info;
	if (!header || !dladdr((const char *)header + header->e_entry, &info))
		SKIP("no loader in this process");
	struct object *object = open_path(info.dli_fname);
	CHECK(object);
	CHECK(object_is_root(object, header->e_entry));
	CHECK(object_is_root(object, header->e_entry + 0x2f)); /* its call of _dl_init */
	CHECK(!object_is_root(object, header->e_entry + 0x40));
	object_free(object);
}

static struct object *made_by(const char *command)
{
	char made[] = "/tmp/ctop-object-XXXXXX", line[1024];
	int fd = mkstemp(made);
	CHECK(fd >= 0);
	close(fd);
	snprintf(line, sizeof(line), "exec 2>/dev/null; out=%s; %s", made, command);
	struct object *object = system(line) == 0 ? open_path(made) : NULL;
	unlink(made);
	return object;
}

static void a_stripped_program(void)
{
	struct object *object = made_by("strip -o $out /proc/$PPID/exe");
	if (!object)
		SKIP("no strip");
	uint64_t entry = getauxval(AT_ENTRY) - own_bias;
	CHECK(object_is_root(object, entry));
	CHECK(object_is_root(object, entry + 0x1f));
	CHECK(!object_is_root(object, entry + 0x40));
	object_free(object);
}

static void a_program_without_section_headers(void)
{
	struct object *object =
		made_by("cp /proc/$PPID/exe $out && "
			"printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=$out bs=1 seek=40 "
			"conv=notrunc && printf '\\0\\0\\0\\0' | "
			"dd of=$out bs=1 seek=60 conv=notrunc");
	CHECK(object);
	uint64_t entry = getauxval(AT_ENTRY) - own_bias, address;
	CHECK(object_is_root(object, entry));
	CHECK(!object_is_root(object, own_address(this_very_program)));
	struct object *whole = open_path("/proc/self/exe");
	uint64_t whole_address;
	for (uint64_t offset = 0; offset < 1 << 20; offset += 4096) {
		bool there = object_elf_address(whole, offset, &whole_address);
		CHECK_EQ(object_elf_address(object, offset, &address), there);
		CHECK(!there || address == whole_address);
	}
	CHECK_EQ(object_identity(object)->build_id_size, object_identity(whole)->build_id_size);
	object_free(whole);
	object_free(object);
}

static void static_programs(void)
{
	static const char *const flags[] = {"-static -no-pie", "-static-pie", "-static -no-pie -s",
					    "-static-pie -s"};
	int nr_made = 0;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		char command[256];
		snprintf(command, sizeof(command),
			 "echo 'int main(void) { return 0; }' | ${CC:-cc} %s -o $out -x c -",
			 flags[i]);
		struct object *object = made_by(command);
		if (!object)
			continue;
		nr_made++;
		size_t size;
		const Elf64_Ehdr *header = (const void *)elf_rawfile(object_elf(object), &size);
		CHECK(header && object_is_root(object, header->e_entry));
		object_free(object);
	}
	if (!nr_made)
		SKIP("static programs cannot be linked here");
}

/* ---- hostile files ---- */

static void use(struct object *object)
{
	uint8_t bytes[64];
	uint64_t address;
	for (uint64_t i = 0; i < 64; i++) {
		object_elf_address(object, i * 0x111, &address);
		object_read(object, SMALL_CONST + i * 0x11, bytes, i);
		object_is_root(object, SMALL_CODE + i);
		object_known_function(object, SMALL_CODE + i);
	}
}

static void what_is_no_elf_file(void)
{
	static const char text[] =
		"#!/bin/sh\necho this is a script, and long enough for a header\n"
		"................................................................";
	CHECK(!open_bytes(text, sizeof(text)));
	CHECK(!open_bytes("", 0));
	CHECK(!open_bytes("\177ELF", 4));
	CHECK(!open_bytes("!<arch>\n", 8));
	struct error error;
	CHECK(!object_open(-1, &error));
	int fd = open("/", O_RDONLY | O_CLOEXEC);
	CHECK(!object_open(fd, &error));
}

static void other_machines(void)
{
	small_elf_init(&elf);
	elf.start.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(!open_bytes(&elf, sizeof(elf)));
	small_elf_init(&elf);
	elf.start.header.e_machine = EM_386;
	CHECK(!open_bytes(&elf, sizeof(elf)));
	small_elf_init(&elf);
	elf.start.header.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	CHECK(!open_bytes(&elf, sizeof(elf)));
	small_elf_init(&elf);
	elf.start.header.e_machine = EM_AARCH64;
	struct object *object = open_small();
	CHECK_EQ(object_machine(object), EM_AARCH64);
	object_free(object);
}

static void more_segments_than_any_linker_makes(void)
{
	small_elf_init(&elf);
	elf.start.header.e_phnum = 600;
	CHECK(!open_bytes(&elf, sizeof(elf)));
}

static void fill(void)
{
	small_elf_init(&elf);
	elf.start.header.e_type = ET_EXEC;
	elf.start.header.e_entry = SMALL_CODE;
	small_elf_add(&elf, "_start", 0, 0);
	small_elf_add(&elf, "__clone", 0x100, 0x20);
	small_elf_add(&elf, "runtime.mcall", 0x200, 0);
}

static void cut_at_any_length(void)
{
	fill();
	for (size_t size = 0; size < sizeof(elf);
	     size += size < sizeof(Elf64_Ehdr) + 400 ? 1 : 61) {
		struct object *object = open_bytes(&elf, size);
		if (object)
			use(object);
		object_free(object);
	}
}

/* Every byte that is read at all, set to values that hurt. */
static void any_byte_changed(void)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	fill();
	uint8_t *bytes = (uint8_t *)&elf;
	const size_t end = offsetof(struct small_elf, start.symbols) + 5 * sizeof(Elf64_Sym);
	for (size_t at = 0; at < end; at++) {
		const uint8_t was = bytes[at];
		for (size_t i = 0; i < sizeof(values); i++) {
			bytes[at] = values[i];
			struct object *object = open_bytes(&elf, sizeof(elf));
			if (object)
				use(object);
			object_free(object);
		}
		bytes[at] = was;
	}
}

static int next_descriptor(void)
{
	int fd = dup(0);
	close(fd);
	return fd;
}

static void one_descriptor_is_kept_as_long_as_there_are_some(void)
{
	enum { HIGH = 4000 };
	small_elf_init(&elf);
	const int before = next_descriptor();
	struct object *object = open_small();
	use(object);
	object_free(object);
	CHECK_EQ(next_descriptor(), before);
	/* A process with very many modules does without. */
	int fd = file_of_bytes(&elf, sizeof(elf));
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	close(fd);
	if (high < 0)
		SKIP("no more than 4,000 descriptors here");
	struct error error;
	object = object_open(high, &error);
	CHECK(object != NULL);
	CHECK_EQ(fcntl(high, F_GETFD), -1);
	CHECK(object_is_as_opened(object, true));
	use(object);
	object_free(object);
}

int main(void)
{
	RUN(header_and_identity);
	RUN(no_build_id_or_an_odd_one);
	RUN(offsets_become_elf_addresses);
	RUN(code_is_preferred_on_a_shared_page);
	RUN(constants_are_read_and_nothing_else);
	RUN(a_segment_ends_with_the_file);
	RUN(this_very_program);
	RUN(the_c_library);
	RUN(the_loader);
	RUN(a_stripped_program);
	RUN(a_program_without_section_headers);
	RUN(static_programs);
	RUN(what_is_no_elf_file);
	RUN(other_machines);
	RUN(more_segments_than_any_linker_makes);
	RUN(cut_at_any_length);
	RUN(any_byte_changed);
	RUN(one_descriptor_is_kept_as_long_as_there_are_some);
	return test_done();
}

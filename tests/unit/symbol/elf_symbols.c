/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include <ctop/object/object.h>

#include "../../../src/symbol/elf_plt.h"
#include "../../../src/symbol/elf_symbols.h"
#include "elf_file.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static struct object *opened(int fd)
{
	struct error error;
	CHECK(fd >= 0);
	struct object *object = object_open(fd, &error);
	CHECK(object != NULL);
	return object;
}

static const char *name_at(const struct elf_symbols *symbols, uint64_t address)
{
	struct symbol_hit hit;
	return elf_symbols_find(symbols, address, &hit) ? hit.name : "-";
}

/* ---- made for the purpose ---- */

struct read_elf {
	struct object *object;
	struct elf_symbols *symbols;
};

static struct read_elf read_made(const struct test_symbol *made, size_t nr, uint16_t machine)
{
	const struct test_elf elf = {
		.symbols = made, .nr_symbols = nr, .table_type = SHT_SYMTAB, .machine = machine};
	struct read_elf read = {opened(test_elf_fd(&elf)), elf_symbols_new()};
	CHECK_EQ(elf_symbols_add(read.symbols, object_elf(read.object), SHT_SYMTAB), 1);
	elf_symbols_finish(read.symbols);
	return read;
}

static void release(struct read_elf *read)
{
	elf_symbols_free(read->symbols);
	object_free(read->object);
}

static void extents(void)
{
	static const struct test_symbol made[] = {
		{"sized", 0x1000, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sizeless", 0x1040, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"next", 0x1080, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"ifunc", 0x10a0, 8, STB_GLOBAL, STT_GNU_IFUNC, TEST_TEXT},
		{"label", 0x1100, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"undefined", 0x1200, 8, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
		{"absolute", 0x1210, 8, STB_GLOBAL, STT_FUNC, SHN_ABS},
		{"object", 0x1220, 8, STB_GLOBAL, STT_OBJECT, TEST_TEXT},
		{"data_label", 0x3000, 0, STB_GLOBAL, STT_NOTYPE, TEST_DATA},
		{"", 0x1300, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"outside", 0x2000, 0, STB_GLOBAL, STT_NOTYPE, TEST_TEXT},
		{"last", 0x1f00, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"huge", 0x7000, UINT64_MAX, STB_GLOBAL, STT_FUNC, TEST_DATA},
	};
	struct read_elf read = read_made(made, NR(made), 0);
	CHECK_STR(name_at(read.symbols, 0xfff), "-");
	CHECK_STR(name_at(read.symbols, 0x1000), "sized");
	CHECK_STR(name_at(read.symbols, 0x101f), "sized");
	CHECK_STR(name_at(read.symbols, 0x1020), "-");
	CHECK_STR(name_at(read.symbols, 0x1040), "sizeless");
	CHECK_STR(name_at(read.symbols, 0x107f), "sizeless");
	CHECK_STR(name_at(read.symbols, 0x1080), "next");
	CHECK_STR(name_at(read.symbols, 0x10a7), "ifunc");
	/* A label reaches to the next symbol, the last one to its section's end. */
	CHECK_STR(name_at(read.symbols, 0x1100), "label");
	CHECK_STR(name_at(read.symbols, 0x1210), "label");
	CHECK_STR(name_at(read.symbols, 0x1eff), "label");
	CHECK_STR(name_at(read.symbols, 0x1fff), "last");
	CHECK_STR(name_at(read.symbols, 0x2000), "-");
	CHECK_STR(name_at(read.symbols, 0x3000), "-");
	CHECK_STR(name_at(read.symbols, 0x7000), "huge");
	struct symbol_hit hit;
	CHECK(elf_symbols_find(read.symbols, 0x1050, &hit));
	CHECK_EQ(hit.start, 0x1040);
	CHECK(!hit.module);
	release(&read);
}

static void aliases(void)
{
	static const struct test_symbol made[] = {
		{"weak", 0x1000, 8, STB_WEAK, STT_FUNC, TEST_TEXT},
		{"__global", 0x1000, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"_global", 0x1000, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"local", 0x1000, 8, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"weak_two", 0x1010, 8, STB_WEAK, STT_FUNC, TEST_TEXT},
		{"local_two", 0x1010, 8, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"short", 0x1020, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"the_longer", 0x1020, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"fork@@GLIBC_2.2.5", 0x1030, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"longer_fork", 0x1030, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sizeless_global", 0x1040, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sized_local", 0x1040, 8, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"a_label", 0x1050, 8, STB_GLOBAL, STT_NOTYPE, TEST_TEXT},
		{"function", 0x1050, 4, STB_LOCAL, STT_FUNC, TEST_TEXT},
	};
	struct read_elf read = read_made(made, NR(made), 0);
	CHECK_STR(name_at(read.symbols, 0x1000), "_global");
	CHECK_STR(name_at(read.symbols, 0x1010), "local_two");
	CHECK_STR(name_at(read.symbols, 0x1020), "the_longer");
	CHECK_STR(name_at(read.symbols, 0x1030), "longer_fork");
	CHECK_STR(name_at(read.symbols, 0x1047), "sized_local");
	/* The name of one, the extent of both. */
	CHECK_STR(name_at(read.symbols, 0x1057), "function");
	CHECK_STR(name_at(read.symbols, 0x1058), "-");
	CHECK_EQ(elf_symbols_count(read.symbols), 6);
	release(&read);
}

static void nested(void)
{
	static const struct test_symbol made[] = {
		{"outer", 0x1000, 0x100, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"middle", 0x1010, 0x40, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"inner", 0x1020, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"label_inside", 0x1040, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"sibling", 0x1060, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"across", 0x10f0, 0x20, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"after", 0x1120, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
	};
	struct read_elf read = read_made(made, NR(made), 0);
	CHECK_STR(name_at(read.symbols, 0x1000), "outer");
	CHECK_STR(name_at(read.symbols, 0x1018), "middle");
	CHECK_STR(name_at(read.symbols, 0x1028), "inner");
	CHECK_STR(name_at(read.symbols, 0x1030), "middle");
	CHECK_STR(name_at(read.symbols, 0x1044), "middle");
	CHECK_STR(name_at(read.symbols, 0x1050), "outer");
	CHECK_STR(name_at(read.symbols, 0x1068), "sibling");
	CHECK_STR(name_at(read.symbols, 0x1070), "outer");
	CHECK_STR(name_at(read.symbols, 0x10f8), "across");
	CHECK_STR(name_at(read.symbols, 0x110f), "across");
	CHECK_STR(name_at(read.symbols, 0x1110), "-");
	CHECK_STR(name_at(read.symbols, 0x1128), "after");
	release(&read);
}

/* Random overlapping functions, against the plain way: the latest start that covers an address. */
static void nested_always(void)
{
	enum { NR_MADE = 60, SPAN = 0x400 };
	struct test_symbol made[NR_MADE];
	char names[NR_MADE][8];
	srandom(5);
	for (int round = 0; round < 30; round++) {
		for (size_t i = 0; i < NR_MADE; i++) {
			sprintf(names[i], "f%zu", i);
			/* Starts differ, so that aliases play no part. */
			made[i] = (struct test_symbol){names[i],
						       0x1000 + i * 16 + (uint64_t)random() % 16,
						       (uint64_t)random() % 200 + 1,
						       STB_GLOBAL,
						       STT_FUNC,
						       TEST_TEXT};
		}
		struct read_elf read = read_made(made, NR_MADE, 0);
		for (uint64_t address = 0x1000; address < 0x1000 + SPAN + 300; address++) {
			const char *wanted = "-";
			for (size_t i = 0; i < NR_MADE; i++)
				if (address >= made[i].address &&
				    address - made[i].address < made[i].bytes)
					wanted = made[i].name;
			CHECK_STR(name_at(read.symbols, address), wanted);
		}
		release(&read);
	}
}

static void mapping_symbols(void)
{
	static const struct test_symbol made[] = {
		{"$x", 0x1000, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"$d.12", 0x1010, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"$special", 0x1020, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{".Lloop", 0x1040, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
	};
	struct read_elf read = read_made(made, NR(made), EM_AARCH64);
	CHECK_STR(name_at(read.symbols, 0x1000), "-");
	CHECK_STR(name_at(read.symbols, 0x1018), "-");
	CHECK_STR(name_at(read.symbols, 0x1020), "$special");
	CHECK_STR(name_at(read.symbols, 0x1040), "-");
	release(&read);
	read = read_made(made, NR(made), EM_X86_64);
	CHECK_STR(name_at(read.symbols, 0x1000), "$x");
	release(&read);
}

static void no_table(void)
{
	const struct test_elf elf = {.table_type = SHT_DYNSYM, .debuglink = "prog.debug"};
	struct object *object = opened(test_elf_fd(&elf));
	struct elf_symbols *symbols = elf_symbols_new();
	CHECK_EQ(elf_symbols_add(symbols, object_elf(object), SHT_SYMTAB), 0);
	CHECK_EQ(elf_symbols_add(symbols, object_elf(object), SHT_DYNSYM), 1);
	elf_symbols_finish(symbols);
	CHECK_STR(name_at(symbols, 0x1000), "-");
	CHECK_STR(elf_debuglink(object_elf(object)), "prog.debug");
	elf_symbols_free(symbols);
	object_free(object);
	const struct test_elf bare = {0};
	object = opened(test_elf_fd(&bare));
	CHECK_STR(elf_debuglink(object_elf(object)), "");
	object_free(object);
	elf_symbols_free(NULL);
}

/* Any byte of the file may be a lie; what libelf lets through must not hurt. */
static void damaged(void)
{
	static const struct test_symbol made[] = {
		{"one", 0x1000, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"two", 0x1040, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"three", 0x1080, 0x10, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
	};
	const struct test_elf elf = {.symbols = made,
				     .nr_symbols = NR(made),
				     .table_type = SHT_SYMTAB,
				     .debuglink = "x.debug"};
	static char file[8 << 10], copy[8 << 10];
	size_t size = test_elf_bytes(&elf, file, sizeof(file));
	size_t opened_files = 0;
	srandom(9);
	for (int round = 0; round < 5000; round++) {
		memcpy(copy, file, size);
		for (long i = random() % 4 + 1; i > 0; i--) {
			static const unsigned char values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
			copy[16 + (size_t)random() % (size - 16)] =
				(char)values[(size_t)random() % sizeof(values)];
		}
		size_t cut = random() % 4 == 0 ? (size_t)random() % size : size;
		struct error error;
		struct object *object = object_open(test_memfd(copy, cut), &error);
		if (!object)
			continue;
		opened_files++;
		struct elf_symbols *symbols = elf_symbols_new();
		elf_symbols_add(symbols, object_elf(object), SHT_SYMTAB);
		elf_symbols_add(symbols, object_elf(object), SHT_DYNSYM);
		elf_symbols_finish(symbols);
		elf_plt_add(symbols, object_elf(object));
		elf_symbols_finish(symbols);
		for (uint64_t address = 0xfff; address < 0x1100; address += 7)
			CHECK(strlen(name_at(symbols, address)) < sizeof(file));
		elf_debuglink(object_elf(object));
		elf_symbols_free(symbols);
		object_free(object);
	}
	CHECK(opened_files > 500);
}

/* ---- real files, against what binutils says of them ---- */

struct oracle_symbol {
	uint64_t address, bytes;
	char type;
	char name[1024];
};

/* Calls `look` with each defined function that nm knows the size of. Returns how many. */
static size_t each_nm_function(const char *nm, const char *path, const struct elf_symbols *symbols,
			       void (*look)(const struct elf_symbols *symbols,
					    const struct oracle_symbol *symbol))
{
	char command[PATH_MAX + 64], line[2048];
	snprintf(command, sizeof(command), "%s '%s' 2>/dev/null", nm, path);
	FILE *pipe = popen(command, "re");
	CHECK(pipe != NULL);
	size_t nr = 0;
	while (fgets(line, sizeof(line), pipe)) {
		struct oracle_symbol symbol;
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %1023s", &symbol.address,
			   &symbol.bytes, &symbol.type, symbol.name) != 4 ||
		    !strchr("tTwWi", symbol.type) || !symbol.bytes || !symbol.address)
			continue;
		look(symbols, &symbol);
		nr++;
	}
	pclose(pipe);
	return nr;
}

static void find_oracle_symbol(const struct elf_symbols *symbols,
			       const struct oracle_symbol *symbol)
{
	struct symbol_hit hit;
	CHECK(elf_symbols_find(symbols, symbol->address, &hit));
	CHECK_EQ(hit.start, symbol->address);
	/* The last byte may belong to a function that begins inside of this one. */
	CHECK(elf_symbols_find(symbols, symbol->address + symbol->bytes - 1, &hit));
	CHECK(hit.start >= symbol->address);
}

/* Names: the one found is one of those at the address. A pass counts matches, since aliases differ. */
static size_t count_equal_names(const char *nm, const char *path, const struct elf_symbols *symbols)
{
	char command[PATH_MAX + 64], line[2048];
	size_t matched = 0;
	snprintf(command, sizeof(command), "%s '%s' 2>/dev/null | sort -u", nm, path);
	FILE *pipe = popen(command, "re");
	CHECK(pipe != NULL);
	uint64_t last = 0;
	bool done = true;
	while (fgets(line, sizeof(line), pipe)) {
		struct oracle_symbol symbol;
		struct symbol_hit hit;
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %1023s", &symbol.address,
			   &symbol.bytes, &symbol.type, symbol.name) != 4 ||
		    !strchr("tTwWi", symbol.type) || !symbol.bytes || !symbol.address)
			continue;
		if (symbol.address != last) {
			CHECK(done);
			done = false;
			last = symbol.address;
		}
		CHECK(elf_symbols_find(symbols, symbol.address, &hit));
		size_t bare = strcspn(symbol.name, "@");
		if (!done && strncmp(hit.name, symbol.name, bare) == 0 &&
		    (!hit.name[bare] || hit.name[bare] == '@')) {
			done = true;
			matched++;
		}
	}
	CHECK(done);
	pclose(pipe);
	return matched;
}

static struct read_elf read_file(const char *path, uint32_t table_type)
{
	struct read_elf read = {opened(open(path, O_RDONLY | O_CLOEXEC)), elf_symbols_new()};
	CHECK_EQ(elf_symbols_add(read.symbols, object_elf(read.object), table_type), 1);
	elf_symbols_finish(read.symbols);
	return read;
}

static void need_tool(const char *tool)
{
	char command[256];
	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
	if (system(command) != 0)
		SKIP("binutils are not installed");
}

static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	CHECK(size > 0);
	path[size] = '\0';
	return path;
}

/* Noinline and called, so that it stands in the binary. */
static __attribute__((noinline)) int only_here(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static uint64_t own_elf_address(const void *function)
{
	Dl_info info;
	CHECK(dladdr(function, &info) != 0);
	return (uint64_t)((const char *)function - (const char *)info.dli_fbase);
}

static void own_binary(void)
{
	need_tool("nm");
	struct read_elf read = read_file(own_path(), SHT_SYMTAB);
	CHECK_EQ(only_here(1), 2);
	uint64_t address = own_elf_address((const void *)(uintptr_t)only_here);
	CHECK_STR(name_at(read.symbols, address), "only_here");
	CHECK_STR(name_at(read.symbols, address + 2), "only_here");
	CHECK(each_nm_function("nm -S --defined-only", own_path(), read.symbols,
			       find_oracle_symbol) > 50);
	CHECK(count_equal_names("nm -S --defined-only", own_path(), read.symbols) > 50);
	release(&read);
}

/* The names that addr2line finds by DWARF; at every 64th byte of the functions we know. */
static void own_binary_by_dwarf(void)
{
	need_tool("addr2line");
	struct read_elf read = read_file(own_path(), SHT_SYMTAB);
	static const void *functions[6];
	functions[0] = (const void *)(uintptr_t)only_here;
	functions[1] = (const void *)(uintptr_t)find_oracle_symbol;
	functions[2] = (const void *)(uintptr_t)elf_symbols_finish;
	functions[3] = (const void *)(uintptr_t)elf_plt_add;
	functions[4] = (const void *)(uintptr_t)object_open;
	functions[5] = (const void *)(uintptr_t)name_at;
	for (size_t i = 0; i < NR(functions); i++) {
		char command[PATH_MAX + 64], line[256];
		uint64_t address = own_elf_address(functions[i]);
		snprintf(command, sizeof(command), "addr2line -f -e '%s' %" PRIx64, own_path(),
			 address);
		FILE *pipe = popen(command, "re");
		CHECK(pipe != NULL && fgets(line, sizeof(line), pipe));
		pclose(pipe);
		line[strcspn(line, "\n")] = '\0';
		CHECK_STR(name_at(read.symbols, address), line);
	}
	release(&read);
}

static const char *path_of(const void *function)
{
	Dl_info info;
	CHECK(dladdr(function, &info) != 0);
	return info.dli_fname;
}

/* libc is stripped: its own functions are in the debug file of the same build-id. */
static void libc_by_debug_file(void)
{
	need_tool("nm");
	const char *libc = path_of((const void *)(uintptr_t)getppid);
	struct object *object = opened(open(libc, O_RDONLY | O_CLOEXEC));
	const struct object_identity *identity = object_identity(object);
	char path[PATH_MAX];
	CHECK(identity->build_id_size > 2);
	int used = sprintf(path, "/usr/lib/debug/.build-id/%02x/", identity->build_id[0]);
	for (uint32_t i = 1; i < identity->build_id_size; i++)
		used += sprintf(path + used, "%02x", identity->build_id[i]);
	strcpy(path + used, ".debug");
	object_free(object);
	if (access(path, R_OK) < 0)
		SKIP("libc6-dbg is not installed");
	struct read_elf read = read_file(path, SHT_SYMTAB);
	CHECK(each_nm_function("nm -S --defined-only", path, read.symbols, find_oracle_symbol) >
	      2000);
	CHECK(count_equal_names("nm -S --defined-only", path, read.symbols) > 2000);
	/* A symbol that .dynsym has not. */
	struct read_elf dynamic = read_file(libc, SHT_DYNSYM);
	CHECK(elf_symbols_count(read.symbols) > elf_symbols_count(dynamic.symbols));
	release(&dynamic);
	release(&read);
}

static void libraries_by_dynsym(void)
{
	need_tool("nm");
	const char *const paths[] = {
		path_of((const void *)(uintptr_t)getppid),
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
	};
	for (size_t i = 0; i < NR(paths); i++) {
		if (access(paths[i], R_OK) < 0)
			continue;
		struct read_elf read = read_file(paths[i], SHT_DYNSYM);
		CHECK(each_nm_function("nm -DS --defined-only", paths[i], read.symbols,
				       find_oracle_symbol) > 1000);
		CHECK(count_equal_names("nm -DS --defined-only", paths[i], read.symbols) > 1000);
		release(&read);
	}
}

/* Every stub that objdump names is found under that name. Returns how many there are. */
static size_t check_stubs(const char *path, uint32_t table_type)
{
	struct read_elf read = read_file(path, table_type);
	CHECK_EQ(elf_plt_add(read.symbols, object_elf(read.object)), 0);
	elf_symbols_finish(read.symbols);
	char command[PATH_MAX + 128], line[2048];
	snprintf(command, sizeof(command),
		 "objdump -d -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null", path);
	FILE *pipe = popen(command, "re");
	CHECK(pipe != NULL);
	size_t nr = 0;
	while (fgets(line, sizeof(line), pipe)) {
		uint64_t address;
		char name[1024];
		if (sscanf(line, "%" SCNx64 " <%1023[^>]>:", &address, name) != 2)
			continue;
		size_t size = strlen(name);
		/* Resolvers without a name are named by their functions here. */
		if (size < 4 || strcmp(name + size - 4, "@plt") != 0 || name[0] == '*')
			continue;
		struct symbol_hit hit;
		CHECK(elf_symbols_find(read.symbols, address, &hit));
		CHECK_EQ(hit.start, address);
		/* objdump keeps versions: "free@GLIBC_2.2.5@plt". */
		size_t bare = strcspn(name, "@");
		CHECK_EQ(strncmp(hit.name, name, bare), 0);
		CHECK_STR(hit.name + bare, "@plt");
		nr++;
	}
	pclose(pipe);
	release(&read);
	return nr;
}

static void stubs(void)
{
#ifndef __x86_64__
	SKIP("stubs are read on x86-64 only");
#endif
	need_tool("objdump");
	CHECK(check_stubs(own_path(), SHT_SYMTAB) > 10);
	static const char cplus[] = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
	if (access(cplus, R_OK) == 0)
		CHECK(check_stubs(cplus, SHT_DYNSYM) > 100);
}

/* With indirect branch tracking a second table, .plt.sec, is the one that is called. */
static void stubs_with_branch_tracking(void)
{
#ifndef __x86_64__
	SKIP("stubs are read on x86-64 only");
#endif
	need_tool("objdump");
	char path[] = "/tmp/ctop-test-XXXXXX", command[256];
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "echo 'int puts(const char *), getppid(void); int (*p)(void) = getppid; "
		 "int main(void) { return puts(\"\") + getppid() + p(); }' | cc -x c - -fPIE -pie "
		 "-fcf-protection -Wl,-z,ibtplt,-z,lazy -o %s 2>/dev/null",
		 path);
	int built = system(command);
	size_t nr = built == 0 ? check_stubs(path, SHT_SYMTAB) : 0;
	struct read_elf read = {0};
	Elf64_Shdr plt;
	bool has_second = false;
	if (built == 0) {
		read = read_file(path, SHT_SYMTAB);
		has_second = elf_section_named(object_elf(read.object), ".plt.sec", &plt) != NULL;
		CHECK(elf_section_named(object_elf(read.object), ".plt", &plt) != NULL);
		CHECK_EQ(elf_plt_add(read.symbols, object_elf(read.object)), 0);
		elf_symbols_finish(read.symbols);
	}
	unlink(path);
	if (!has_second)
		SKIP("no compiler here makes .plt.sec");
	CHECK(nr >= 2);
	/* The entries of .plt only push a number there; the first is for the dynamic linker. */
	for (uint64_t at = plt.sh_addr + 16; at < plt.sh_addr + plt.sh_size; at += 16)
		CHECK(strstr(name_at(read.symbols, at), "@plt") != NULL);
	release(&read);
}

/* libc's own stubs go to indirect functions, which relocations name by their resolvers only. */
static void indirect_stubs(void)
{
#ifndef __x86_64__
	SKIP("stubs are read on x86-64 only");
#endif
	struct read_elf read = read_file(path_of((const void *)(uintptr_t)getppid), SHT_DYNSYM);
	size_t before = elf_symbols_count(read.symbols);
	CHECK_EQ(elf_plt_add(read.symbols, object_elf(read.object)), 0);
	elf_symbols_finish(read.symbols);
	CHECK(elf_symbols_count(read.symbols) > before);
	Elf64_Shdr plt;
	CHECK(elf_section_named(object_elf(read.object), ".plt", &plt) != NULL);
	size_t named = 0;
	for (uint64_t at = plt.sh_addr; at < plt.sh_addr + plt.sh_size; at += 16)
		named += strcmp(name_at(read.symbols, at), "strlen@plt") == 0 ||
			 strcmp(name_at(read.symbols, at), "memcpy@plt") == 0 ||
			 strcmp(name_at(read.symbols, at), "strchr@plt") == 0;
	CHECK(named > 0);
	release(&read);
}

int main(void)
{
	RUN(extents);
	RUN(aliases);
	RUN(nested);
	RUN(nested_always);
	RUN(mapping_symbols);
	RUN(no_table);
	RUN(damaged);
	RUN(own_binary);
	RUN(own_binary_by_dwarf);
	RUN(libc_by_debug_file);
	RUN(libraries_by_dynsym);
	RUN(stubs);
	RUN(stubs_with_branch_tracking);
	RUN(indirect_stubs);
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/* Real files, against what binutils says of them. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include <ctop/elf/section.h>

#include "read_elf.h"

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
	RUN(own_binary);
	RUN(own_binary_by_dwarf);
	RUN(libc_by_debug_file);
	RUN(libraries_by_dynsym);
	RUN(stubs);
	RUN(stubs_with_branch_tracking);
	RUN(indirect_stubs);
	return test_done();
}

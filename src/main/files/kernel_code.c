/* SPDX-License-Identifier: MIT */
#include "kernel_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/base/privilege.h>
#include <ctop/base/vec.h>

enum { LINE_BYTES = 2048, SEGMENTS_MAX = 4096 };

/* A line of /proc/kallsyms: "ADDRESS TYPE NAME", and of a module "\t[MODULE]". Its parts end where they are cut. */
struct line {
	uint64_t address;
	char type;
	const char *name, *module; /* "": the kernel's own */
};

static bool read_line(char *text, struct line *line)
{
	char *end;
	line->address = strtoull(text, &end, 16);
	if (end == text || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	line->type = end[1];
	line->name = end + 3;
	line->module = "";
	end[3 + strcspn(end + 3, "\n")] = '\0';
	char *tab = strchr(end + 3, '\t');
	if (tab) {
		*tab = '\0';
		line->module = tab + 1;
	}
	return line->name[0] != '\0';
}

static uint64_t hash_of(const char *name)
{
	return hash_bytes(name, strlen(name));
}

/* What the kernel makes while it runs may be anywhere, and anything may stand behind it. */
static bool is_made(const char *module)
{
	return !strcmp(module, "[bpf]") || !strncmp(module, "[__builtin__", 12);
}

static int add(struct kernel_symbols *symbols, const struct line *line)
{
	if (vec_reserve(symbols, symbols->nr + 1))
		return -ENOMEM;
	symbols->items[symbols->nr++] = (struct kernel_symbol){
		.address = line->address,
		.name = hash_of(line->name),
		.module = line->module[0] ? hash_of(line->module) : 0,
		.is_text = strchr("tTwW", line->type) != NULL,
		.is_made = is_made(line->module),
	};
	symbols->has_addresses |= line->address != 0;
	if (!line->module[0] && !strcmp(line->name, "_stext"))
		symbols->text_start = line->address;
	if (!line->module[0] && !strcmp(line->name, "_etext"))
		symbols->text_end = line->address;
	return 0;
}

int kernel_symbols_read(FILE *file, struct kernel_symbols *symbols)
{
	char text[LINE_BYTES];
	struct line line;
	kernel_symbols_release(symbols);
	while (fgets(text, sizeof(text), file)) {
		if (!read_line(text, &line) || !add(symbols, &line))
			continue;
		kernel_symbols_release(symbols);
		return -ENOMEM;
	}
	if (!ferror(file))
		return 0;
	kernel_symbols_release(symbols);
	return -EIO;
}

void kernel_symbols_release(struct kernel_symbols *symbols)
{
	free(symbols->items);
	*symbols = (struct kernel_symbols){0};
}

int kernel_function_find(const struct kernel_symbols *symbols, uint64_t start, const char *name,
			 struct kernel_function *function)
{
	const uint64_t wanted = name ? hash_of(name) : 0;
	const struct kernel_symbol *found = NULL, *next = NULL;
	if (!symbols->has_addresses)
		return -EPERM;
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct kernel_symbol *symbol = &symbols->items[i];
		if (symbol->address == start && symbol->is_text && !symbol->is_made &&
		    (!name || symbol->name == wanted))
			found = symbol;
		if (symbol->address > start &&
		    (!next || symbol->address < next->address ||
		     (symbol->address == next->address && !next->is_text)))
			next = symbol;
	}
	/* Whatever begins next has to be text of the same. */
	if (!found || !next || !next->is_text || next->module != found->module)
		return -ENXIO;
	/* What has been thrown away since it ran once (.init.text) has names, too, and is anybody's memory now. */
	if (!found->module && (start < symbols->text_start || next->address > symbols->text_end))
		return -ENXIO;
	*function = (struct kernel_function){start, next->address, found->module != 0};
	return 0;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, bytes, size, (off_t)at) == (ssize_t)size;
}

static int find_segment(int fd, uint64_t start, uint64_t end, uint64_t *offset)
{
	Elf64_Ehdr header;
	if (!read_at(fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > SEGMENTS_MAX)
		return -ENOEXEC;
	for (size_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		if (!read_at(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)))
			return -ENOEXEC;
		if (segment.p_type != PT_LOAD || start < segment.p_vaddr ||
		    end - segment.p_vaddr > segment.p_filesz)
			continue;
		return __builtin_add_overflow(segment.p_offset, start - segment.p_vaddr, offset)
			       ? -EFAULT
			       : 0;
	}
	return -EFAULT;
}

ssize_t kernel_function_read(int core_fd, const struct kernel_function *function, void *bytes,
			     size_t most)
{
	const uint64_t whole = function->end - function->start;
	const size_t size = whole < most ? (size_t)whole : most;
	uint64_t offset;
	const int result = find_segment(core_fd, function->start, function->start + size, &offset);
	if (result)
		return result;
	return read_at(core_fd, bytes, size, offset) ? (ssize_t)size : -EFAULT;
}

/* Several functions are asked for at a time, and the kernel makes the list on each read, which takes it 33 ms. */
static int read_symbols(struct kernel_symbols *symbols)
{
	static uint64_t read_ns;
	const uint64_t now_ns = clock_now_ns();
	if (symbols->nr && now_ns - read_ns < NS_PER_SECOND)
		return 0;
	const int fd = privilege_openat(PRIVILEGE_KERNEL_NAMES, AT_FDCWD, "/proc/kallsyms",
					O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	const int error = -errno;
	if (!file && fd >= 0)
		close(fd);
	if (!file)
		return error;
	read_ns = now_ns;
	const int result = kernel_symbols_read(file, symbols);
	fclose(file);
	return result;
}

/* A module may have gone since the list was read, and its place have become anybody's. */
static bool is_still_there(struct kernel_symbols *symbols, const char *name,
			   const struct kernel_function *function)
{
	struct kernel_function now;
	kernel_symbols_release(symbols);
	return !read_symbols(symbols) &&
	       !kernel_function_find(symbols, function->start, name, &now) &&
	       now.end == function->end;
}

ssize_t kernel_code_read(uint64_t start, const char *name, void *bytes, size_t most,
			 uint64_t *whole)
{
	static struct kernel_symbols symbols;
	struct kernel_function function;
	/* Where there is none, the list is not worth its milliseconds. */
	const int fd = privilege_openat(PRIVILEGE_KERNEL_CODE, AT_FDCWD, "/proc/kcore",
					O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EPERM ? -EACCES : -errno;
	ssize_t got = read_symbols(&symbols);
	if (!got)
		got = kernel_function_find(&symbols, start, name, &function);
	if (!got)
		got = kernel_function_read(fd, &function, bytes, most);
	close(fd);
	if (got < 0)
		return got;
	if (function.is_of_module && !is_still_there(&symbols, name, &function))
		got = -ESTALE;
	*whole = function.end - function.start;
	return got;
}

/* SPDX-License-Identifier: MIT */
#include "kernel_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

enum { LINE_BYTES = 1024, SEGMENTS_MAX = 4096 };

/* A line of /proc/kallsyms: "ADDRESS TYPE NAME", and of a module "\t[MODULE]". */
struct symbol {
	uint64_t address;
	char type;
	char name[LINE_BYTES], module[LINE_BYTES];
};

static bool read_symbol(const char *line, struct symbol *symbol)
{
	symbol->module[0] = '\0';
	return sscanf(line, "%" SCNx64 " %c %1023[^\t\n]\t%1023[^\n]", &symbol->address,
		      &symbol->type, symbol->name, symbol->module) >= 3;
}

static bool is_text(const struct symbol *symbol)
{
	return strchr("tTwW", symbol->type) != NULL;
}

/* What the kernel makes while it runs may be anywhere, and anything may stand behind it. */
static bool is_made(const char *module)
{
	return !strcmp(module, "[bpf]") || !strncmp(module, "[__builtin__", 12);
}

struct search {
	uint64_t start;
	const char *name;
	bool is_found, has_addresses;
	char module[LINE_BYTES]; /* its; "": the kernel's own */
	/* What begins next, whatever it is, and whether that is text of: */
	uint64_t next;
	bool next_is_text;
	char next_module[LINE_BYTES];
	uint64_t text_start, text_end; /* of the kernel's own */
};

static void look_at(struct search *search, const struct symbol *symbol)
{
	search->has_addresses |= symbol->address != 0;
	if (!symbol->module[0] && !strcmp(symbol->name, "_stext"))
		search->text_start = symbol->address;
	if (!symbol->module[0] && !strcmp(symbol->name, "_etext"))
		search->text_end = symbol->address;
	if (symbol->address == search->start && is_text(symbol) && !is_made(symbol->module) &&
	    (!search->name || !strcmp(symbol->name, search->name))) {
		search->is_found = true;
		strcpy(search->module, symbol->module);
	}
	if (symbol->address <= search->start || symbol->address > search->next ||
	    (symbol->address == search->next && search->next_is_text))
		return;
	search->next = symbol->address;
	search->next_is_text = is_text(symbol);
	strcpy(search->next_module, symbol->module);
}

int kernel_function_find(FILE *symbols, uint64_t start, const char *name,
			 struct kernel_function *function)
{
	struct search search = {.start = start, .name = name, .next = UINT64_MAX};
	char line[2 * LINE_BYTES];
	struct symbol symbol;
	while (fgets(line, sizeof(line), symbols))
		if (read_symbol(line, &symbol))
			look_at(&search, &symbol);
	if (!search.has_addresses)
		return -EPERM;
	const bool is_own = !search.module[0];
	if (!search.is_found || !search.next_is_text || strcmp(search.module, search.next_module))
		return -ENXIO;
	/* What has been thrown away since it ran once (.init.text) has names, too, and is anybody's memory now. */
	if (is_own && (start < search.text_start || search.next > search.text_end))
		return -ENXIO;
	*function = (struct kernel_function){start, search.next};
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

ssize_t kernel_code_read(uint64_t start, const char *name, void *bytes, size_t most,
			 uint64_t *whole)
{
	struct kernel_function function;
	int fd = privilege_openat(PRIVILEGE_KERNEL_NAMES, AT_FDCWD, "/proc/kallsyms",
				  O_RDONLY | O_CLOEXEC);
	FILE *symbols = fd < 0 ? NULL : fdopen(fd, "r");
	if (!symbols)
		return -errno;
	int result = kernel_function_find(symbols, start, name, &function);
	fclose(symbols);
	if (result)
		return result;
	fd = privilege_openat(PRIVILEGE_KERNEL_CODE, AT_FDCWD, "/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EPERM ? -EACCES : -errno;
	const ssize_t got = kernel_function_read(fd, &function, bytes, most);
	close(fd);
	*whole = function.end - function.start;
	return got;
}

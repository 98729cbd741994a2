/* SPDX-License-Identifier: MIT */
#include <ctop/elf/build_id.h>

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/elf_notes.h>
#include <ctop/elf/section.h>

/* Header, program headers and the notes (if none says it: section headers), each at most so long. */
enum { PROGRAM_HEADERS_MAX = 128, SECTION_HEADERS_MAX = 128, NOTES_BYTES_MAX = 16384 };

static bool read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	return offset <= INT64_MAX && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

static size_t build_id_at(int fd, uint64_t offset, uint64_t bytes, uint64_t alignment,
			  uint8_t build_id[20])
{
	uint8_t notes[NOTES_BYTES_MAX];
	if (bytes > sizeof(notes) || !read_at(fd, offset, notes, bytes))
		return 0;
	return build_id_in_notes(notes, bytes, alignment == 8 ? 8 : 4, build_id);
}

/* Files of generated code, as perf inject --jit makes them, say it in a section alone. */
static size_t build_id_in_sections(int fd, const Elf64_Ehdr *header, uint8_t build_id[20])
{
	size_t size = 0;
	if (header->e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	for (size_t i = 0; i < header->e_shnum && i < SECTION_HEADERS_MAX && !size; i++) {
		Elf64_Shdr section;
		if (!read_at(fd, header->e_shoff + i * sizeof(section), &section, sizeof(section)))
			return 0;
		if (section.sh_type == SHT_NOTE)
			size = build_id_at(fd, section.sh_offset, section.sh_size,
					   section.sh_addralign, build_id);
	}
	return size;
}

size_t read_build_id(int fd, uint8_t build_id[20])
{
	Elf64_Ehdr header;
	size_t size = 0;
	if (!read_at(fd, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (size_t i = 0; i < header.e_phnum && i < PROGRAM_HEADERS_MAX && !size; i++) {
		Elf64_Phdr segment;
		if (!read_at(fd, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			return 0;
		if (segment.p_type == PT_NOTE)
			size = build_id_at(fd, segment.p_offset, segment.p_filesz, segment.p_align,
					   build_id);
	}
	return size ? size : build_id_in_sections(fd, &header, build_id);
}

bool read_debuglink(int fd, char name[DEBUGLINK_MAX], uint32_t *crc)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return false;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	GElf_Word sum;
	const char *link = elf ? dwelf_elf_gnu_debuglink(elf, &sum) : NULL;
	bool found = link && link[0] && strlen(link) < DEBUGLINK_MAX;
	if (found) {
		snprintf(name, DEBUGLINK_MAX, "%s", link);
		*crc = sum;
	}
	elf_end(elf);
	return found;
}

size_t read_common_link(int fd, char name[DEBUGLINK_MAX], uint8_t build_id[20])
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return 0;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf64_Shdr header;
	const Elf_Data *data = elf ? elf_section_named(elf, ".gnu_debugaltlink", &header) : NULL;
	const char *bytes = data ? data->d_buf : NULL;
	const char *end = bytes ? memchr(bytes, '\0', data->d_size) : NULL;
	size_t size = 0;
	if (end && end > bytes && end - bytes < DEBUGLINK_MAX) {
		size = data->d_size - (size_t)(end + 1 - bytes);
		size = size <= 20 ? size : 0;
	}
	if (size) {
		snprintf(name, DEBUGLINK_MAX, "%s", bytes);
		memcpy(build_id, end + 1, size);
	}
	elf_end(elf);
	return size;
}

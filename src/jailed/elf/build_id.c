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

/* Where an ELF file of either class has its headers, and what one of them says of notes. */
struct headers {
	bool is_32_bit;
	uint64_t segments_at, sections_at;
	size_t nr_segments, nr_sections;
};

struct part {
	bool has_notes;
	uint64_t offset, bytes, alignment;
};

static bool read_headers_64(int fd, struct headers *headers)
{
	Elf64_Ehdr header;
	if (!read_at(fd, 0, &header, sizeof(header)) ||
	    (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)))
		return false;
	*headers = (struct headers){
		.segments_at = header.e_phoff,
		.sections_at = header.e_shoff,
		.nr_segments = header.e_phnum,
		.nr_sections = header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shnum : 0,
	};
	return true;
}

static bool read_headers_32(int fd, struct headers *headers)
{
	Elf32_Ehdr header;
	if (!read_at(fd, 0, &header, sizeof(header)) ||
	    (header.e_phnum && header.e_phentsize != sizeof(Elf32_Phdr)))
		return false;
	*headers = (struct headers){
		.is_32_bit = true,
		.segments_at = header.e_phoff,
		.sections_at = header.e_shoff,
		.nr_segments = header.e_phnum,
		.nr_sections = header.e_shentsize == sizeof(Elf32_Shdr) ? header.e_shnum : 0,
	};
	return true;
}

static bool read_headers(int fd, struct headers *headers)
{
	unsigned char ident[EI_NIDENT];
	if (!read_at(fd, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return false;
	return ident[EI_CLASS] == ELFCLASS64   ? read_headers_64(fd, headers)
	       : ident[EI_CLASS] == ELFCLASS32 ? read_headers_32(fd, headers)
					       : false;
}

static bool read_segment(int fd, const struct headers *headers, size_t i, struct part *part)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;
	if (headers->is_32_bit) {
		if (!read_at(fd, headers->segments_at + i * sizeof(narrow), &narrow,
			     sizeof(narrow)))
			return false;
		*part = (struct part){narrow.p_type == PT_NOTE, narrow.p_offset, narrow.p_filesz,
				      narrow.p_align};
		return true;
	}
	if (!read_at(fd, headers->segments_at + i * sizeof(wide), &wide, sizeof(wide)))
		return false;
	*part = (struct part){wide.p_type == PT_NOTE, wide.p_offset, wide.p_filesz, wide.p_align};
	return true;
}

static bool read_section(int fd, const struct headers *headers, size_t i, struct part *part)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;
	if (headers->is_32_bit) {
		if (!read_at(fd, headers->sections_at + i * sizeof(narrow), &narrow,
			     sizeof(narrow)))
			return false;
		*part = (struct part){narrow.sh_type == SHT_NOTE, narrow.sh_offset, narrow.sh_size,
				      narrow.sh_addralign};
		return true;
	}
	if (!read_at(fd, headers->sections_at + i * sizeof(wide), &wide, sizeof(wide)))
		return false;
	*part = (struct part){wide.sh_type == SHT_NOTE, wide.sh_offset, wide.sh_size,
			      wide.sh_addralign};
	return true;
}

/* Files of generated code, as perf inject --jit makes them, say it in a section alone. */
size_t read_build_id(int fd, uint8_t build_id[20])
{
	struct headers headers;
	struct part part;
	size_t size = 0;
	if (!read_headers(fd, &headers))
		return 0;
	for (size_t i = 0; i < headers.nr_segments && i < PROGRAM_HEADERS_MAX && !size; i++) {
		if (!read_segment(fd, &headers, i, &part))
			return 0;
		if (part.has_notes)
			size = build_id_at(fd, part.offset, part.bytes, part.alignment, build_id);
	}
	for (size_t i = 0; i < headers.nr_sections && i < SECTION_HEADERS_MAX && !size; i++) {
		if (!read_section(fd, &headers, i, &part))
			return 0;
		if (part.has_notes)
			size = build_id_at(fd, part.offset, part.bytes, part.alignment, build_id);
	}
	return size;
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

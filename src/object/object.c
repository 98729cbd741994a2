/* SPDX-License-Identifier: MIT */
#include <ctop/object/object.h>

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object_internal.h"

/* Far more than any linker makes; keeps a lying header from costing time. */
enum { SEGMENTS_MAX = 512 };

static void read_build_id_note(struct object *object, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(
		object->elf, (int64_t)segment->p_offset, segment->p_filesz,
		segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;
	while (data && (at = gelf_getnote(data, at, &note, &name_at, &desc_at))) {
		const char *bytes = data->d_buf;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 ||
		    note.n_descsz == 0 || note.n_descsz > sizeof(object->identity.build_id))
			continue;
		memcpy(object->identity.build_id, bytes + desc_at, note.n_descsz);
		object->identity.build_id_size = note.n_descsz;
		return;
	}
}

/* True for a file that wants other libraries: of those, only programs are entered at e_entry. */
static bool needs_libraries(const struct object *object, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(object->elf, (int64_t)segment->p_offset,
					      segment->p_filesz, ELF_T_DYN);
	size_t nr = data ? data->d_size / sizeof(Elf64_Dyn) : 0;
	for (size_t i = 0; i < nr; i++) {
		GElf_Dyn entry;
		if (gelf_getdyn(data, (int)i, &entry) && entry.d_tag == DT_NEEDED)
			return true;
	}
	return false;
}

/* Keeps the loadable segments and what the notes say. 0 or -errno. */
static int read_segments(struct object *object)
{
	size_t nr;
	bool has_interpreter = false, is_library = false;
	if (elf_getphdrnum(object->elf, &nr) || nr > SEGMENTS_MAX)
		return -EINVAL;
	object->segments = calloc(nr ? nr : 1, sizeof(*object->segments));
	if (!object->segments)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr segment;
		if (!gelf_getphdr(object->elf, (int)i, &segment))
			return -EINVAL;
		if (segment.p_type == PT_NOTE && !object->identity.build_id_size)
			read_build_id_note(object, &segment);
		has_interpreter |= segment.p_type == PT_INTERP;
		is_library |= segment.p_type == PT_DYNAMIC && needs_libraries(object, &segment);
		if (segment.p_type != PT_LOAD)
			continue;
		/* What a segment claims beyond the file is not there. */
		if (segment.p_offset > object->file_bytes)
			continue;
		if (segment.p_filesz > object->file_bytes - segment.p_offset)
			segment.p_filesz = object->file_bytes - segment.p_offset;
		object->segments[object->nr_segments++] = (struct segment){
			.elf_address = segment.p_vaddr,
			.file_offset = segment.p_offset,
			.file_bytes = segment.p_filesz,
			.writable = segment.p_flags & PF_W,
			.executable = segment.p_flags & PF_X,
		};
	}
	/* Some linkers put the start of .text there for libraries, which nobody enters. */
	if (is_library && !has_interpreter)
		object->entry = 0;
	return 0;
}

static int read_header(struct object *object)
{
	GElf_Ehdr header;
	if (elf_kind(object->elf) != ELF_K_ELF || !gelf_getehdr(object->elf, &header))
		return -ENOEXEC;
	if (gelf_getclass(object->elf) != ELFCLASS64)
		return -ENOTSUP; /* 32-bit tasks are refused sample by sample */
	object->machine = header.e_machine;
	object->entry = header.e_entry;
	object->bytes = elf_rawfile(object->elf, &object->file_bytes);
	return object->bytes ? read_segments(object) : -EIO;
}

struct object *object_open(int fd, struct error *error)
{
	elf_version(EV_CURRENT);
	struct object *object = calloc(1, sizeof(*object));
	if (!object) {
		close(fd);
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	object->fd = fd;
	object->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int result = object->elf ? read_header(object) : -ENOEXEC;
	if (!result)
		return object;
	error_set(error, result, result == -ENOTSUP ? "not a 64-bit ELF file" : "not an ELF file");
	object_free(object);
	return NULL;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	elf_end(object->elf);
	close(object->fd);
	free(object->segments);
	free(object->roots.items);
	free(object->switches.items);
	free(object);
}

Elf *object_elf(const struct object *object)
{
	return object->elf;
}

const struct object_identity *object_identity(const struct object *object)
{
	return &object->identity;
}

uint16_t object_machine(const struct object *object)
{
	return object->machine;
}

bool object_elf_address(const struct object *object, uint64_t file_offset, uint64_t *elf_address)
{
	/* Mappings begin at page borders, so a segment's first page may begin below it. */
	static const uint64_t page_bytes = 4096;
	for (size_t i = 0; i < object->nr_segments; i++) {
		const struct segment *segment = &object->segments[i];
		uint64_t first = segment->file_offset & ~(page_bytes - 1);
		uint64_t size = segment->file_bytes + (segment->file_offset - first);
		if (!segment->executable || file_offset < first || file_offset - first >= size)
			continue;
		*elf_address = segment->elf_address - segment->file_offset + file_offset;
		return true;
	}
	return false;
}

bool object_read(const struct object *object, uint64_t elf_address, void *bytes, size_t size)
{
	for (size_t i = 0; i < object->nr_segments; i++) {
		const struct segment *segment = &object->segments[i];
		uint64_t at = elf_address - segment->elf_address;
		if (segment->writable || elf_address < segment->elf_address ||
		    at >= segment->file_bytes || size > segment->file_bytes - at)
			continue;
		memcpy(bytes, object->bytes + segment->file_offset + at, size);
		return true;
	}
	return false;
}

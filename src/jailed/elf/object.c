/* SPDX-License-Identifier: MIT */
#include <ctop/elf/object.h>

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object_internal.h"

/* Far more than any linker makes; keeps a lying header from costing time. */
enum { SEGMENTS_MAX = 512 };
/* A child may have 4,096 descriptors, and modules are more than that: beyond these none is kept. */
enum { KEPT_FDS = 3500 };

enum { NATIVE_DATA = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB };

static const char *cause_of(int result)
{
	switch (result) {
	case -ENOMEM:
		return "out of memory";
	case -ENOTSUP:
		return "not an ELF file of this machine's kind";
	case -EBUSY:
		return "the file changed while it was read";
	case -EIO:
		return "the file cannot be read";
	default:
		return "not an ELF file";
	}
}

static void read_build_id_note(struct object *object, const GElf_Phdr *segment)
{
	Elf_Data *data =
		elf_getdata_rawchunk(object->elf, (int64_t)segment->p_offset, segment->p_filesz,
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
		object->build_id_at = segment->p_offset + desc_at;
		return;
	}
}

/* A position-independent program without an interpreter says so here. */
static void read_dynamic(struct object *object, const GElf_Phdr *dynamic)
{
	Elf_Data *data = elf_getdata_rawchunk(object->elf, (int64_t)dynamic->p_offset,
					      dynamic->p_filesz, ELF_T_DYN);
	GElf_Dyn entry;
	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		object->is_program |= entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE;
		object->needs_libraries |= entry.d_tag == DT_NEEDED;
	}
}

static void add_load_segment(struct object *object, const GElf_Phdr *segment)
{
	/* What a segment claims beyond the file is not there. */
	if (segment->p_offset >= object->file_bytes && !object->is_debug_file)
		return;
	uint64_t there =
		object->is_debug_file ? segment->p_memsz : object->file_bytes - segment->p_offset;
	/* Nor is one that goes on behind the last address: it would begin again at 0. */
	if (segment->p_vaddr > UINT64_MAX - there || segment->p_offset > UINT64_MAX - there)
		return;
	object->segments[object->nr_segments++] = (struct segment){
		.elf_address = segment->p_vaddr,
		.file_offset = segment->p_offset,
		.file_bytes = segment->p_filesz < there ? segment->p_filesz : there,
		.memory_bytes = segment->p_memsz,
		.writable = segment->p_flags & PF_W,
		.executable = segment->p_flags & PF_X,
	};
}

/* Keeps the loadable segments and what the others say. 0 or -errno. */
static int read_segments(struct object *object)
{
	size_t nr;
	if (elf_getphdrnum(object->elf, &nr) || nr > SEGMENTS_MAX)
		return -ENOEXEC;
	object->has_only_code = nr <= 1;
	object->segments = calloc(nr ? nr : 1, sizeof(*object->segments));
	if (!object->segments)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr segment;
		if (!gelf_getphdr(object->elf, (int)i, &segment))
			return -ENOEXEC;
		switch (segment.p_type) {
		case PT_NOTE:
			if (!object->identity.build_id_size)
				read_build_id_note(object, &segment);
			break;
		case PT_INTERP:
			object->is_program = true;
			break;
		case PT_DYNAMIC:
			if (!object->is_debug_file)
				read_dynamic(object, &segment);
			break;
		case PT_LOAD:
			add_load_segment(object, &segment);
			break;
		default:
			break;
		}
	}
	return 0;
}

/* True when sections of code are there by name alone, as strip --only-keep-debug leaves them. */
static bool has_only_names_of_code(Elf *elf)
{
	GElf_Shdr header;
	bool found = false;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		if (header.sh_type != SHT_NOBITS)
			return false;
		found = true;
	}
	return found;
}

/* Of what is 32-bit i386's alone: its names, lines and code are known, its stacks are refused sample by sample. */
static bool is_of_known_class(Elf *elf, const GElf_Ehdr *header)
{
	const int class = gelf_getclass(elf);
	return class == ELFCLASS64 ? header->e_machine != EM_386
				   : class == ELFCLASS32 && header->e_machine == EM_386;
}

static int read_header(struct object *object)
{
	GElf_Ehdr header;
	if (elf_kind(object->elf) != ELF_K_ELF || !gelf_getehdr(object->elf, &header))
		return -ENOEXEC;
	/* The other byte order cannot run here. */
	if (!is_of_known_class(object->elf, &header) || header.e_ident[EI_DATA] != NATIVE_DATA)
		return -ENOTSUP;
	object->machine = header.e_machine;
	object->entry = header.e_entry;
	object->is_program = header.e_type == ET_EXEC;
	object->is_debug_file = has_only_names_of_code(object->elf);
	object->bytes = elf_rawfile(object->elf, &object->file_bytes);
	if (!object->bytes || object->file_bytes < sizeof(object->head))
		return -EIO;
	memcpy(object->head, object->bytes, sizeof(object->head));
	return read_segments(object);
}

static void note_file(struct object *object, int fd)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return;
	object->opened_bytes = (uint64_t)stat.st_size;
	object->modified = stat.st_mtim;
	object->changed = stat.st_ctim;
	object->nr_links = stat.st_nlink;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Its status also changes with its names: their number shows that, as far as anything does. */
static bool is_as_noted(const struct object *object, int fd, bool while_read)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return false;
	return (uint64_t)stat.st_size == object->opened_bytes &&
	       same_time(&stat.st_mtim, &object->modified) &&
	       (!while_read || stat.st_nlink != object->nr_links ||
		same_time(&stat.st_ctim, &object->changed));
}

bool object_is_as_opened(const struct object *object, bool while_read)
{
	return object->fd < 0 || is_as_noted(object, object->fd, while_read);
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
	object->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	object->fd = -1;
	note_file(object, fd);
	object->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int result = object->elf ? read_header(object) : -ENOEXEC;
	/* All of it is mapped: it is read without the descriptor. */
	if (!result && elf_cntl(object->elf, ELF_C_FDREAD))
		result = -EIO;
	if (!result && !is_as_noted(object, fd, true))
		result = -EBUSY;
	if (!result && fd < KEPT_FDS)
		object->fd = fd;
	else
		close(fd);
	if (!result)
		return object;
	error_set(error, result, "%s", cause_of(result));
	object_free(object);
	return NULL;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	elf_end(object->elf);
	if (object->fd >= 0)
		close(object->fd);
	free(object->known.items);
	free(object->starters.items);
	free(object->segments);
	free(object);
}

bool object_has_its_sections(const struct object *object)
{
	GElf_Ehdr head;
	size_t nr;
	if (!gelf_getehdr(object->elf, &head) || elf_getshdrnum(object->elf, &nr))
		return false;
	for (size_t i = 1; i < nr; i++) {
		GElf_Shdr section;
		if (!gelf_getshdr(elf_getscn(object->elf, i), &section))
			return false;
		if (section.sh_type != SHT_NOBITS &&
		    (section.sh_offset > object->file_bytes ||
		     section.sh_size > object->file_bytes - section.sh_offset))
			return false;
	}
	return nr > 0 || !head.e_shoff;
}

Elf *object_elf(const struct object *object)
{
	return object->elf;
}

const struct object_identity *object_identity(const struct object *object)
{
	return &object->identity;
}

bool object_is_generated(const struct object *object)
{
	return object->has_only_code;
}

uint16_t object_machine(const struct object *object)
{
	return object->machine;
}

/*
 * How well a segment explains a mapping at this file offset: mappings begin at page borders, so
 * that the bytes before a segment and those behind it on its last page belong to its neighbours too.
 */
static int match(const struct object *object, const struct segment *segment, uint64_t file_offset)
{
	uint64_t first = segment->file_offset & ~(object->page_bytes - 1);
	uint64_t size = segment->file_bytes + (segment->file_offset - first);
	if (file_offset < first || file_offset - first >= size)
		return 0;
	/* Only code is mapped executable, but for a personality that maps everything so. */
	return 1 + (file_offset == first) + 2 * segment->executable;
}

bool object_elf_address(const struct object *object, uint64_t file_offset, uint64_t *elf_address)
{
	int best = 0;
	for (size_t i = 0; i < object->nr_segments; i++) {
		const struct segment *segment = &object->segments[i];
		int quality = match(object, segment, file_offset);
		if (quality <= best)
			continue;
		best = quality;
		*elf_address = segment->elf_address - segment->file_offset + file_offset;
	}
	return best > 0;
}

/*
 * A debug file may have lost where its segments were in the file. If one of them alone has code, and the mapping has
 * its size, it is the mapping's.
 */
static bool address_of_only_code(const struct object *object, uint64_t bytes, uint64_t *elf_address)
{
	const struct segment *code = NULL;
	for (size_t i = 0; i < object->nr_segments; i++) {
		if (!object->segments[i].executable)
			continue;
		if (code)
			return false;
		code = &object->segments[i];
	}
	if (!code)
		return false;
	uint64_t first = code->elf_address & ~(object->page_bytes - 1);
	uint64_t needed = code->elf_address - first + code->memory_bytes;
	if (bytes < needed || bytes - needed >= object->page_bytes)
		return false;
	*elf_address = first;
	return true;
}

bool object_mapping_address(const struct object *object, uint64_t file_offset, uint64_t bytes,
			    uint64_t *elf_address)
{
	for (size_t i = 0; i < object->nr_segments && object->is_debug_file; i++)
		if (object->segments[i].executable && object->segments[i].file_bytes == 0)
			return address_of_only_code(object, bytes, elf_address);
	return object_elf_address(object, file_offset, elf_address);
}

bool object_read(const struct object *object, uint64_t elf_address, void *bytes, size_t size)
{
	if (object->is_debug_file)
		return false;
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

bool object_code(const struct object *object, uint64_t elf_address, struct object_code *code)
{
	for (size_t i = 0; i < object->nr_segments && !object->is_debug_file; i++) {
		const struct segment *segment = &object->segments[i];
		if (segment->writable || !segment->executable ||
		    elf_address - segment->elf_address >= segment->file_bytes)
			continue;
		*code = (struct object_code){
			.start = segment->elf_address,
			.bytes = (const uint8_t *)object->bytes + segment->file_offset,
			.size = segment->file_bytes,
			.nr_segments = object->nr_segments,
		};
		return true;
	}
	return false;
}

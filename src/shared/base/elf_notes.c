/* SPDX-License-Identifier: MIT */
#include <ctop/base/elf_notes.h>

#include <elf.h>
#include <string.h>

static size_t align_up(size_t value, size_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

/* Names, types and sizes of notes: elf(5). Descriptions are aligned like their segment. */
size_t build_id_in_notes(const uint8_t *notes, size_t size, size_t alignment, uint8_t build_id[20])
{
	size_t at = 0;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > size - at)
			return 0;
		const uint8_t *name = notes + at;
		at = align_up(at + note.n_namesz, alignment);
		if (at > size || note.n_descsz > size - at)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 && note.n_descsz &&
		    note.n_descsz <= 20) {
			memcpy(build_id, notes + at, note.n_descsz);
			return note.n_descsz;
		}
		at = align_up(at + note.n_descsz, alignment);
		if (at > size)
			return 0;
	}
	return 0;
}

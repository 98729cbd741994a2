/* SPDX-License-Identifier: MIT */
#include "elf_references.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/sort.h>
#include <ctop/base/vec.h>

/* x86inc.asm, and compilers that optimize for speed, begin each function at such an address. */
enum { ALIGNMENT = 16, SECTIONS_MAX = 32 };
/* libx264 has 1.6 MiB, and all is read in 5 ms. */
#define CODE_BYTES_MAX ((uint64_t)64 << 20)

struct code {
	uint64_t start, size;
	const uint8_t *bytes;
	uint8_t *referred; /* a bit for each aligned address */
};

struct search {
	struct code code[SECTIONS_MAX];
	size_t nr;
	uint64_t nr_bytes;
};

static int add_code(struct search *search, Elf_Scn *section, const GElf_Shdr *header)
{
	const Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !data->d_buf || header->sh_type == SHT_NOBITS || search->nr == SECTIONS_MAX ||
	    data->d_size > CODE_BYTES_MAX - search->nr_bytes || header->sh_addr % ALIGNMENT ||
	    header->sh_addr > UINT64_MAX - data->d_size)
		return 0;
	struct code *code = &search->code[search->nr];
	*code = (struct code){header->sh_addr, data->d_size, data->d_buf,
			      calloc(data->d_size / ALIGNMENT / 8 + 1, 1)};
	search->nr_bytes += data->d_size;
	search->nr += code->referred != NULL;
	return code->referred ? 0 : -ENOMEM;
}

static int find_code(struct search *search, Elf *elf)
{
	int result = 0;
	for (Elf_Scn *section = NULL; !result && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR)
			result = add_code(search, section, &header);
	}
	return result;
}

/* call rel32, or lea rel32(%rip), %r64, whose distance is at `at`. */
static bool is_reference(const uint8_t *bytes, size_t at)
{
	return bytes[at - 1] == 0xe8 || (at >= 3 && (bytes[at - 1] & 0xc7) == 0x05 &&
					 bytes[at - 2] == 0x8d && (bytes[at - 3] & 0xfb) == 0x48);
}

static void mark(struct search *search, uint64_t address)
{
	for (size_t i = 0; i < search->nr && address % ALIGNMENT == 0; i++) {
		struct code *code = &search->code[i];
		const uint64_t nr = (address - code->start) / ALIGNMENT;
		if (address - code->start < code->size)
			code->referred[nr / 8] |= (uint8_t)(1 << nr % 8);
	}
}

static void read_code(struct search *search, const struct code *code)
{
	for (size_t at = 1; at + sizeof(int32_t) <= code->size; at++) {
		int32_t distance;
		if (!is_reference(code->bytes, at))
			continue;
		memcpy(&distance, code->bytes + at, sizeof(distance));
		mark(search, code->start + at + sizeof(distance) + (uint64_t)(int64_t)distance);
	}
}

static int keep(struct elf_references *references, const struct code *code)
{
	for (uint64_t i = 0; i < code->size / ALIGNMENT; i++) {
		if (!(code->referred[i / 8] >> i % 8 & 1))
			continue;
		if (vec_reserve(references, references->nr + 1))
			return -ENOMEM;
		references->items[references->nr++] = code->start + i * ALIGNMENT;
	}
	return 0;
}

int elf_references_read(struct elf_references *references, Elf *elf)
{
	struct search search = {.nr = 0};
	GElf_Ehdr header;
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return 0;
	int result = find_code(&search, elf);
	for (size_t i = 0; i < search.nr; i++)
		read_code(&search, &search.code[i]);
	for (size_t i = 0; i < search.nr; i++) {
		if (!result)
			result = keep(references, &search.code[i]);
		free(search.code[i].referred);
	}
	sort_by_u64(references->items, references->nr, sizeof(*references->items));
	return result;
}

void elf_references_release(struct elf_references *references)
{
	free(references->items);
	*references = (struct elf_references){0};
}

size_t elf_references_bytes(const struct elf_references *references)
{
	return references->capacity * sizeof(*references->items);
}

/* How many there are at or before the address. */
static size_t count_until(const struct elf_references *references, uint64_t address)
{
	size_t low = 0, high = references->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (references->items[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t elf_references_before(const struct elf_references *references, uint64_t address)
{
	size_t nr = count_until(references, address);
	return nr ? references->items[nr - 1] : 0;
}

uint64_t elf_references_after(const struct elf_references *references, uint64_t address)
{
	size_t nr = count_until(references, address);
	return nr < references->nr ? references->items[nr] : UINT64_MAX;
}

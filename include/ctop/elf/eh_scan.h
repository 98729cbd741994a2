/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_EH_SCAN_H
#define CTOP_ELF_EH_SCAN_H

/*
 * Every FDE of an .eh_frame, found by reading it from its start: what tells
 * whether the lookup table in .eh_frame_hdr can be believed, and replaces it where it cannot; and where functions begin
 * and end, whether they have names or not.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gelf.h>

struct fde_entry {
	uint64_t start,
		end; /* elf addresses it covers; start < end; the first is what they are sorted by */
	uint64_t address; /* of the FDE itself */
};

struct fde_list {
	struct fde_entry *items; /* sorted by start */
	size_t nr, capacity;
};

struct eh_sections {
	uint64_t frame_address;
	Elf_Data *frame;
	uint64_t header_address;
	Elf_Data *header; /* NULL: none */
};

/* Reads FDEs one by one. */
struct fde_reader {
	const unsigned char *ident;
	const struct eh_sections *sections;
	uint64_t cie_offset; /* of the CIE decoded last: neighbours share it */
	uint8_t encoding;
};

/* Where .eh_frame and its .eh_frame_hdr are, by sections or else by segment. False: there is none. */
bool eh_sections_find(Elf *elf, struct eh_sections *sections);

/* .eh_frame_hdr's lookup table in the form that all linkers write: sorted by start, both numbers relative to the header. */
enum { EH_LOOKUP_ROW_BYTES = 8 };
struct eh_lookup {
	const uint8_t *rows; /* start and FDE, each an int32_t; the Elf's */
	size_t nr;
	uint64_t address; /* of the header: what both are added to */
};

/* False when there is none, of another form, or of another .eh_frame. Whether it is true is fde_list_agrees()'s to say. */
bool eh_lookup_find(const struct eh_sections *sections, struct eh_lookup *lookup);
/* Row index < nr: where code begins, and the address of its FDE. */
void eh_lookup_get(const struct eh_lookup *lookup, size_t index, uint64_t *start,
		   uint64_t *address);

/* Sections must outlive the reader, as elf must. */
void fde_reader_init(struct fde_reader *reader, Elf *elf, const struct eh_sections *sections);
/* The FDE at an address; false: there is none that covers something and is understood. */
bool fde_reader_get(struct fde_reader *reader, uint64_t address, struct fde_entry *found);

/* Adds every well-formed FDE that covers something. 0 or -ENOMEM; what cannot be decoded is left out. */
int fde_list_scan(struct fde_list *list, Elf *elf, const struct eh_sections *sections);
void fde_list_release(struct fde_list *list);

/* True when .eh_frame_hdr lists exactly these. */
bool fde_list_agrees(const struct fde_list *list, const struct eh_sections *sections);

/* The list as the bytes of an .eh_frame_hdr at address 0, which the caller frees. 0 or -errno. */
int fde_list_header(const struct fde_list *list, uint64_t frame_address, uint8_t **bytes,
		    size_t *size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_ELF_NOTES_H
#define CTOP_BASE_ELF_NOTES_H

/* The build-id in the bytes of ELF notes: those of the running kernel (/sys/kernel/notes), and in a jailed child any file's. */

#include <stddef.h>
#include <stdint.h>

/* The notes' parts are aligned to 4 or 8. Its size; 0 when there is none. */
size_t build_id_in_notes(const uint8_t *notes, size_t size, size_t alignment, uint8_t build_id[20]);

#endif

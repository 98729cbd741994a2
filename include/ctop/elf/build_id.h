/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_BUILD_ID_H
#define CTOP_ELF_BUILD_ID_H

/*
 * What an ELF file says of itself, by a few bounded reads: its build-id, and the name and CRC of its debug file. The
 * file is untrusted: only a jailed prober reads it, and what it finds is the file's own claim.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/module_identity.h>

/* The build-id in the notes of an ELF file. Its size; 0 when there is none. */
size_t read_build_id(int fd, uint8_t build_id[20]);
/*
 * .gnu_debuglink: the name of the debug file and its CRC-32 (GDB's manual, "Debugging Information in Separate Files").
 * False when there is none.
 */
bool read_debuglink(int fd, char name[DEBUGLINK_MAX], uint32_t *crc);
/*
 * .gnu_debugaltlink (elfutils' libdwelf.h): the name of the file in which dwz has put what the debug information of several files had in
 * common, and its build-id, whose size is returned. 0: there is none.
 */
size_t read_common_link(int fd, char name[DEBUGLINK_MAX], uint8_t build_id[20]);

#endif

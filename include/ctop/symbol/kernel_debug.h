/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_KERNEL_DEBUG_H
#define CTOP_SYMBOL_KERNEL_DEBUG_H

/* From addresses of the running kernel, which each boot may put elsewhere, to those of the file that it was made of. */

#include <stdbool.h>
#include <stdint.h>
#include <libelf.h>

#include <ctop/symbol/kallsyms.h>

struct kernel_debug {
	uint64_t start,
		end; /* of the kernel's own code; modules' lies elsewhere, and has files of its own */
	uint64_t shift; /* from there to the file (modulo 2^64) */
};

/* By where both have _text. False: one of them does not say. */
bool kernel_debug_find(Elf *vmlinux, const struct kallsyms *kallsyms, struct kernel_debug *debug);
/* False: the address is not the kernel's own code. */
bool kernel_debug_address(const struct kernel_debug *debug, uint64_t address,
			  uint64_t *elf_address);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_MINI_DEBUG_H
#define CTOP_SYMBOL_MINI_DEBUG_H

/*
 * .gnu_debugdata: a little ELF file with the symbols that .dynsym has not, compressed into the file that was stripped of
 * them (GDB's manual, "MiniDebugInfo"). What it unpacks to is bounded.
 */

#include <libelf.h>

struct mini_debug {
	Elf *elf; /* NULL: there is none */
	void *bytes;
};

/* 0; -ENOENT when the file has none that can be read, -EFBIG, -ENOMEM. */
int mini_debug_open(struct mini_debug *mini, Elf *elf);
void mini_debug_release(struct mini_debug *mini); /* all zero is fine */

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_GO_GOROUTINES_H
#define CTOP_ELF_GO_GOROUTINES_H

/*
 * Where a program of Go's keeps its goroutines, and what is where in the descriptor of one: runtime.allglen and allgptr by .symtab, offsets by
 * DWARF, or, where there is none, of versions whose layout is known. What they may wait for is read in the program's own words. A child's: the file is
 * untrusted.
 */

#include <ctop/ipc/goroutines_protocol.h>

/* Takes fd over. Fills the layout when it is GOROUTINES_SHOWN. */
enum goroutine_refusal go_goroutines_find(int fd, struct goroutine_layout *layout);

#endif

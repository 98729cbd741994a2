/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_NAMES_TEXT_H
#define CTOP_KERNEL_NAMES_TEXT_H

/*
 * What main's opener keeps of /proc/kallsyms (files/kernel_names.h), and the symbolizer looks up (symbol/kept_names.h): this line, lines
 * with # before them that say of which boot, kernel and modules it is, then the functions of the kernel and of those modules, line by
 * line as the kernel has printed them, but in the order of their addresses, perhaps where the kernel's own code begins and ends, and the
 * last line. What the kernel makes while it runs (BPF programs, trampolines) is left out.
 */

#define KERNEL_NAMES_FIRST_LINE "# names of a kernel, kept by ctop: 2"
#define KERNEL_NAMES_CODE	"# code " /* of _text and _etext: "ADDRESS ADDRESS " */
#define KERNEL_NAMES_LAST_LINE	"# end"

#endif

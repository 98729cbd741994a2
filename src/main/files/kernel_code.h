/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_KERNEL_CODE_H
#define CTOP_FILES_KERNEL_CODE_H

/*
 * The code of one function of the running kernel. /proc/kcore (proc(5), an ELF core file) has all memory: what is read of it is from where
 * /proc/kallsyms has a function to where it has the next one, both of the kernel's own text or of one module's, and nothing else.
 * Generated code (BPF programs, trampolines) is none of them. In the opener, with main's privileges: both files are the kernel's own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* What /proc/kallsyms says, as far as it matters here: names and modules by their hashes. Zeroed: none. */
struct kernel_symbols {
	struct kernel_symbol {
		uint64_t address, name, module; /* module 0: the kernel's own */
		bool is_text, is_made;		/* made while the kernel runs */
	} * items;
	size_t nr, capacity;
	bool has_addresses;	       /* they are not hidden */
	uint64_t text_start, text_end; /* of the kernel's own */
};

struct kernel_function {
	uint64_t start, end;
	bool is_of_module;
};

/* All of the list, in place of what was there. 0, -ENOMEM or -EIO. */
int kernel_symbols_read(FILE *file, struct kernel_symbols *symbols);
void kernel_symbols_release(struct kernel_symbols *symbols);

/*
 * The function of that name (NULL: any) that begins there. 0; -ENXIO: there is none, or its end is not known; -EPERM: addresses are
 * hidden.
 */
int kernel_function_find(const struct kernel_symbols *symbols, uint64_t start, const char *name,
			 struct kernel_function *function);
/* Copies its first bytes, at most so many. How many; -EFAULT: they are in none of the file's segments, -ENOEXEC, -errno. */
ssize_t kernel_function_read(int core_fd, const struct kernel_function *function, void *bytes,
			     size_t most);
/* Both, of our own kernel's. *whole: the function's size. -EACCES: /proc/kcore may not be read; -ENOENT: the kernel has none. */
ssize_t kernel_code_read(uint64_t start, const char *name, void *bytes, size_t most,
			 uint64_t *whole);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_MADE_CODE_H
#define CTOP_ANNOTATE_MADE_CODE_H

/*
 * Code that a process has made and tells of in a perf map alone: a copy of its memory, then the map, which so has the last word on whose
 * place that is. Both by the opener: whoever is looked at may hang it. And the kernel's code, as it is now, with all that is patched.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/annotate/code_finder.h>
#include <ctop/files/opener.h>

/*
 * 0 or -errno: -ESRCH: the process has ended, -EFAULT: there is no code in memory alone, any more, -ENOENT: there is no map, -EPERM: may
 * not be read.
 */
typedef void made_code_taker(void *context, int error);

struct made_code {
	struct opener *opener; /* borrowed */
	int32_t pid;
	uint64_t started_ns;
	int memory_fd, map_fd; /* -1: none */
	uint64_t start, size;  /* of the memory */
	uint64_t read_ns;      /* not before that, by CLOCK_MONOTONIC */
	uint16_t machine;      /* EM_X86_64, ...: our own */
	bool is_cut;	       /* the kernel's function goes on */
	made_code_taker *taker;
	void *context;
};

void made_code_init(struct made_code *made, struct opener *opener);
/* The answer comes from here, or from opener_serve(); what was found is there until it is forgotten. */
void made_code_ask(struct made_code *made, const struct code_request *request,
		   made_code_taker *taker, void *context);
/* The same of a function of the running kernel: memory has no more than its code. Errors are those of files/kernel_code.h. */
void made_code_ask_kernel(struct made_code *made, const struct code_request *request,
			  made_code_taker *taker, void *context);
void made_code_forget(struct made_code *made);

#endif

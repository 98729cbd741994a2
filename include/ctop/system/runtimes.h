/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_RUNTIMES_H
#define CTOP_SYSTEM_RUNTIMES_H

/*
 * What runs programs that are no machine code in files: JITs and interpreters. How each is known, and what gives its functions
 * names and its stacks callers, word for word. One table for the interface, the report and ctop doctor.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>

enum { RUNTIME_FILES_MAX = 5 };

struct runtime {
	const char *name;
	/* It is mapped in the process: patterns of a file's name (fnmatch(3)), without its directory. */
	const char *files[RUNTIME_FILES_MAX];
	/*
	 * The function of an interpreter in which it spends its time: where that is sampled, functions of the program have no
	 * frames of their own. NULL: programs become code without a file, which is to have names.
	 */
	const char *interpreter;
	/* A command for the process that runs, with %d for its pid; NULL: it takes a new start. */
	const char *names_now;
	/* What a new start needs for names: an option, or a variable of the environment; NULL: there is none. */
	const char *names;
	const char *names_since; /* what has it: "JDK 17 and later"; NULL: all do */
	/* What a new start needs for whole stacks; NULL: they are. */
	const char *stacks;
	/* A word of the command line shows that it was done: patterns; NULL: none does. */
	const char *names_word, *stacks_word;
};

enum { NR_RUNTIMES = 9 };
extern const struct runtime runtimes[NR_RUNTIMES];

/* By a file that is mapped, with or without its directory. -1: it is no runtime's. */
int runtime_of_file(const char *path);
/* By the file that the process runs; untrusted, as all files' names. -1: that is none, or not to be known. */
int runtime_of_process(int32_t pid);
/* Adds what to do for names, for stacks: "jcmd 1234 Compiler.perfmap (JDK 17 and later)". pid 0: of no one process. */
void runtime_add_names_remedy(const struct runtime *runtime, int32_t pid, struct text *out);
void runtime_add_stacks_remedy(const struct runtime *runtime, struct text *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_MODULES_H
#define CTOP_COLLECT_MODULES_H

/*
 * The module files that mappings refer to, shared between processes by identity (module_identity.h) and path.
 * A module's file arrives as a descriptor some time after it was asked for; then its build-id and owner are known,
 * too, and if it is another one's copy. Collector only.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/proc/process_table.h>
#include <ctop/store/tables.h>
#include <ctop/wait_kind.h>

struct cfi;
struct collector;
struct object;

enum module_state {
	MODULE_UNASKED,
	MODULE_ASKED,
	MODULE_READY,  /* object and cfi are there; both stay NULL for kinds without a file */
	MODULE_FAILED, /* see unreadable */
};

struct module {
	struct module *next;
	struct module_row row; /* what goes into the tables; row.path is filled in per epoch */
	struct module_identity mapped; /* what mappings of it say */
	bool is_overwritten; /* its file has become another one's: no new mapping is of it */
	struct module *
		lender; /* object and cfi are those of the module that it is a copy of; NULL: its own */
	const char *path; /* interned in the process table */
	enum module_state state;
	struct object *object;
	struct cfi *cfi;
	struct live_code *live; /* of code that a process has made; NULL: nobody may bring copies */
	struct collector *collector; /* who watches the reading of cfi */
	enum stack_reason unreadable;
	uint32_t epoch; /* in which id holds */
	struct module_id id;
	uint32_t asked_epoch; /* the row that main was asked about */
	struct module_id asked_id;
};

/* More than any version of Go's runtime has reasons. */
enum { MODULES_WORDS_MOST = 128 };

/* Modules that stand for words, as these come. */
struct module_words {
	struct {
		struct module *module;
		char name[40];
	} items[MODULES_WORDS_MOST];
	size_t nr;
};

struct modules {
	struct module *first;
	struct module *kernel; /* its addresses are the kernel's */
	struct module *
		switched; /* no module: frames that stand for what is not known of a switch of stacks */
	struct module *go; /* likewise: between a goroutine and who began it */
	struct module *waits[NR_WAIT_KINDS], *run_queue; /* likewise: for what a thread waits for */
	/* Likewise: for the callers of a waker whose stack is not there, and for wakers of too many different names. */
	struct module *unseen_stack, *another_waker;
	struct module_words reasons, wakers; /* and for what goroutines do, and who wakes */
};

int modules_init(struct modules *modules); /* 0 or -ENOMEM */
void modules_release(struct modules *modules);

/* Of one of modules' own lists: "[chan receive]", "[woken by main]"; of too many different words `others`. NULL: out of memory. */
struct module *modules_of_word(struct modules *modules, struct module_words *words,
			       const char *word, struct module *others);

/* Closes all files, which are asked for again where they are needed; modules stay. */
void modules_forget_files(struct modules *modules);

/* The module of a mapping of that process, made on first sight; NULL: out of memory. */
struct module *modules_of_map(struct modules *modules, const struct process *process,
			      const struct mapping *map);
/* The module that main was asked about, or NULL. */
struct module *modules_find_asked(const struct modules *modules, uint32_t epoch, uint32_t row);
/* The file came (fd is taken over), with what main says of it, or did not (-1). */
void modules_set_file(struct modules *modules, struct module *module, int fd,
		      const struct module_identity *identity);

/* The code that a process has made, or NULL. */
struct module *modules_of_code(struct modules *modules, const struct process *process);
/* The process has ended: its code is not sampled again. */
void modules_forget_code(struct modules *modules, int32_t pid);

#endif

/* SPDX-License-Identifier: MIT */
#include "modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/code/live_code.h>
#include <ctop/elf/object.h>
#include <ctop/cfi/cfi.h>
#include <ctop/unwind/unwind.h>

static struct module *add_made_up(struct modules *modules, enum module_kind kind, const char *path)
{
	struct module *module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->row.kind = kind;
	module->path = path;
	module->state = MODULE_READY;
	module->next = modules->first;
	modules->first = module;
	return module;
}

int modules_init(struct modules *modules)
{
	modules->kernel = add_made_up(modules, MODULE_KERNEL, "[kernel]");
	modules->switched = add_made_up(modules, MODULE_NONE, "[switched]");
	modules->go = add_made_up(modules, MODULE_NONE, "[go]");
	modules->run_queue = add_made_up(modules, MODULE_NONE, WAIT_FRAME_FOR_CPU);
	modules->unseen_stack = add_made_up(modules, MODULE_NONE, "[stack not seen]");
	modules->another_waker = add_made_up(modules, MODULE_NONE, "[woken by another]");
	bool are_there = modules->kernel && modules->switched && modules->go &&
			 modules->run_queue && modules->unseen_stack && modules->another_waker;
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++) {
		modules->waits[kind] =
			add_made_up(modules, MODULE_NONE, wait_kind_frame((enum wait_kind)kind));
		are_there = are_there && modules->waits[kind];
	}
	return are_there ? 0 : -ENOMEM;
}

struct module *modules_of_word(struct modules *modules, struct module_words *words,
			       const char *word, struct module *others)
{
	char name[sizeof(words->items->name)];
	snprintf(name, sizeof(name), "[%.32s]", word);
	for (size_t i = 0; i < words->nr; i++)
		if (!strcmp(words->items[i].name, name))
			return words->items[i].module;
	if (words->nr >= MODULES_WORDS_MOST)
		return others;
	/* The module borrows its name. */
	memcpy(words->items[words->nr].name, name, sizeof(name));
	struct module *module = add_made_up(modules, MODULE_NONE, words->items[words->nr].name);
	words->items[words->nr].module = module;
	words->nr += module != NULL;
	return module;
}

static void close_file(struct module *module)
{
	if (!module->lender) {
		cfi_free(module->cfi);
		object_free(module->object);
	}
	module->lender = NULL;
	module->cfi = NULL;
	module->object = NULL;
}

void modules_release(struct modules *modules)
{
	for (struct module *module = modules->first, *next; module; module = next) {
		next = module->next;
		close_file(module);
		live_code_free(module->live);
		free(module);
	}
	*modules = (struct modules){0};
}

void modules_forget_files(struct modules *modules)
{
	for (struct module *module = modules->first; module; module = module->next) {
		if (module->state != MODULE_READY || !module->object)
			continue;
		close_file(module);
		module->state = MODULE_UNASKED;
		module->epoch = 0; /* another row: of each main counts how often it is asked for */
	}
}

static bool has_prefix(const char *string, const char *prefix)
{
	return strncmp(string, prefix, strlen(prefix)) == 0;
}

/*
 * What a mapping's path says of it (proc_pid_maps(5)). Everything without a file
 * behind it is code that somebody generated: a JIT's. So is a memfd that is mapped for all: it is written through another
 * mapping (.NET's). Loaders map programs that lie in one for themselves alone.
 */
static enum module_kind kind_of_map(const struct mapping *map)
{
	const char *path = map->path;
	if (strcmp(path, "[vdso]") == 0)
		return MODULE_VDSO;
	if (path[0] != '/' || has_prefix(path, "//anon") || has_prefix(path, "/dev/zero") ||
	    has_prefix(path, "/SYSV") || has_prefix(path, "/anon_hugepage") ||
	    (map->shared && has_prefix(path, "/memfd:")))
		return MODULE_ANON;
	return MODULE_FILE;
}

/* Rewritten in place a file keeps its inode: what is mapped now is identified by what is in it now. */
static bool has_changed(const struct module *module)
{
	return module->row.kind == MODULE_FILE && module->object &&
	       (!object_is_as_opened(module->object, false) ||
		!object_is_unchanged(module->object));
}

static bool is_file_of(const struct module *module, const struct mapping *map)
{
	return !module->is_overwritten && strcmp(module->path, map->path) == 0 &&
	       module_identity_same(&module->mapped, &map->identity);
}

/* Of memory without a file, in the place of an inode: 1 is what was there before any exec was seen. */
static uint64_t image_of(const struct process *process)
{
	return 1 + (uint64_t)process_nr_execs(process);
}

/* Generated code is its process's own, and that of the program that made it: another exec, other names. */
static bool is_code_of(const struct module *module, const struct process *process)
{
	return module->row.pid == process_pid(process) &&
	       module->row.started_ns == process_start(process) &&
	       module->row.identity.inode == image_of(process);
}

/*
 * What could not be read when it was first asked for, as it was being rewritten or its process had gone, another process may have
 * mapped whole: it is asked for once more. (What a collector died of stays unread; main counts how often a file is asked for.)
 */
static void give_another_chance(struct module *module)
{
	if (module->row.kind == MODULE_FILE && module->state == MODULE_FAILED &&
	    module->unreadable == STACK_REASON_NO_TABLE)
		module->state = MODULE_UNASKED;
}

static struct module *find(const struct modules *modules, enum module_kind kind,
			   const struct process *process, const struct mapping *map)
{
	for (struct module *module = modules->first; module; module = module->next) {
		if (module->row.kind != kind)
			continue;
		if (kind == MODULE_VDSO || (kind == MODULE_ANON && is_code_of(module, process)) ||
		    (kind == MODULE_FILE && is_file_of(module, map)))
			return module;
	}
	return NULL;
}

struct module *modules_of_map(struct modules *modules, const struct process *process,
			      const struct mapping *map)
{
	enum module_kind kind = kind_of_map(map);
	struct module *module;
	while ((module = find(modules, kind, process, map)) && has_changed(module))
		module->is_overwritten = true;
	if (module) {
		give_another_chance(module);
		return module;
	}
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->path = kind == MODULE_ANON ? "[anon]" : map->path;
	module->row = (struct module_row){
		.kind = kind,
		.pid = process_pid(process),
		.started_ns = process_start(process),
		.start = map->start,
		.end = map->end,
		.file_offset = map->file_offset,
		.identity = map->identity,
	};
	if (kind == MODULE_ANON)
		module->row.identity = (struct module_identity){.inode = image_of(process)};
	module->mapped = map->identity;
	module->state = kind == MODULE_ANON ? MODULE_READY : MODULE_UNASKED;
	module->next = modules->first;
	modules->first = module;
	return module;
}

struct module *modules_of_code(struct modules *modules, const struct process *process)
{
	return find(modules, MODULE_ANON, process, NULL);
}

void modules_forget_code(struct modules *modules, int32_t pid)
{
	for (struct module *module = modules->first; module; module = module->next) {
		if (module->row.kind != MODULE_ANON || module->row.pid != pid)
			continue;
		live_code_free(module->live);
		module->live = NULL;
	}
}

struct module *modules_find_asked(const struct modules *modules, uint32_t epoch, uint32_t row)
{
	for (struct module *module = modules->first; module; module = module->next)
		if (module->state == MODULE_ASKED && module->asked_epoch == epoch &&
		    module->asked_id.index == row)
			return module;
	return NULL;
}

/* What is known now of the file. False: another build is there than was mapped. */
static bool learn(struct module *module, const struct module_identity *from_main)
{
	const struct object_identity *of_file = object_identity(module->object);
	struct module_identity known = {0};
	if (from_main->inode == module->mapped.inode)
		known = *from_main;
	module_identity_set_build_id(&known, of_file->build_id, of_file->build_id_size);
	if (module->mapped.build_id_size && known.build_id_size &&
	    !module_identity_same_build_id(&module->mapped, &known))
		return false;
	/* The kernel's word for the inode stays: main may see it through another file system (overlays). */
	if (module_identity_learn(&module->row.identity, &known))
		module->epoch = 0; /* the row that main was asked about did not say so yet */
	module_identity_learn(&module->mapped, &known);
	return true;
}

/*
 * A copy of a file that is known already: of root's by build-id and size (a stripped one has fewer names), else of the
 * same user's by the bytes. (What is equal now the owner may change later; then he fools himself.)
 */
static bool is_copy(const struct module *module, const struct module *of)
{
	const struct module_identity *a = &module->row.identity, *b = &of->row.identity;
	if (of == module || of->row.kind != MODULE_FILE || !of->object || of->lender ||
	    of->is_overwritten || a->inode == 0 || a->owner_plus_1 == 0 ||
	    a->owner_plus_1 != b->owner_plus_1 || !module_identity_same_build_id(a, b))
		return false;
	return a->owner_plus_1 == MODULE_OWNED_BY_ROOT
		       ? object_same_size(module->object, of->object)
		       : object_same_bytes(module->object, of->object);
}

/* Containers of one image have the same files at many inodes: they are read once. */
static bool borrow(const struct modules *modules, struct module *module)
{
	for (struct module *of = modules->first; of; of = of->next) {
		if (!is_copy(module, of))
			continue;
		close_file(module);
		module->object = of->object;
		module->cfi = of->cfi;
		module->lender = of;
		module->row.identity = of->row.identity;
		module->epoch = 0;
		return true;
	}
	return false;
}

void modules_set_file(struct modules *modules, struct module *module, int fd,
		      const struct module_identity *identity)
{
	struct error ignored;
	module->state = MODULE_FAILED;
	module->unreadable = STACK_REASON_NO_TABLE;
	if (fd < 0)
		return;
	module->object = object_open(fd, &ignored);
	if (!module->object)
		return;
	if (!learn(module, identity)) {
		close_file(module);
		return;
	}
	if (!borrow(modules, module)) {
		module->cfi = cfi_new(module->object);
		if (!module->cfi) {
			close_file(module);
			return;
		}
	}
	module->state = MODULE_READY;
	module->unreadable = STACK_REASON_NONE;
}

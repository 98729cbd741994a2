/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_TARGET_H
#define CTOP_TEST_TARGET_H

/*
 * A process seen as the unwinder wants it: its mappings from /proc/PID/maps, its
 * registers and stack bytes through ptrace. For tests only: nothing is safe against a hostile process.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <ctop/elf/object.h>
#include <ctop/cfi/cfi.h>
#include <ctop/unwind/unwind.h>

enum { TARGET_MAX_MODULES = 128, TARGET_MAX_MAPPINGS = 512, TARGET_STACK_BYTES = 65528 };

struct target_module {
	char path[256];
	struct object *object;
	struct cfi *cfi;
};

struct target {
	pid_t pid;
	struct target_module modules[TARGET_MAX_MODULES];
	size_t nr_modules;
	struct unwind_mapping mappings[TARGET_MAX_MAPPINGS]; /* executable ones */
	size_t nr_mappings;
	struct unwind_space space;
};

static inline bool target_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec here = {bytes, size}, there = {(void *)(uintptr_t)address, size};
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The vdso is in no file: a copy of it stands for one. */
static inline int target_vdso(pid_t pid, uint64_t start, uint64_t end)
{
	size_t size = end - start;
	char *bytes = malloc(size);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (!bytes || !target_read(pid, start, bytes, size) ||
	    write(fd, bytes, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	free(bytes);
	return fd;
}

static inline struct target_module *target_module(struct target *target, const char *path,
						  uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < target->nr_modules; i++)
		if (strcmp(target->modules[i].path, path) == 0)
			return &target->modules[i];
	if (target->nr_modules == TARGET_MAX_MODULES)
		return NULL;
	int fd = strcmp(path, "[vdso]") == 0 ? target_vdso(target->pid, start, end)
					     : open(path, O_RDONLY | O_CLOEXEC);
	struct error error;
	if (fd < 0)
		return NULL;
	struct object *object = object_open(fd, &error);
	if (!object)
		return NULL;
	struct target_module *module = &target->modules[target->nr_modules++];
	*module = (struct target_module){.object = object, .cfi = cfi_new(object)};
	snprintf(module->path, sizeof(module->path), "%s", path);
	return module;
}

static inline enum unwind_lookup target_find(void *context, uint64_t address,
					     struct unwind_mapping *mapping)
{
	const struct target *target = context;
	for (size_t i = 0; i < target->nr_mappings; i++) {
		if (address >= target->mappings[i].start && address < target->mappings[i].end) {
			*mapping = target->mappings[i];
			return UNWIND_FOUND;
		}
	}
	return UNWIND_NOT_EXECUTABLE;
}

/* Reads the mappings (again). Each call is a new generation. */
static inline bool target_map(struct target *target, pid_t pid)
{
	char path[64], line[1024];
	target->pid = pid;
	target->nr_mappings = 0;
	target->space = (struct unwind_space){
		.find = target_find, .context = target, .generation = target->space.generation + 1};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return false;
	while (fgets(line, sizeof(line), maps) && target->nr_mappings < TARGET_MAX_MAPPINGS) {
		uint64_t start, end, offset, elf_address;
		char flags[8], name[256] = "";
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &start,
			   &end, flags, &offset, name) < 4 ||
		    flags[2] != 'x')
			continue;
		struct unwind_mapping mapping = {.start = start, .end = end};
		struct target_module *module =
			name[0] ? target_module(target, name, start, end) : NULL;
		if (module && object_elf_address(module->object, offset, &elf_address)) {
			mapping.bias = start - elf_address;
			mapping.object = module->object;
			mapping.cfi = module->cfi;
			mapping.module = module;
		}
		target->mappings[target->nr_mappings++] = mapping;
	}
	fclose(maps);
	return target->nr_mappings > 0;
}

static inline void target_release(struct target *target)
{
	for (size_t i = 0; i < target->nr_modules; i++) {
		cfi_free(target->modules[i].cfi);
		object_free(target->modules[i].object);
	}
	memset(target, 0, sizeof(*target));
}

static inline void target_registers(const struct user_regs_struct *from, struct unwind_input *input)
{
	const uint64_t regs[UNWIND_NR_REGS] = {
		from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->rip};
	memcpy(input->regs, regs, sizeof(regs));
	input->known = (UINT64_C(1) << UNWIND_NR_REGS) - 1;
}

/* Copies the stack from rsp on, up to max bytes or where it ends. */
static inline void target_stack(pid_t pid, struct unwind_input *input, uint8_t *bytes, size_t max)
{
	enum { PAGE = 4096, MAX_PAGES = TARGET_STACK_BYTES / PAGE + 2 };
	struct iovec here = {bytes, max}, there[MAX_PAGES];
	uint64_t sp = input->regs[UNWIND_SP];
	size_t nr = 0;
	/* One piece a page: what can be had of a piece is all or nothing. */
	for (size_t asked = 0; asked < max && nr < MAX_PAGES; nr++) {
		size_t part = PAGE - (sp + asked) % PAGE;
		if (part > max - asked)
			part = max - asked;
		there[nr] = (struct iovec){(void *)(uintptr_t)(sp + asked), part};
		asked += part;
	}
	ssize_t got = process_vm_readv(pid, &here, 1, there, nr, 0);
	input->stack = bytes;
	input->stack_bytes = got > 0 ? (size_t)got : 0;
}

#endif

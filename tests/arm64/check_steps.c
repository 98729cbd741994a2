/* SPDX-License-Identifier: MIT */
/*
 * Reads from stdin what was recorded of a program that was single-stepped (record_steps.py), and unwinds the
 * stack at every instruction: it must be the one that calls, returns and signals have made.
 */
#include <ctop/cfi/cfi.h>
#include <ctop/unwind/unwind.h>

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include <ctop/elf/object.h>

#include "test.h"

#define CODE_SVC 0xd4000001U

enum { MAX_MAPPINGS = 64, MAX_STACK_BYTES = 1 << 20, MAX_PRINTED = 3 };

struct step_header {
	uint64_t regs[UNWIND_NR_REGS];
	uint32_t instruction; /* at pc */
	uint32_t signal;      /* that has just been delivered, or 0 */
	uint64_t interrupted; /* pc, by that signal */
	uint64_t stack_bytes; /* that follow */
};

struct call {
	uint64_t address; /* look-up address */
	uint64_t sp;	  /* before the call: what the return has to bring back; 0: not known */
	bool exact;	  /* nothing called from there */
};

static struct {
	struct unwind_mapping mappings[MAX_MAPPINGS];
	struct object *objects[MAX_MAPPINGS];
	struct cfi *cfis[MAX_MAPPINGS];
	size_t nr_mappings;
	struct unwinder *unwinder;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct call calls[UNWIND_MAX_FRAMES]; /* outermost first */
	size_t nr_calls;
	size_t nr_steps, nr_wrong, nr_signals, nr_signed, nr_in_front_of_cfi,
		by_method[NR_FRAME_METHODS];
	bool is_bare;
	uint8_t stack[MAX_STACK_BYTES];
} t;

static enum unwind_lookup find(void *context, uint64_t address, struct unwind_mapping *mapping)
{
	(void)context;
	for (size_t i = 0; i < t.nr_mappings; i++)
		if (address >= t.mappings[i].start && address < t.mappings[i].end) {
			*mapping = t.mappings[i];
			return UNWIND_FOUND;
		}
	return UNWIND_NOT_EXECUTABLE;
}

static void take_mapping(const char *line)
{
	uint64_t start, end, offset, elf_address;
	char flags[8], name[512] = "";
	struct error error;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511s", &start, &end,
		   flags, &offset, name) < 4 ||
	    flags[2] != 'x' || t.nr_mappings == MAX_MAPPINGS)
		return;
	size_t nr = t.nr_mappings++;
	struct unwind_mapping *mapping = &t.mappings[nr];
	*mapping = (struct unwind_mapping){.start = start, .end = end};
	int fd = name[0] == '/' ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	t.objects[nr] = object_open(fd, &error);
	CHECK(t.objects[nr] && object_elf_address(t.objects[nr], offset, &elf_address));
	t.cfis[nr] = cfi_new(t.objects[nr]);
	mapping->bias = start - elf_address;
	mapping->object = t.objects[nr];
	mapping->cfi = t.cfis[nr];
}

static void read_maps(void)
{
	char line[1024];
	CHECK(fgets(line, sizeof(line), stdin) && strcmp(line, "maps\n") == 0);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n") != 0)
		take_mapping(line);
	CHECK(t.nr_mappings > 0);
}

static bool read_step(struct step_header *step)
{
	size_t got = fread(step, 1, sizeof(*step), stdin);
	if (got == 0)
		return false;
	CHECK_EQ(got, sizeof(*step));
	CHECK(step->stack_bytes <= sizeof(t.stack));
	CHECK_EQ(fread(t.stack, 1, step->stack_bytes, stdin), step->stack_bytes);
	return true;
}

static void unwind(const struct step_header *step, struct unwind_result *result)
{
	const struct unwind_space space = {.find = find, .generation = 1};
	struct unwind_input input = {
		.known = (UINT64_C(1) << UNWIND_NR_REGS) - 1,
		.stack = t.stack,
		.stack_bytes = step->stack_bytes,
	};
	memcpy(input.regs, step->regs, sizeof(input.regs));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &input, t.frames, result, NULL), 0);
}

static void push(uint64_t address, uint64_t sp, bool exact)
{
	CHECK(t.nr_calls < UNWIND_MAX_FRAMES - 1);
	t.calls[t.nr_calls++] = (struct call){address, sp, exact};
}

static void pop(const struct step_header *after)
{
	CHECK(t.nr_calls > 0);
	struct call call = t.calls[--t.nr_calls];
	uint64_t pc = after->regs[UNWIND_PC];
	CHECK_EQ(pc, call.address + !call.exact);
	CHECK(call.sp == 0 || call.sp == after->regs[UNWIND_SP]);
}

static uint32_t code_at(uint64_t pc)
{
	struct unwind_mapping mapping;
	uint32_t code;
	CHECK_EQ(find(NULL, pc, &mapping), UNWIND_FOUND);
	CHECK(object_read(mapping.object, pc - mapping.bias, &code, sizeof(code)));
	return code;
}

/* Keeps the shadow of the stack as the instruction before has changed it. */
static void follow(const struct step_header *before, const struct step_header *now)
{
	enum { SIGRETURN = 139 };
	const uint64_t sp = before->regs[UNWIND_SP];
	uint32_t code = before->instruction;
	uint64_t pc = before->regs[UNWIND_PC];
	if (now->signal) { /* now behind the handler's first instruction, which signs x30 */
		push(now->interrupted, 0, true);
		push(now->regs[UNWIND_LR] & ((UINT64_C(1) << 48) - 1), now->regs[UNWIND_SP], true);
		t.nr_signals++;
		return;
	}
	if (code == CODE_SVC && before->regs[8] == SIGRETURN) {
		CHECK(t.nr_calls > 0); /* where to is the handler's to say */
		t.nr_calls--;
		return;
	}
	/* The emulator goes on after a system call, and stops behind the next instruction. */
	if (code == CODE_SVC && now->regs[UNWIND_PC] != pc + sizeof(code)) {
		pc += sizeof(code);
		code = code_at(pc);
	}
	if ((code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000)
		push(pc + 3, sp, false);
	else if (code == 0xd65f03c0 || code == 0xd65f0bff)
		pop(now);
	if (now->regs[UNWIND_LR] >> 48)
		t.nr_signed++;
}

static void print_difference(const struct step_header *step, const struct unwind_result *result)
{
	printf("# step %zu: %zu frames, %s, %s; expected %zu\n", t.nr_steps, result->nr_frames,
	       stack_end_name(result->end), stack_reason_name(result->reason), t.nr_calls + 1);
	for (size_t i = 0; i < result->nr_frames || i <= t.nr_calls; i++) {
		bool ours = i < result->nr_frames;
		uint64_t wanted = i == 0	    ? step->regs[UNWIND_PC]
				  : i <= t.nr_calls ? t.calls[t.nr_calls - i].address
						    : 0;
		printf("# %2zu %-10s %16" PRIx64 " %16" PRIx64 "\n", i,
		       ours ? frame_method_name(t.frames[i].method) : "-",
		       ours ? t.frames[i].process_address : 0, wanted);
	}
}

static void check(const struct step_header *step)
{
	struct unwind_result result;
	unwind(step, &result);
	bool right = result.nr_frames == t.nr_calls + 1 && result.end == STACK_COMPLETE &&
		     t.frames[0].process_address == step->regs[UNWIND_PC];
	for (size_t i = 1; right && i <= t.nr_calls; i++)
		right = t.frames[i].process_address == t.calls[t.nr_calls - i].address;
	if (!right && t.nr_wrong++ < MAX_PRINTED)
		print_difference(step, &result);
	for (size_t i = 0; i < result.nr_frames; i++)
		t.by_method[t.frames[i].method]++;
}

/*
 * glibc 2.36's resolver for the PLT begins with a landing pad (a nop), in front of the row of its CFI which says what the
 * PLT has pushed: there its own CFI is wrong, and the caller's stack pointer with it.
 */
static bool is_in_front_of_cfi(const struct step_header *before, const struct step_header *now)
{
	const uint32_t br_x17 = 0xd61f0220, nop = 0xd503201f;
	return before->instruction == br_x17 && now->instruction == nop;
}

static void every_instruction(void)
{
	struct step_header before, now;
	struct unwind_result result;
	read_maps();
	t.unwinder = unwinder_new();
	CHECK(t.unwinder);
	/* Where it starts was not watched: taken from the first unwinding, and checked by every return. */
	CHECK(read_step(&before));
	unwind(&before, &result);
	CHECK_EQ(result.end, STACK_COMPLETE);
	for (size_t i = result.nr_frames; i-- > 1;)
		push(t.frames[i].process_address, 0, false);
	for (t.nr_steps = 1; read_step(&now); t.nr_steps++, before = now) {
		follow(&before, &now);
		if (is_in_front_of_cfi(&before, &now))
			t.nr_in_front_of_cfi++;
		else
			check(&now);
	}
	printf("# %zu steps, %zu signals, %zu with a signed x30; frames:", t.nr_steps, t.nr_signals,
	       t.nr_signed);
	for (uint32_t i = 0; i < NR_FRAME_METHODS; i++)
		if (t.by_method[i])
			printf(" %zu %s", t.by_method[i], frame_method_name(i));
	printf("; %zu stacks wrong\n", t.nr_wrong);
	printf("# %zu not checked, in front of the resolver's CFI\n", t.nr_in_front_of_cfi);
	CHECK_EQ(t.nr_wrong, 0);
	CHECK(t.nr_in_front_of_cfi < 100);
	CHECK(t.nr_steps > 2000);
	CHECK_EQ(t.nr_signals, 4);
	CHECK(t.nr_signed > 0);
	CHECK(t.by_method[FRAME_SIGNAL] > 0);
	if (t.is_bare) {
		CHECK(t.by_method[FRAME_CODE] > 0 && t.by_method[FRAME_LIKELY] > 0);
		CHECK(t.by_method[FRAME_CFI] == 0);
		return;
	}
	CHECK(t.by_method[FRAME_CFI] > 0 && t.by_method[FRAME_RETURN] > 0);
	CHECK(t.by_method[FRAME_FP] + t.by_method[FRAME_CODE] > 0);
}

int main(int argc, char **argv)
{
	/* The name of the program that is stepped, and whether its unwind table was taken away. */
	t.is_bare = argc > 2;
	test_run(argc > 1 ? argv[1] : "every_instruction", every_instruction);
	unwinder_free(t.unwinder);
	for (size_t i = 0; i < t.nr_mappings; i++) {
		cfi_free(t.cfis[i]);
		object_free(t.objects[i]);
	}
	return test_done();
}

/* SPDX-License-Identifier: MIT */
/*
 * Programs are single-stepped from their first instruction to their last. After every instruction the unwound
 * stack must be the one that calls, returns and signals have made (shadow.h): all frames, and how it ends.
 *
 *     steps [PROGRAM [ARGUMENT...]]      all cases, or one program of whomever's
 */
#include "stepper.h"

/* ---- cases ---- */

enum { MAX_WORDS = 16 };
static const struct how plain = {0};

/* Half a minute for all; `make check` takes those that show most, `make check-all` the others. */
static void need_all(void)
{
	if (!getenv("STACKS"))
		SKIP("make check-all runs it");
}

/* Steps build/stacks/NAME with the arguments, words between blanks. Every stack must be right. */
static void check_program(const char *name, const char *arguments, const struct how *how)
{
	char path[512], words[256], *argv[MAX_WORDS + 2] = {path}, *rest = words;
	const char *build = getenv("BUILD");
	size_t nr = 1;
	snprintf(path, sizeof(path), "%s/stacks/%s", build ? build : "build", name);
	snprintf(words, sizeof(words), "%s", arguments);
	for (char *word; nr <= MAX_WORDS && (word = strsep(&rest, " "));)
		argv[nr++] = word;
	if (!run_program(argv, how))
		SKIP("this program could not be built here");
	CHECK_EQ(r.nr_wrong, 0);
}

#define EVERYTHING                                                                                 \
	"shapes noreturn libraries dlopen signals altstack faults threads vfork fork spawn "       \
	"coroutines generated"

/* Also: stubs bound lazily, the resolver, the loader, the vdso. */
static void every_instruction_of_a_program(void)
{
	check_program("ladder", EVERYTHING, &plain);
	CHECK(r.nr_by_method[FRAME_EXPRESSION] > 0);
	CHECK(r.nr_by_method[FRAME_RETURN] > 0);
	CHECK(r.nr_by_method[FRAME_FP] > 0);
	CHECK(r.nr_by_method[FRAME_PLT] > 0);
	CHECK(r.nr_by_method[FRAME_SIGNAL] > 0);
	CHECK(r.nr_by_end[STACK_SWITCHED] > 0);
	CHECK(r.nr_tasks_seen == 6);
}

static void the_vsyscall_page(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[256];
	bool there = false;
	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		there |= strstr(line, "[vsyscall]") != NULL;
	fclose(maps);
	if (!there)
		SKIP("this kernel has no vsyscall page");
	check_program("ladder_static", "vsyscall", &plain);
}

/* Not position independent, with .plt.sec. */
static void every_instruction_with_branch_protection(void)
{
	need_all();
	check_program("ladder_cet", EVERYTHING, &plain);
}

static void every_instruction_of_a_static_program(void)
{
	check_program("ladder_static",
		      "shapes noreturn libraries signals altstack faults threads "
		      "vfork fork spawn coroutines generated",
		      &plain);
}

/* Bound at the start, by clang. */
static void every_instruction_by_another_compiler(void)
{
	need_all();
	check_program("ladder_clang", EVERYTHING, &plain);
}

/* Its C library has no tables: the program's own stacks are whole all the same, signals and threads included. */
static void every_instruction_with_musl(void)
{
	char path[PATH_MAX];
	if (!realpath("/lib/ld-musl-x86_64.so.1", path))
		SKIP("no musl here");
	check_program("ladder_musl", "shapes noreturn libraries signals altstack faults threads",
		      &(struct how){.library_without_tables = path});
}

/* A signal in the middle of everything. */
static void interrupted_at_each_instruction(void)
{
	check_program("ladder_static", "shapes libraries signals altstack generated vfork",
		      &(struct how){.interruptions_most = 3});
	CHECK(r.nr_signals > 1000);
}

static void exceptions_of_cxx(void)
{
	need_all();
	check_program("exceptions", "", &(struct how){.throws = true});
	CHECK(r.nr_jumps > 0);
}

static void every_instruction_of_code_that_is_far_apart(void)
{
	check_program("far", "", &plain);
}

/* Functions with their CFA in odd registers and in memory. */
static void assembly_of_libcrypto(void)
{
	need_all();
	check_program("crypto", "", &plain);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		if (setjmp(test_leave) == 0 && run_program(argv + 1, &plain))
			return r.nr_wrong ? 1 : 0;
		return 1;
	}
	RUN(every_instruction_of_a_program);
	RUN(the_vsyscall_page);
	RUN(every_instruction_with_branch_protection);
	RUN(every_instruction_of_a_static_program);
	RUN(every_instruction_by_another_compiler);
	RUN(every_instruction_with_musl);
	RUN(interrupted_at_each_instruction);
	RUN(exceptions_of_cxx);
	RUN(every_instruction_of_code_that_is_far_apart);
	RUN(assembly_of_libcrypto);
	return test_done();
}

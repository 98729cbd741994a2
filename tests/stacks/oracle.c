/* SPDX-License-Identifier: MIT */
/*
 * Programs of every day are stopped at a thousand moments each. From the same registers and stack bytes libdwfl must
 * find the same addresses, or there is a reason why it cannot: the classes below, counted and shown.
 */
#include <ctop/unwind/unwind.h>

#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "test.h"
#include "unwind/dwfl.h"
#include "unwind/target.h"

enum { WANTED_STACKS = 1000, MAX_RUNS = 20, MAX_THREADS = 64, MAX_WORDS = 16, SHOWN = 3 };
enum { PAUSE_NS = 400000, MAPS_MAX_BYTES = 1 << 20 };

enum verdict {
	SAME,
	BEYOND_ROOT,   /* theirs goes on behind what CFI or symbols call outermost */
	WITHOUT_CFI,   /* ours went on by code, frame pointer or top of the stack */
	BELOW_STACK,   /* theirs wants to read below the stack pointer, which no dump holds */
	OUTSIDE_DUMP,  /* theirs ended there, ours says so, too, or found another way */
	KEPT_REGISTER, /* theirs does not know a register that the callee left alone */
	UNEXPLAINED,
	NR_VERDICTS
};

static const char *const verdict_names[NR_VERDICTS] = {
	"the same",
	"libdwfl knows no roots but by CFI: it goes on behind one",
	"libdwfl knows no code without CFI: it stops or errs there",
	"libdwfl wants registers from below the stack pointer",
	"libdwfl ends with the dump",
	"libdwfl forgets registers that a callee left alone",
	"unexplained",
};

static struct {
	pid_t pid;
	struct target target;
	struct oracle oracle;
	struct unwinder *unwinder;
	char maps[MAPS_MAX_BYTES];
	size_t maps_bytes;
	uint8_t stack[TARGET_STACK_BYTES];
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	size_t nr, nr_complete, nr_by_verdict[NR_VERDICTS], nr_shown;
} t;

/* ---- the target ---- */

/* Looks at the mappings again when they have changed. */
static bool follow_mappings(void)
{
	static char text[MAPS_MAX_BYTES];
	char path[64];
	size_t bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t.pid);
	FILE *maps = fopen(path, "re");
	char line[1024];
	if (!maps)
		return false;
	while (fgets(line, sizeof(line), maps)) {
		size_t size = strlen(line);
		if (strstr(line, "x") && strstr(line, " r-x") && bytes + size < sizeof(text)) {
			memcpy(text + bytes, line, size);
			bytes += size;
		}
	}
	fclose(maps);
	if (bytes == 0)
		return false;
	if (t.oracle.dwfl && bytes == t.maps_bytes && memcmp(text, t.maps, bytes) == 0)
		return true;
	memcpy(t.maps, text, bytes);
	t.maps_bytes = bytes;
	return oracle_open(&t.oracle, t.pid) && target_map(&t.target, t.pid);
}

static bool by_cfi(const struct unwind_frame *frame)
{
	return frame->method == FRAME_CFI || frame->method == FRAME_EXPRESSION ||
	       frame->method == FRAME_PLT || frame->method == FRAME_SIGNAL;
}

static enum verdict compare(const struct unwind_result *result)
{
	const struct oracle *oracle = &t.oracle;
	size_t same = 0;
	while (same < result->nr_frames && same < oracle->nr &&
	       t.frames[same].process_address == oracle->addresses[same])
		same++;
	if (same == result->nr_frames && same == oracle->nr)
		return SAME;
	if (same == result->nr_frames)
		return result->end == STACK_COMPLETE || result->end == STACK_SWITCHED ? BEYOND_ROOT
										      : UNEXPLAINED;
	/* A register that was found without CFI may matter later only. */
	for (size_t i = 1; i <= same; i++)
		if (!by_cfi(&t.frames[i]))
			return WITHOUT_CFI;
	if (same < oracle->nr)
		return UNEXPLAINED;
	if (oracle->read_below)
		return BELOW_STACK;
	if (oracle->read_outside)
		return OUTSIDE_DUMP;
	return result->end == STACK_COMPLETE ? KEPT_REGISTER : UNEXPLAINED;
}

static void print_difference(const struct unwind_result *result, enum verdict verdict)
{
	printf("# %s; ours: %zu frames, %s, %s; theirs: %zu\n", verdict_names[verdict],
	       result->nr_frames, stack_end_name(result->end), stack_reason_name(result->reason),
	       t.oracle.nr);
	for (size_t i = 0; i < result->nr_frames || i < t.oracle.nr; i++) {
		uint64_t ours = i < result->nr_frames ? t.frames[i].process_address : 0;
		uint64_t theirs = i < t.oracle.nr ? t.oracle.addresses[i] : 0;
		const struct target_module *module =
			i < result->nr_frames ? t.frames[i].module : NULL;
		if (ours != theirs || i < 2)
			printf("# %2zu %-10s %16" PRIx64 " %16" PRIx64 " %s+%" PRIx64 "\n", i,
			       i < result->nr_frames ? frame_method_name(t.frames[i].method) : "-",
			       ours, theirs, module ? module->path : "?",
			       i < result->nr_frames ? ours - t.frames[i].bias : 0);
	}
}

static void compare_thread(pid_t tid)
{
	struct user_regs_struct regs;
	struct unwind_input input = {0};
	struct unwind_result result;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0 || !follow_mappings())
		return;
	target_registers(&regs, &input);
	target_stack(tid, &input, t.stack, sizeof(t.stack));
	unwind_stack(t.unwinder, &t.target.space, &input, t.frames, &result, NULL);
	oracle_unwind(&t.oracle, &input, t.pid);
	enum verdict verdict = compare(&result);
	t.nr++;
	t.nr_complete += result.end == STACK_COMPLETE;
	t.nr_by_verdict[verdict]++;
	if (verdict == UNEXPLAINED && t.nr_shown++ < SHOWN)
		print_difference(&result, verdict);
}

/* Stops one thread, looks, lets it go. False when it has gone. */
static bool look_at(pid_t tid)
{
	int status;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		return false;
	for (;;) {
		pid_t stopped = waitpid(-1, &status, __WALL);
		if (stopped < 0 || (stopped == tid && !WIFSTOPPED(status)))
			return false;
		if (stopped == tid && status >> 16 == PTRACE_EVENT_STOP)
			break;
		/* A signal of its own is on its way. */
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, stopped, NULL, (void *)(intptr_t)WSTOPSIG(status));
	}
	compare_thread(tid);
	return ptrace(PTRACE_CONT, tid, NULL, NULL) == 0;
}

static size_t list_threads(pid_t *tids)
{
	char path[64];
	size_t nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)t.pid);
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && nr < MAX_THREADS && (entry = readdir(directory));)
		if (entry->d_name[0] != '.')
			tids[nr++] = atoi(entry->d_name);
	if (directory)
		closedir(directory);
	return nr;
}

/* Looks at every thread again and again, until there is enough or the program ends. */
static void watch(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	pid_t tids[MAX_THREADS];
	bool alive = true;
	while (alive && t.nr < WANTED_STACKS) {
		size_t nr = list_threads(tids);
		for (size_t i = 0; alive && i < nr && t.nr < WANTED_STACKS; i++) {
			ptrace(PTRACE_SEIZE, tids[i], NULL, NULL); /* once; then it fails */
			nanosleep(&pause, NULL);
			alive = look_at(tids[i]) || tids[i] != t.pid;
		}
		alive = alive && nr > 0;
	}
}

static void run_once(char *const argv[])
{
	int ready[2], status;
	char byte;
	CHECK(pipe2(ready, O_CLOEXEC) == 0);
	fflush(stdout);
	t.pid = fork();
	if (t.pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	CHECK(t.pid > 0);
	close(ready[1]);
	/* The end of the pipe is closed by its exec. */
	CHECK(read(ready[0], &byte, 1) == 0);
	close(ready[0]);
	watch();
	kill(t.pid, SIGKILL);
	/* Its threads are our children, too, as long as we trace them. */
	while (waitpid(-1, &status, __WALL) > 0)
		;
	oracle_close(&t.oracle);
	t.maps_bytes = 0;
}

static void compare_program(char *const argv[])
{
	memset(&t, 0, sizeof(t));
	t.unwinder = unwinder_new();
	CHECK(t.unwinder);
	size_t before = 1;
	for (int i = 0; i < MAX_RUNS && t.nr < WANTED_STACKS && t.nr != before; i++) {
		before = t.nr;
		run_once(argv);
	}
	printf("# %zu stacks, %zu complete\n", t.nr, t.nr_complete);
	for (size_t i = 0; i < NR_VERDICTS; i++)
		if (t.nr_by_verdict[i])
			printf("#   %5zu %s\n", t.nr_by_verdict[i], verdict_names[i]);
	unwinder_free(t.unwinder);
	target_release(&t.target);
	if (t.nr == 0)
		SKIP("this program is not here");
	CHECK(t.nr >= WANTED_STACKS);
	CHECK(t.nr_by_verdict[UNEXPLAINED] * 1000 <= t.nr);
}

/* ---- cases ---- */

static void compare_words(const char *text)
{
	char words[512], *argv[MAX_WORDS + 1] = {NULL}, *rest = words;
	size_t nr = 0;
	snprintf(words, sizeof(words), "%s", text);
	for (char *word; nr < MAX_WORDS && (word = strsep(&rest, " "));)
		argv[nr++] = word;
	compare_program(argv);
}

static void compare_workload(const char *name)
{
	char words[512];
	const char *build = getenv("BUILD");
	snprintf(words, sizeof(words), "%s/workloads/%s", build ? build : "build", name);
	compare_words(words);
}

static void an_interpreter(void)
{
	static char program[] =
		"import json, re, hashlib\n"
		"def f(n): return 1 if n < 2 else f(n - 1) + f(n - 2)\n"
		"while True:\n"
		"    f(12); json.loads(json.dumps({str(i): [i] * 3 for i in range(50)}))\n"
		"    re.sub('a+', lambda m: m.group(0) * 2, 'baaab' * 20)\n"
		"    sorted(range(100), key=lambda x: -x); hashlib.sha512(b'x' * 10000)\n";
	static char name[] = "python3", option[] = "-c";
	char *const argv[] = {name, option, program, NULL};
	compare_program(argv);
}

static void a_compiler_gcc(void)
{
	char path[256] = "", words[512];
	FILE *pipe = popen("g++ -print-prog-name=cc1plus", "r");
	if (!pipe || !fgets(path, sizeof(path), pipe))
		path[0] = '\0';
	if (pipe)
		pclose(pipe);
	path[strcspn(path, "\n")] = '\0';
	if (path[0] != '/')
		SKIP("no g++ here");
	snprintf(words, sizeof(words),
		 "%s -quiet -imultiarch x86_64-linux-gnu -O2 -std=c++17 -D_GNU_SOURCE "
		 "tests/workloads/templates.cpp -o /dev/null",
		 path);
	compare_words(words);
}

static void a_compiler_clang(void)
{
	compare_words("clang++ -O2 -std=c++17 -c tests/workloads/templates.cpp -o /dev/null");
}

static void assembly_of_libcrypto(void)
{
	compare_words("openssl speed -seconds 1 -evp aes-128-gcm");
}

static void hashes_of_libcrypto(void)
{
	compare_words("openssl speed -seconds 1 sha512 sha256 rsa2048");
}

static void templates_of_cxx(void)
{
	compare_workload("templates");
}

static void several_threads(void)
{
	compare_workload("threads");
}

static void deep_recursion(void)
{
	compare_workload("recursion");
}

static void libraries_that_come_and_go(void)
{
	compare_workload("dlopen");
}

static void signals_on_another_stack(void)
{
	compare_workload("sigalt");
}

int main(void)
{
	if (!getenv("STACKS")) {
		printf("ok - libdwfl # SKIP make check-stacks does\n");
		return 0;
	}
	RUN(an_interpreter);
	RUN(a_compiler_gcc);
	RUN(a_compiler_clang);
	RUN(assembly_of_libcrypto);
	RUN(hashes_of_libcrypto);
	RUN(templates_of_cxx);
	RUN(several_threads);
	RUN(deep_recursion);
	RUN(libraries_that_come_and_go);
	RUN(signals_on_another_stack);
	return test_done();
}
